"""A run: all observations of one invocation on one machine at one commit; its facts."""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.vocabulary import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """Where in the history the code under test stands; every field empty outside a git repository."""

    commit: str = ""
    """Full hash."""

    ancestors: tuple[str, ...] = ()
    """Up to 50 first-parent ancestors, nearest first."""

    base_commit: str = ""
    """Merge base with the target branch, on a pull request."""

    branch: str = ""
    """Branch name."""

    dirty: bool = False
    """The work tree differs from the commit."""

    tree: str = ""
    """Hash of the commit's tree: equal for commits with the same files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CiContext:
    """Which CI job this is; every field empty outside CI."""

    key: str = ""
    """repository / CI run / job / stage with shard."""

    attempt: int = 0
    """Attempt of that job, from 1; 0 outside CI."""

    event: str = ""
    """Triggering event."""

    pull_request: int | None = None
    """Number, when the event names one."""

    recording: bool | None = None
    """The run may become a baseline: it is of the default branch, by an event that makes baselines. None: outside CI,
    or recorded by an older program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """Facts of one invocation."""

    id: str
    """Time-ordered unique id."""

    commit: str
    """Full hash of the commit under test, or "" outside a git repository."""

    stage: Stage
    """Which stage, or `run`."""

    started_at: str
    """ISO 8601, UTC."""

    duration_ns: int
    """Wall time."""

    machine: Machine
    """Where it ran."""

    revision: Revision
    """Its place in the history."""

    ci: CiContext
    """In which CI job."""

    tool_version: str
    """Version of opsdebug-ci."""

    config_hash: str
    """sha256 of the effective configuration."""
