"""What triggered this job, from the variables and the event file that GitHub gives it.

Decides which facts are believed and in what form. The event file is untrusted (a pull request's author chooses
branch names and titles), so it is capped in size, read strictly, and hashes that are not hashes are dropped.
Deliberately reads no environment itself: the caller passes a mapping. Outside CI every field is empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opsdebug_ci.github.payload import read_payload
from opsdebug_ci.model import CiContext, Stage
from opsdebug_ci.model.baseline import RECORDING_EVENTS

_HASH = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_LEG = re.compile(r"[A-Za-z0-9._-]{1,100}")
_NUMBER = re.compile(r"[0-9]{1,19}")
_BRANCHES = "refs/heads/"
_LOGIN = re.compile(r"[A-Za-z0-9_-]{1,100}(\[bot\])?")


FINISHED_EVENT = "workflow_run"
"""The event that tells of the end of another workflow's run."""

LEG_VARIABLE = "OPSDEBUG_LEG"
"""Tells legs of a matrix apart that nothing else does, e.g. by a variable that their operators read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The triggering event."""

    name: str = ""
    """Event name, e.g. `pull_request`; empty outside CI."""

    repository: str = ""
    """`owner/name` of the repository the job runs in."""

    pull_request: int | None = None
    """Number, when the event carries one; a merge group carries none."""

    head_commit: str = ""
    """Newest commit of the pull request or merge group; the pushed commit otherwise."""

    base_commit: str = ""
    """Commit to compare with. For a pull request only a hint: it is the base branch's tip when the event was made,
    and the merge commit under test may already contain newer commits of the base branch. A comparison with it can
    therefore see more changes than the pull request made, never fewer."""

    base_branch: str = ""
    """Branch the change wants to go to; untrusted text, may hold any character a branch name may."""

    default_branch: str = ""
    """Branch that baselines are made of; untrusted text."""

    recording: bool = True
    """The run may become a baseline: no CI at all, or a push, schedule or dispatch of the default branch."""

    from_fork: bool = False
    """The code under test comes from another repository, or from one that is gone."""

    finished_run: int | None = None
    """Id of the workflow run whose end this event tells of."""

    finished_attempt: int = 0
    """Attempt of that run that ended, while a newer one may be under way; 0: not known."""

    finished_event: str = ""
    """What had triggered that run; empty: there is none."""

    finished_conclusion: str = ""
    """How that attempt ended: `success`, `failure`, ...; empty: not known."""


def read_event(environ: Mapping[str, str]) -> Event:
    """Read the event of this job.

    Raises:
        EnvironmentLimitError: the event file is missing, too large or not what GitHub writes.
    """
    name = environ.get("GITHUB_EVENT_NAME", "")
    if not name:
        return Event()
    payload = read_payload(environ.get("GITHUB_EVENT_PATH", ""), _Payload)
    home = _Home(
        repository=_matching(_REPOSITORY, environ.get("GITHUB_REPOSITORY", "")),
        default_branch=_default_branch(name, payload, environ.get("GITHUB_REF", "")),
    )
    if payload.pull_request is not None:
        return _of_pull_request(name, payload.pull_request, home)
    if payload.merge_group is not None:
        return _of_merge_group(name, payload.merge_group, home)
    if name == FINISHED_EVENT and payload.workflow_run is not None:
        return _of_finished_run(name, payload.workflow_run, home)
    default = home.default_branch
    on_default = bool(default) and environ.get("GITHUB_REF") == f"{_BRANCHES}{default}"
    return Event(
        name=name,
        repository=home.repository,
        head_commit=_matching(_HASH, environ.get("GITHUB_SHA", "")),
        default_branch=default,
        recording=name in RECORDING_EVENTS and on_default,
    )


def ci_context(
    environ: Mapping[str, str], *, stage: Stage, shard: str = "", operators: Sequence[str] = ()
) -> CiContext:
    """Which CI job this is; empty outside CI.

    Args:
        environ: the environment of the job.
        stage: stage that runs.
        shard: `2/8`, or "" when the run is not divided.
        operators: names or globs the run is confined to; empty: it is not.

    Raises:
        EnvironmentLimitError: the event file cannot be read.
    """
    run = _matching(_NUMBER, environ.get("GITHUB_RUN_ID", ""))
    if not run:
        return CiContext()
    event = read_event(environ)
    # NOTE: GITHUB_JOB is the same for every leg of a matrix; legs are told apart by their shard and machine.
    part = f"{stage}@{shard.replace('/', 'of')}" if shard else str(stage)
    part += f"[{','.join(operators)}]" if operators else ""
    leg = _matching(_LEG, environ.get(LEG_VARIABLE, ""))
    part += f"#{leg}" if leg else ""
    attempt = _matching(_NUMBER, environ.get("GITHUB_RUN_ATTEMPT", ""))
    return CiContext(
        key="/".join((event.repository, run, environ.get("GITHUB_JOB", ""), part)),
        attempt=int(attempt or "1"),
        event=event.name,
        pull_request=event.pull_request,
        recording=event.recording,
    )


def actor(environ: Mapping[str, str]) -> str:
    """Login of whoever started this job; empty outside CI, and where it is no login."""
    return _matching(_LOGIN, environ.get("GITHUB_ACTOR", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repository:
    """A repository, as the event names it."""

    full_name: str = ""
    """`owner/name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One end of a pull request."""

    sha: str = ""
    """Commit."""

    ref: str = ""
    """Branch; untrusted text."""

    repo: _Repository | None = None
    """None once it was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PullRequest:
    """What we read of a pull request."""

    number: int = 0
    """Above 0 when the event has one."""

    head: _Side = field(default_factory=_Side)
    """What is to be merged."""

    base: _Side = field(default_factory=_Side)
    """What it is to be merged into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _MergeGroup:
    """What we read of a merge queue's group."""

    head_sha: str = ""
    """Commit of the whole group."""

    base_sha: str = ""
    """Commit it is to be merged onto."""

    base_ref: str = ""
    """Branch it is to be merged into, `refs/heads/` included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _FinishedRun:
    """What we read of a workflow run that ended; the rest is asked of the server."""

    id: int = 0
    """Above 0 when the event has one."""

    run_attempt: int = 0
    """From 1."""

    event: str = ""
    """What triggered it."""

    conclusion: str | None = None
    """How it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _HomeRepository:
    """The repository the job runs in."""

    default_branch: str = ""
    """Branch whose runs are baselines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Home:
    """The repository of the job, checked."""

    repository: str
    """`owner/name`; empty: not known."""

    default_branch: str
    """Untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Payload:
    """What we read of an event; everything else in it is ignored."""

    pull_request: _PullRequest | None = None
    """Present for events about a pull request."""

    merge_group: _MergeGroup | None = None
    """Present for events of a merge queue."""

    workflow_run: _FinishedRun | None = None
    """Present where the end of another workflow's run triggered this one."""

    repository: _HomeRepository | None = None
    """Present for every event of a repository."""


def _default_branch(name: str, payload: _Payload, ref: str) -> str:
    """As the event names it. A schedule's may name no repository, and is run for nothing but this branch."""
    if payload.repository is not None:
        return payload.repository.default_branch
    return ref.removeprefix(_BRANCHES) if name == "schedule" and ref.startswith(_BRANCHES) else ""


def _of_pull_request(name: str, pull: _PullRequest, home: _Home) -> Event:
    head = pull.head.repo
    return Event(
        name=name,
        repository=home.repository,
        pull_request=pull.number if pull.number > 0 else None,
        head_commit=_matching(_HASH, pull.head.sha),
        base_commit=_matching(_HASH, pull.base.sha),
        base_branch=pull.base.ref,
        default_branch=home.default_branch,
        recording=False,
        from_fork=head is None or head.full_name.lower() != home.repository.lower(),
    )


def _of_merge_group(name: str, group: _MergeGroup, home: _Home) -> Event:
    return Event(
        name=name,
        repository=home.repository,
        head_commit=_matching(_HASH, group.head_sha),
        base_commit=_matching(_HASH, group.base_sha),
        base_branch=group.base_ref.removeprefix(_BRANCHES),
        default_branch=home.default_branch,
        recording=False,
    )


def _of_finished_run(name: str, finished: _FinishedRun, home: _Home) -> Event:
    """Of whose code this job knows nothing: GITHUB_SHA is the default branch's."""
    return Event(
        name=name,
        repository=home.repository,
        default_branch=home.default_branch,
        recording=False,
        finished_run=finished.id if finished.id > 0 else None,
        finished_attempt=max(0, finished.run_attempt),
        finished_event=finished.event,
        finished_conclusion=finished.conclusion or "",
    )


def _matching(pattern: re.Pattern[str], text: str) -> str:
    return text if pattern.fullmatch(text) else ""
