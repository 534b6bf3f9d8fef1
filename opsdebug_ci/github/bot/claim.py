"""Whether a comment can remember what it says it does: newer data than ours is of a run that the server knows.

Decides only about what would keep the newest data from being told, and so asks the server only then: whoever may write
under our name, or have another job repeat a text of theirs under it, could silence us for good by claiming a run that
is never reached. What is older than ours is replaced, whoever wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import PullRequest, WorkflowRun
from opsdebug_ci.model.publication import CommentState

_NOT_THERE = (404, 410)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Judges memories on one pull request, for one who has data of a run of his own."""

    api: Api
    """Asked as itself."""

    repository: str
    """`owner/name`, ours."""

    pull: PullRequest
    """Where the comment is."""

    ci_run: int
    """Id of the run of one's own."""

    run_number: int
    """Its number within its workflow."""

    attempt: int
    """Its attempt."""

    _known: dict[tuple[int, int, int, str, str], bool] = field(default_factory=dict)
    """What the server said, by what was claimed."""

    def is_sound(self, state: CommentState) -> bool:
        """It is no newer than ours, or of a run of this pull request that there is.

        Raises:
            GithubError: the server does not tell.
        """
        by_id = (state.ci_run, state.attempt) > (self.ci_run, self.attempt)
        by_number = (state.run_number, state.attempt) > (self.run_number, self.attempt)
        if not by_id and not by_number:
            return True
        claim = (state.ci_run, state.run_number, state.attempt, state.workflow, state.head.commit)
        if claim not in self._known:
            self._known[claim] = self._is_known(state)
        return self._known[claim]

    def _is_known(self, state: CommentState) -> bool:
        try:
            run = self.api.get(f"/repos/{self.repository}/actions/runs/{state.ci_run}", WorkflowRun)
        except GithubRefusedError as refusal:
            if refusal.status not in _NOT_THERE:
                raise
            return False
        head, source = self.pull.head, run.head_repository
        return (
            head.repo is not None
            and source is not None
            and (source.id, run.head_branch) == (head.repo.id, head.ref)
            and (run.run_number, run.head_sha) == (state.run_number, state.head.commit)
            and run.path.partition("@")[0] == state.workflow
            and state.attempt <= run.run_attempt
        )
