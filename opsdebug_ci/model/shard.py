"""What one job of a stage leaves for the job that tells the pull request: its run, and which part of a whole it is.

Schema `opsdebug.shard/1`. Decides what such a file claims. Whoever wrote the code under test may have written it, so
nothing in it is believed that the reader can ask of somebody better; who reads it says what that is.

History:
    1  first version
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.document import RunDocument

SHARD_SCHEMA = "opsdebug.shard/1"
"""Name and version of the document."""

SHARD_FILE = "opsdebug-shard.json"
"""Its name in the artifact."""

DEFAULT_SUITE = "default"
"""Which of several comments of one pull request, where there is only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardDocument:
    """One shard of a stage."""

    schema: str
    """SHARD_SCHEMA."""

    suite: str
    """Which of several comments and checks of a commit it belongs to: letters, digits, `.`, `_`, `-`."""

    stage: str
    """`smoke`, `full` or `replay`."""

    shard: int
    """Which part, from 1."""

    shards: int
    """How many parts there are; 1: the run is not divided."""

    attempt: int
    """Attempt of the CI run, from 1."""

    repository: str
    """`owner/name` of the repository the job ran in."""

    ci_run: int
    """Number of the CI run; 0 outside CI."""

    head_commit: str
    """Newest commit of the change under test; full hash. A pull request's job tests its merge with the base branch, so
    `run.commit` is another."""

    exit_code: int
    """Exit code of the stage."""

    run: RunDocument | None
    """The run; its `sources` are POSIX paths relative to the repository. None: there is none."""

    error: str = ""
    """Why there is no run, in one line; empty: there is one."""
