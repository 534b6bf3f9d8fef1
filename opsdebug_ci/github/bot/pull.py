"""Which pull request a run of a workflow belongs to.

Decides from GitHub's own answers alone: commit and repository of the code must be those of the run. What a run uploaded
is not asked, since whoever opened the pull request may have written it; nor is a branch enough, which can have several
pull requests. Where it is not certain, it is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import PullRequest, WorkflowRun

_NAMED = 10
"""Pull requests named by a run that are looked at: more cannot make it more certain."""

_NOTHING_THERE = (404, 422)
"""How GitHub answers for a number or commit that it does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPull:
    """Answer to which pull request it is."""

    pull: PullRequest | None
    """It; None: there is none, or it is not certain which."""

    reason: str
    """How it was found, or why it was not; a sentence without its end, no untrusted text."""


def find_pull(api: Api, run: WorkflowRun, repository: str) -> FoundPull:
    """The open pull request of `repository` whose newest commit `run` was about.

    Args:
        api: asked as itself.
        run: as GitHub describes it.
        repository: `owner/name`, ours.
    """
    if run.head_repository is None:
        return FoundPull(pull=None, reason="the repository the code came from is gone")
    named = [pull for number in _numbers(run) if (pull := _by_number(api, repository, number)) is not None]
    if fitting := _fitting(named, run, repository):
        return _only(fitting)
    found = [*named, *_of_commit(api, repository, run.head_sha), *_of_branch(api, repository, run)]
    if fitting := _fitting(found, run, repository):
        return _only(fitting)
    return FoundPull(pull=None, reason=_why_none(found, run, repository))


def _only(fitting: list[PullRequest]) -> FoundPull:
    if len(fitting) == 1:
        return FoundPull(pull=fitting[0], reason="commit and repository are those of the run")
    numbers = " and ".join(f"#{pull.number}" for pull in fitting)
    return FoundPull(pull=None, reason=f"the commit is the newest of several pull requests, {numbers}")


def _fitting(pulls: list[PullRequest], run: WorkflowRun, repository: str) -> list[PullRequest]:
    fitting = {pull.number: pull for pull in pulls if _is_of(pull, run, repository) and _is_current(pull, run)}
    return [fitting[number] for number in sorted(fitting)]


def _is_of(pull: PullRequest, run: WorkflowRun, repository: str) -> bool:
    """It wants to be merged into our repository, from the one the run's code came from."""
    base, head = pull.base.repo, pull.head.repo
    if base is None or head is None or run.head_repository is None:
        return False
    return base.full_name.casefold() == repository.casefold() and head.id == run.head_repository.id


def _is_current(pull: PullRequest, run: WorkflowRun) -> bool:
    return pull.state == "open" and pull.head.sha == run.head_sha


def _why_none(found: list[PullRequest], run: WorkflowRun, repository: str) -> str:
    ours = [pull for pull in found if _is_of(pull, run, repository)]
    if any(pull.state != "open" and pull.head.sha == run.head_sha for pull in ours):
        return "its pull request is closed"
    if any(pull.state == "open" for pull in ours):
        return "its pull request has newer commits"
    if any(pull.head.repo is None and pull.head.sha == run.head_sha for pull in found):
        return "the repository the code came from is gone"
    return "no open pull request has this commit as its newest"


def _numbers(run: WorkflowRun) -> tuple[int, ...]:
    return tuple(dict.fromkeys(reference.number for reference in run.pull_requests or ()))[:_NAMED]


def _by_number(api: Api, repository: str, number: int) -> PullRequest | None:
    """It, or None where our repository has no such number: a run may name pull requests of other repositories."""
    try:
        return api.get(f"/repos/{repository}/pulls/{number}", PullRequest)
    except GithubRefusedError as refusal:
        if refusal.status not in _NOTHING_THERE:
            raise
        return None


def _of_commit(api: Api, repository: str, commit: str) -> tuple[PullRequest, ...]:
    try:
        return api.pages(f"/repos/{repository}/commits/{commit}/pulls", PullRequest)
    except GithubRefusedError as refusal:
        if refusal.status not in _NOTHING_THERE:
            raise
        return ()


def _of_branch(api: Api, repository: str, run: WorkflowRun) -> tuple[PullRequest, ...]:
    if run.head_repository is None or not run.head_branch:
        return ()
    owner = run.head_repository.full_name.split("/", 1)[0]
    return api.pages(f"/repos/{repository}/pulls", PullRequest, {"head": f"{owner}:{run.head_branch}", "state": "open"})
