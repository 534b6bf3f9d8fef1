"""What a publication is about: a run of a workflow, the commit it tested, the pull request that waits for it.

Decides where each fact comes from: the server's own answers where there is a server, what the shards themselves say
only where somebody looks at files on disk and nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from opsdebug_ci.errors import GithubError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import PullRequest, WorkflowRun
from opsdebug_ci.github.bot.pull import FoundPull, find_pull
from opsdebug_ci.model.baseline import PULL_REQUEST_EVENTS
from opsdebug_ci.model.publication import RunLinks
from opsdebug_ci.model.shard import ShardDocument
from opsdebug_ci.pipeline.fetched_bundles import fetching
from opsdebug_ci.pipeline.publication.trusted_run import CANCELLED, NOT_TOLD

USUAL_HOST = "github.com"
"""Of the server that `gh` asks where it is told of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Facts of the run that is told of."""

    repository: str
    """`owner/name`."""

    ci_run: int
    """Its id; 0: not of a CI."""

    run_number: int
    """Its number within its workflow."""

    attempt: int
    """Its attempt, from 1."""

    workflow: str
    """File of its workflow; empty: not known."""

    head_commit: str
    """Newest commit of the change; full hash."""

    pull: PullRequest | None
    """The pull request that waits for it; None: there is none, or it is not certain which."""

    links: RunLinks
    """Where to find more."""

    notes: tuple[str, ...] = ()
    """What a person may want to know, in sentences: why there is no comment."""

    event: str = ""
    """What triggered it."""

    source: int = 0
    """Number of the repository the code came from; 0: not known, or gone."""

    cancelled: bool = False
    """Somebody, or a newer run, stopped it."""

    under_way: bool = False
    """It has not ended, as where its own report tells of it."""

    doubtful: bool = False
    """A job of it failed or was stopped, of ours or another, or nobody says that none was."""


def subject_of_run(api: Api, run: WorkflowRun, repository: str, server: str) -> Subject:
    """The subject of a run of our own.

    Args:
        api: asked which pull request it is.
        run: as the server describes it.
        repository: `owner/name`, ours.
        server: address of the server's pages, without a slash at its end.
    """
    pull: PullRequest | None = None
    notes: tuple[str, ...] = ()
    if run.event in PULL_REQUEST_EVENTS:
        found = _found_pull(api, run, repository)
        pull = found.pull
        notes = () if pull is not None else (f"no pull request is told: {found.reason}",)
    return Subject(
        repository=repository,
        ci_run=run.id,
        run_number=run.run_number,
        attempt=run.run_attempt,
        workflow=run.path.partition("@")[0],
        head_commit=run.head_sha,
        pull=pull,
        links=links(server, repository, run.id, run.run_attempt),
        notes=notes,
        event=run.event,
        source=0 if run.head_repository is None else run.head_repository.id,
        cancelled=run.conclusion == CANCELLED,
        under_way=run.conclusion is None,
        doubtful=run.conclusion in ("failure", "timed_out", CANCELLED, NOT_TOLD),
    )


def _found_pull(api: Api, run: WorkflowRun, repository: str) -> FoundPull:
    """It, or why the server does not tell: the check and the job's summary need no pull request."""
    try:
        return find_pull(api, run, repository)
    except GithubError as error:
        return FoundPull(pull=None, reason=error.one_line)


def subject_on_disk(shards: Sequence[ShardDocument]) -> Subject:
    """The subject of shards that were found on disk, as they say themselves; nothing is written anywhere about it."""
    first = shards[0] if shards else None
    return Subject(
        repository="" if first is None else first.repository,
        ci_run=0 if first is None else first.ci_run,
        run_number=0,
        attempt=max((shard.attempt for shard in shards), default=1),
        workflow="",
        head_commit="" if first is None else first.head_commit,
        pull=None,
        links=RunLinks(attempt=0 if first is None else first.attempt),
    )


def links(server: str, repository: str, run: int, attempt: int) -> RunLinks:
    """Pages of a run and of the commits of its repository."""
    home = f"{server}/{repository}"
    return RunLinks(
        run_url=f"{home}/actions/runs/{run}/attempts/{attempt}", commit_url=f"{home}/commit/", attempt=attempt
    )


def with_bundles(subject: Subject, artifacts: Sequence[str]) -> Subject:
    """`subject` with the way to its failure bundles, where artifacts are named like some. Their names stay out of it:
    the code under test can choose them."""
    if not artifacts:
        return subject
    host = urlsplit(subject.links.run_url).netloc
    command = fetching(subject.repository, subject.ci_run, "" if host == USUAL_HOST else host)
    return replace(subject, links=replace(subject.links, bundles=f"`{command}`, beside the configuration"))
