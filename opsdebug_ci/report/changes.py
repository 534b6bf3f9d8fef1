"""What changed between two pushes of a pull request, and since its baseline, by cause.

Decides when a failure that is gone may be called fixed: its operator was judged again, or the change no longer touches
it, and every shard was taken; one of the baseline, only where each case that failed there passes now. Where that cannot
be told, a failure of the last push is said to be unjudged, and nothing is said of the baseline's. Deliberately not
which push the last one was, whether it was reported whole, and how much of it finds room in a comment.
"""

from __future__ import annotations

from dataclasses import replace

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.model.observation import NOT_RUN
from opsdebug_ci.model.publication import Changes, FailureKey, ReportedHead, failure_digest
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Verdict
from opsdebug_ci.report.escape import plain

NAME_KEPT = 80
"""Characters of an operator's name that are remembered."""

MOST_KNOWN = 300
"""Known failures that are remembered, by digest: 40 bits each of two commits take 4,000 characters at most, half of the
comment's memory."""

_JUDGED = (Verdict.PASS, *FAILING_VERDICTS)
_OPEN = (Verdict.INCONCLUSIVE, Verdict.ERROR)


def reported_head(commit: str, document: RunDocument | None) -> ReportedHead:
    """What is remembered of a push: failures not known at the baseline, and operators that became slower; of the known
    ones, that they were there, since the baseline may not be readable at the next push.

    What was merged into a failure is remembered too: where it shows by itself in the next push, it is not new.

    Args:
        commit: newest commit of the change; full hash.
        document: all taken shards as one run; None: none was taken.
    """
    if document is None:
        return ReportedHead(commit=commit, failures=(), regressed=())
    new = tuple(group for group in document.summary.groups if not group.known)
    merged = {member for group in new for member in group.members if member != group.fingerprint}
    return ReportedHead(
        commit=commit,
        failures=tuple(_key(group) for group in new),
        regressed=tuple(_name(operator) for operator in document.regressions),
        unlisted=tuple(sorted(map(failure_digest, merged))),
        known=_known(document),
    )


def _known(document: RunDocument) -> tuple[str, ...] | None:
    groups = (group for group in document.summary.groups if group.known)
    digests = {failure_digest(name) for group in groups for name in (group.fingerprint, *group.members)}
    return tuple(sorted(digests)) if len(digests) <= MOST_KNOWN else None


def changes_since(before: ReportedHead | None, document: RunDocument, *, complete: bool) -> Changes | None:
    """What changed since `before`.

    Args:
        before: the last push that was reported whole; None: there is none.
        document: all taken shards of this push as one run.
        complete: every planned shard was taken. Otherwise nothing is fixed: the missing one may have had it.

    Returns:
        None where nothing can be said: there was no such push, or too much failed there to remember all of it.
    """
    if before is None or not before.whole:
        return None
    groups = document.summary.groups
    there = {fingerprint for group in groups for fingerprint in (group.fingerprint, *group.members)}
    gone = [key for key in before.failures if key.fingerprint not in there]
    told = _told(document) if complete and _judged_whole(document) else frozenset()
    new = tuple(_key(group) for group in groups if not group.known and not _was_there(group, before))
    sure = before.known is not None or not document.baseline_doubt
    known_then = tuple(_key(group) for group in groups if not group.known and _was_known(group, before))
    return Changes(
        since=before.commit,
        new=new if sure else (),
        doubtful=() if sure else new,
        fixed=tuple(key for key in gone if key.operator in told),
        still=(*(key for key in before.failures if key.fingerprint in there), *known_then),
        unjudged=tuple(key for key in gone if key.operator not in told),
    )


def fixed_since_baseline(document: RunDocument, *, complete: bool) -> tuple[FailureKey, ...]:
    """Failures recorded at the baseline that are gone: every case that failed so there was judged, and passes, and no
    other of the operator is left open or fails of that cause.

    Args:
        document: all taken shards as one run. What it says is recorded, its jobs have read in the store.
        complete: every planned shard was taken.
    """
    if not complete or document.baseline_doubt or not _judged_whole(document):
        return ()
    passed = {each.case.id: each.case.operator for each in document.observations if each.verdict is Verdict.PASS}
    doubtful = {each.case.operator for each in document.observations if each.verdict in _OPEN}
    groups = document.summary.groups
    there = {fingerprint for group in groups for fingerprint in (group.fingerprint, *group.members)}
    alike = {(group.operator, str(group.cause)) for group in groups}
    gone = (
        each
        for each in document.recorded
        if each.cases
        and all(passed.get(case) == each.operator for case in each.cases)
        and each.operator not in doubtful
        and each.fingerprint not in there
        and (each.operator, each.cause) not in alike
    )
    return tuple(
        FailureKey(fingerprint=each.fingerprint, operator=_name(each.operator), cause=each.cause) for each in gone
    )


def _was_there(group: Group, before: ReportedHead) -> bool:
    """A merged group is new only if none of what was merged into it was there by itself."""
    return any(before.had(fingerprint) for fingerprint in (group.fingerprint, *group.members))


def _was_known(group: Group, before: ReportedHead) -> bool:
    """It was there and known, and neither it nor a part of it was there as a new one."""
    names = (group.fingerprint, *group.members)
    others = replace(before, known=None)
    digests = frozenset(before.known or ())
    return any(failure_digest(name) in digests for name in names) and not any(map(others.had, names))


def _judged_whole(document: RunDocument) -> bool:
    """Every planned case was judged: one that the budget left out may be the one that failed."""
    return document.plan is None or len(document.observations) >= document.plan.mine


def _told(document: RunDocument) -> frozenset[str]:
    """Operators of which this run says something: it judged a case of theirs and left none open, or they are as in the
    base. One that is left open, or was not run, may be the one that failed."""
    names = {each.case.operator: _name(each.case.operator) for each in document.observations}
    judged = {names[each.case.operator] for each in document.observations if each.verdict in _JUDGED}
    left_open = {
        names[each.case.operator]
        for each in document.observations
        if each.verdict in _OPEN or (each.reason or "").startswith(NOT_RUN)
    }
    return frozenset((*(judged - left_open), *map(_name, document.unchanged)))


def _key(group: Group) -> FailureKey:
    return FailureKey(fingerprint=group.fingerprint, operator=_name(group.operator), cause=str(group.cause))


def _name(operator: str) -> str:
    return plain(operator, NAME_KEPT)
