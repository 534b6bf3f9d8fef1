"""The check of a commit: open while something is being said, closed whatever happens.

Decides which check of a commit is ours, when one that is there is taken again, and in how many requests it is told. A
merge may wait for it, so it is closed on every way out. Deliberately decides nothing about what a run comes to.

One that is there is taken again as long as nothing wrong would stay in it: GitHub adds annotations and removes none,
and whoever opened it may still be at work. Otherwise a new one of the same name takes its place, on the page and before
the rules of a branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType

from opsdebug_ci.errors import GithubAmbiguousError, GithubError, GithubRefusedError, InternalError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import CheckRun
from opsdebug_ci.github.bot.check_output import BATCH, Annotations, CheckAnnotation, Output, output_of
from opsdebug_ci.github.bot.commit_checks import CheckIdentity, CommitChecks, read_identity, same_app, told
from opsdebug_ci.model.publication import Conclusion
from opsdebug_ci.model.shard import DEFAULT_SUITE
from opsdebug_ci.model.vocabulary import Stage

CONCLUSIONS: Mapping[Conclusion, str] = {
    Conclusion.PASS: "success",
    Conclusion.FAIL: "failure",
    Conclusion.ERROR: "failure",
    Conclusion.INCOMPLETE: "failure",
    Conclusion.REGRESSED: "action_required",
    Conclusion.ACCEPTED: "neutral",
    Conclusion.INCONCLUSIVE: "neutral",
}
"""What GitHub shows for what a run comes to. The rules of a branch take `success` and `neutral` for a pass, so nothing
that is wrong, slower, missing or broken becomes one of them; what is inconclusive accuses nobody."""

NIGHTLY_INCOMPLETE = "neutral"
"""For an incomplete run of stage `full`, which no merge waits for, and which may go on the next night."""

OPENED = ("opsdebug", "The results are being put together.")
"""Title and summary until there are others."""

_UNPROCESSABLE = 422


def check_name(stage: str, suite: str = DEFAULT_SUITE) -> str:
    """Name of the check; it never changes, for branch protection knows a check by it."""
    return f"opsdebug {stage}" if suite == DEFAULT_SUITE else f"opsdebug {stage} ({suite})"


def github_conclusion(conclusion: Conclusion, stage: str) -> str:
    """What GitHub shows for it."""
    if conclusion is Conclusion.INCOMPLETE and stage == Stage.FULL:
        return NIGHTLY_INCOMPLETE
    return CONCLUSIONS[conclusion]


def open_check(api: Api, repository: str, head_commit: str, name: str, *, external_id: str, details_url: str) -> Check:
    """The check of that name on a commit, in progress.

    Args:
        api: acts as the app whose checks are ours.
        repository: `owner/name`.
        head_commit: full hash.
        name: as `check_name` gives it.
        external_id: as `CheckIdentity` gives it.
        details_url: where a reader finds more; empty: nowhere.

    Returns:
        The check; `superseded` where a later run or attempt already speaks for the commit, and then it says nothing.

    Raises:
        GithubRefusedError: it may not be opened; the caller says it elsewhere.
        GithubUnreachableError: nobody knows whether it was.
    """
    identity = read_identity(external_id)
    if identity is None:
        raise InternalError(f"`external_id` is {external_id!r}; wanted `opsdebug/SUITE/STAGE/RUN/ATTEMPT`")
    commit = CommitChecks(api=api, repository=repository, commit=head_commit, name=name)
    opening: dict[str, object] = {
        "status": "in_progress",
        "external_id": external_id,
        "output": {"title": OPENED[0], "summary": OPENED[1]},
        **({"details_url": details_url} if details_url else {}),
    }
    ours = commit.without_others(commit.ours(identity), identity)
    if ours and max(known.order for known, _ in ours) > identity.order:
        return Check(commit, ours[-1][1], identity, superseded=True)
    taken = commit.take(ours[-1][1], opening) if ours and _may_be_taken(*ours[-1], identity) else None
    run = taken or commit.open(opening, identity)
    before = next((check.output for _, check in reversed(ours) if same_app(check, run)), None)
    title = "" if before is None else before.title or ""
    return Check(commit, run, identity, before=title)


def _may_be_taken(known: CheckIdentity, check: CheckRun, identity: CheckIdentity) -> bool:
    return known == identity or (check.status == "completed" and told(check) == 0)


class Check:
    """A check that is open until it is completed; leaving its `with` block completes it in any case."""

    def __init__(
        self,
        commit: CommitChecks,
        run: CheckRun,
        identity: CheckIdentity,
        *,
        superseded: bool = False,
        before: str = "",
    ) -> None:
        self.before = before
        """Title of the one that stood there, as the server says; empty: there was none."""
        self.superseded = superseded
        """A later run or attempt speaks for the commit; nothing is sent."""
        self._commit, self._run, self._identity = commit, run, identity
        self._closed = superseded

    @property
    def url(self) -> str:
        """Its page; empty: it has none."""
        return self._run.html_url or ""

    @property
    def app(self) -> str:
        """Short name of the app that we act as, as the server said when it obeyed; empty: it did not."""
        return "" if self.superseded or self._run.app is None else self._run.app.slug

    def complete(
        self, conclusion: Conclusion, title: str, summary: str, annotations: Sequence[CheckAnnotation]
    ) -> tuple[str, ...]:
        """Say what the run came to, and close. One request for up to `BATCH` annotations.

        Args:
            conclusion: what it came to.
            title: one line; untrusted text in it is cut, and means nothing to GitHub.
            summary: markdown, inert already.
            annotations: in the same order whenever the same run is told again.

        Returns:
            What a person may want to know, in sentences.

        Raises:
            GithubRefusedError, GithubUnreachableError: it could not be closed.
        """
        if self._closed:
            return ()
        output = output_of(title, summary, annotations)
        shown = github_conclusion(conclusion, self._identity.stage)
        left = output.annotations[told(self._run) :]  # told before by the same run, in the same order
        try:
            self._send(output, shown, left)
        except (GithubRefusedError, GithubAmbiguousError) as error:
            if not left or (isinstance(error, GithubRefusedError) and error.status != _UNPROCESSABLE):
                raise
            self._send(output, shown, ())
            return (f"annotations were not taken, so the check has none or not all: {error.message}",)
        return ()

    def _send(self, output: Output, conclusion: str, annotations: Annotations) -> None:
        batches = [annotations[start : start + BATCH] for start in range(0, len(annotations), BATCH)] or [()]
        for batch in batches[:-1]:
            self._run = self._commit.add(self._run, {}, output, batch)
        closing = {"status": "completed", "conclusion": conclusion}
        self._run = self._commit.add(self._run, closing, output, batches[-1])
        self._closed = True

    def __enter__(self) -> Check:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it where that was not done, and say why. What is under way stays what the caller hears of."""
        del error, trace
        if self._closed:
            return
        cancelled = kind is not None and not issubclass(kind, Exception)  # a signal
        why = "It was cancelled" if cancelled else "It ended"
        output = output_of("no result", f"{why} before its results were put together; see the job's log.", ())
        with suppress(*((GithubError,) if kind is not None else ())):
            self._send(output, "cancelled" if cancelled else "failure", ())
