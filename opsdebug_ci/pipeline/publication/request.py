"""What is asked of a publication, by a workflow of the default branch or by a person."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.model.publication import CommentPolicy
from opsdebug_ci.model.shard import DEFAULT_SUITE
from opsdebug_ci.model.vocabulary import Gate, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest:
    """Trusted: nothing of the code under test decides any of it."""

    stage: Stage = Stage.SMOKE
    """Whose shards are taken; those of another stage are not."""

    suite: str = DEFAULT_SUITE
    """Which of several comments and checks."""

    policy: CommentPolicy = CommentPolicy.AUTO
    """When a comment is created."""

    gate: Gate = Gate.NEW
    """`never`: whatever is found, telling it is a success."""

    run_id: int | None = None
    """CI run whose artifacts are read; None: the one whose end triggered this job, else this job's own."""

    attempt: int | None = None
    """Attempt of it that is told of, while a newer one may be under way; None: the one whose end triggered this job,
    else the newest."""

    expected: int | None = None
    """Planned shards; None: as the artifacts say."""

    workflow: str = ""
    """File of the workflow that the run must be of, e.g. `.github/workflows/opsdebug.yml`; empty: any."""

    author: str = ""
    """Login the comment is written under; empty: whose token it is."""

    source: Path | None = None
    """Directory with the artifacts, each in one of its name; None: they are fetched."""

    dry_run: bool = False
    """Nothing is written."""

    whole_or_nothing: bool = False
    """Where a shard is not there any more, what was said stays."""

    store: str | None = None
    """Where acceptances are recorded; None: as the configuration says."""

    config: Path | None = None
    """The configuration; None: the nearest one."""
