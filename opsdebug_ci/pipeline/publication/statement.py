"""From gathered shards to what is said of a commit, and what the comment will remember of it.

Decides against which push the news is told, and which acceptances count. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from opsdebug_ci.github.bot.body import STATE_VERSION
from opsdebug_ci.judge.merging import merge
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.publication import (
    AcceptedRegression,
    Changes,
    CommentState,
    Conclusion,
    Publication,
    ReportedHead,
    ShardOutcome,
    ShardState,
)
from opsdebug_ci.model.speed import SpeedVerdict
from opsdebug_ci.pipeline.publication.gathering import Gathered
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.publication.subject import Subject
from opsdebug_ci.report.changes import changes_since, fixed_since_baseline, reported_head


def statement(
    gathered: Gathered,
    subject: Subject,
    request: PublishRequest,
    *,
    before: CommentState | None,
    accepted: Sequence[AcceptedRegression] = (),
    now: datetime,
) -> Publication:
    """What is said.

    Args:
        gathered: the shards, taken and not.
        subject: what they are of.
        request: what was asked.
        before: what the comment remembers; None: there is none.
        accepted: what a person has just accepted at this commit.
        now: lapsed acceptances do not count.
    """
    outcomes = _with_reason(gathered, subject)
    merged = merge(gathered.shards, outcomes)
    counting = _in_force(_here((*_remembered(before), *accepted), subject), now)
    doubts = (*gathered.reasons, *_not_run_again(gathered, subject))
    found = _lacking(merged.conclusion, doubts)
    whole = found not in (Conclusion.INCOMPLETE, Conclusion.ERROR)
    publication = Publication(
        suite=request.suite,
        stage=str(request.stage),
        head_commit=subject.head_commit,
        conclusion=_concluded(found, merged.document, counting),
        reasons=(*_stopped(subject, outcomes, whole=whole), *doubts, *merged.reasons),
        shards=outcomes,
        document=merged.document,
        accepted=_of_slower(counting, merged.document),
        links=subject.links,
    )
    return _with_changes(publication, _last_push(before, subject), complete=publication.complete and whole)


def _with_changes(publication: Publication, since: ReportedHead | None, *, complete: bool) -> Publication:
    document = publication.document
    if document is None:
        return replace(publication, changes=None if since is None else _unjudged(since))
    return replace(
        publication,
        changes=changes_since(since, document, complete=complete),
        fixed=fixed_since_baseline(document, complete=complete),
    )


def _unjudged(since: ReportedHead) -> Changes | None:
    """That nothing is known of what failed at the last push; None: nothing did, or not all of it is remembered."""
    return Changes(since=since.commit, unjudged=since.failures) if since.whole and since.failures else None


_CANCELLED = "the CI run was cancelled"


def _with_reason(gathered: Gathered, subject: Subject) -> tuple[ShardOutcome, ...]:
    """Every planned shard; of those that left nothing, why, where that is known."""
    return tuple(
        replace(one, reason=_CANCELLED) if subject.cancelled and one.state is ShardState.MISSING else one
        for one in gathered.outcomes
    )


def _stopped(subject: Subject, outcomes: Sequence[ShardOutcome], *, whole: bool) -> tuple[str, ...]:
    """That the run was cancelled, where something is amiss and no shard tells it."""
    told = any(one.reason == _CANCELLED for one in outcomes)
    return (_CANCELLED,) if subject.cancelled and not whole and not told else ()


def _not_run_again(gathered: Gathered, subject: Subject) -> tuple[str, ...]:
    """Why shards of earlier attempts are no answer: their jobs may have failed this time before they had one."""
    earlier = [one.shard for one in gathered.outcomes if 0 < one.attempt < subject.attempt]
    if not earlier or not subject.doubtful:
        return ()
    return (
        f"attempt {subject.attempt} of the CI run is not known to have succeeded, and shard {earlier[0]} is of an "
        "earlier one: whether its job was run again cannot be told",
    )


def _lacking(conclusion: Conclusion, doubts: Sequence[str]) -> Conclusion:
    """`incomplete` in place of anything better, where it cannot be told which shards there are, or of which attempt."""
    worse = (Conclusion.ERROR, Conclusion.FAIL, Conclusion.INCOMPLETE)
    return Conclusion.INCOMPLETE if doubts and conclusion not in worse else conclusion


def remembered(
    publication: Publication, subject: Subject, before: CommentState | None, written_at: str
) -> CommentState:
    """What the comment remembers of `publication`; its text's hash is filled in where it is written.

    Args:
        publication: what is said.
        subject: what it is of.
        before: what the comment remembers until now; None: there is none.
        written_at: when the comment was last changed, by the server's clock; empty: there is none.
    """
    state = CommentState(
        version=STATE_VERSION,
        workflow=subject.workflow,
        stage=publication.stage,
        ci_run=subject.ci_run,
        run_number=subject.run_number,
        attempt=subject.attempt,
        conclusion=str(publication.conclusion),
        body="",
        head=reported_head(subject.head_commit, publication.document),
        complete=publication.complete,
        previous=_last_push(before, subject),
        accepted=_newest(_here((*_remembered(before), *publication.accepted), subject)),
    )
    return replace(state, reported_at=_reported_at(state, before, written_at))


def _reported_at(state: CommentState, before: CommentState | None, written_at: str) -> str:
    """Since when a person could read what the run found: a change that only tells what was accepted is no news."""
    if before is None or (before.ci_run, before.attempt, before.head) != (state.ci_run, state.attempt, state.head):
        return ""
    return before.reported_at if before.accepted == state.accepted else before.reported_at or written_at


def _last_push(before: CommentState | None, subject: Subject) -> ReportedHead | None:
    """The newest other commit of the pull request of which the comment remembers a whole report."""
    if before is None:
        return None
    if before.head.commit != subject.head_commit and before.complete:
        return before.head
    return before.previous


def _remembered(before: CommentState | None) -> tuple[AcceptedRegression, ...]:
    return () if before is None else before.accepted


def _here(accepted: Sequence[AcceptedRegression], subject: Subject) -> tuple[AcceptedRegression, ...]:
    """Acceptances of this very commit; another one may be slower still."""
    return tuple(one for one in accepted if one.commit == subject.head_commit)


def _in_force(accepted: Sequence[AcceptedRegression], now: datetime) -> tuple[AcceptedRegression, ...]:
    """One for each operator, the newest, unless it has lapsed."""
    newest = _newest(accepted)
    return tuple(one for one in newest if one.until is None or datetime.fromisoformat(one.until) > now)


def _newest(accepted: Sequence[AcceptedRegression]) -> tuple[AcceptedRegression, ...]:
    return tuple({one.operator: one for one in sorted(accepted, key=lambda one: one.at)}.values())


def _of_slower(accepted: Sequence[AcceptedRegression], document: RunDocument | None) -> tuple[AcceptedRegression, ...]:
    """Those of operators that this run found slower: another run of the same commit may have found that."""
    if document is None:
        return ()
    run = None if document.performance is None else document.performance.comparison
    compared = () if run is None else run.comparisons
    found = (one.case.operator for one in compared if one.verdict is SpeedVerdict.REGRESSED)
    slower = {*document.regressions, *found}
    named = {*slower, *reported_head("", replace(document, regressions=tuple(slower))).regressed}
    return tuple(one for one in accepted if one.operator in named)


def _concluded(
    conclusion: Conclusion, document: RunDocument | None, accepted: Sequence[AcceptedRegression]
) -> Conclusion:
    """`accepted` in place of `regressed`, once every operator that became slower is."""
    if conclusion is not Conclusion.REGRESSED or document is None:
        return conclusion
    by_person = {one.operator for one in accepted}
    named = reported_head("", document)  # as the person who accepted them saw them
    everything = named.whole and by_person.issuperset(named.regressed)
    return Conclusion.ACCEPTED if everything else conclusion
