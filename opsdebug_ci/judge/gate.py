"""From judged cases to the run's exit code.

Decides what gates. An error, an inconclusive case or a run that judged nothing never passes for a success, except
that the person who sets `gate = "never"` has asked for exit code 0 whenever anything was judged.

What is known: a failure of a group whose fingerprint is recorded, or each of whose members' is. A group with a named
cause is told from others by it; `unknown` tells little more than the operator, so such a failure is known only case by
case. So is a failure recorded with an older version of fingerprints: its case failed there, of the same cause. A second
defect that fails on no other case than the first goes unseen. A group is known when all of its failures are, whatever
the gate makes of that.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from opsdebug_ci.model.gating import refused_throughout
from opsdebug_ci.model.judgement import Group, Judgement, KnownFailures, OlderFailure, Summary
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Cause, Gate, Verdict

_UNSETTLED = (Verdict.ERROR, Verdict.INCONCLUSIVE)

EXIT_PASS, EXIT_FAIL, EXIT_UNSETTLED = 0, 1, 4
"""Gate passes, gate fails, incomplete or inconclusive or nothing judged."""


def summarise(
    judgements: Sequence[Judgement],
    groups: Sequence[Group],
    gate: Gate,
    known: KnownFailures | None = None,
    *,
    planned: int | None = None,
    membership: Mapping[str, str] | None = None,
    whole: bool = False,
) -> Summary:
    """Count verdicts and decide the exit code.

    Args:
        judgements: every judged case.
        groups: the failures among them, grouped.
        gate: which failures gate.
        known: what is already recorded at the baseline; under `new` it does not gate. None: nothing is.
        planned: cases that were to run; fewer judged ones make the run incomplete. None: all of them ran.
        membership: case id -> fingerprint of its group. None: read off the groups, which list only some cases; the
            others then count as known only where every group of their operator is.
        whole: all cases of every operator are here, so that one that refused them all is left unjudged.

    Returns:
        The worst verdict that gates: `fail`, else `error`, else `inconclusive` (also for an incomplete run and for
        one that judged nothing, or nothing of an operator), else `pass`.
    """
    counts = {str(verdict): sum(j.verdict is verdict for j in judgements) for verdict in Verdict}
    judged = any(j.verdict not in (Verdict.SKIPPED, Verdict.ERROR) for j in judgements)
    unsettled = next((v for v in _UNSETTLED if counts[str(v)]), None)
    refused = whole and bool(refused_throughout(judgements))
    if unsettled is None and (refused or not judged or (planned is not None and len(judgements) < planned)):
        unsettled = Verdict.INCONCLUSIVE
    known = known or KnownFailures()
    failing = _failing(judgements, groups, membership)
    new = [(judgement, owners) for judgement, owners in failing if not _is_known(judgement, owners, known)]
    if _gating(failing, new, groups, gate):
        verdict, exit_code = Verdict.FAIL, EXIT_FAIL
    elif unsettled is not None:
        verdict, exit_code = unsettled, EXIT_PASS if gate is Gate.NEVER and judged else EXIT_UNSETTLED
    else:
        verdict, exit_code = Verdict.PASS, EXIT_PASS
    recorded = _fingerprints(failing) - _fingerprints(new)
    return Summary(verdict=verdict, exit_code=exit_code, counts=counts, groups=_told(groups, recorded, known))


_Owned = tuple[Judgement, list[Group]]
"""A failure with its group, or every group it may be in."""


def _failing(
    judgements: Iterable[Judgement], groups: Sequence[Group], membership: Mapping[str, str] | None
) -> list[_Owned]:
    listed = {case: group.fingerprint for group in groups for case in group.cases}
    places = listed if membership is None else membership
    return [(each, _owners(each, groups, places)) for each in judgements if each.verdict in FAILING_VERDICTS]


def _gating(failing: Sequence[_Owned], new: Sequence[_Owned], groups: Sequence[Group], gate: Gate) -> bool:
    if gate is Gate.NEVER or not failing:
        return False
    return gate is Gate.ALL or len(failing) > sum(group.count for group in groups) or bool(new)


def _fingerprints(failing: Iterable[_Owned]) -> frozenset[str]:
    return frozenset(group.fingerprint for _, owners in failing for group in owners)


def _told(groups: Iterable[Group], recorded: Container[str], known: KnownFailures) -> tuple[Group, ...]:
    """The groups, those with these fingerprints as known."""
    return tuple(
        replace(group, known=True, since=_since(group, known)) if group.fingerprint in recorded else group
        for group in groups
    )


def _since(group: Group, known: KnownFailures) -> str:
    names = (group.fingerprint, *group.members, *group.cases)
    return next((known.since[name] for name in names if name in known.since), "")


def _owners(judgement: Judgement, groups: Sequence[Group], owners: Mapping[str, str]) -> list[Group]:
    """The group of a failure; where that is not told, every group it may be in."""
    mine = owners.get(judgement.case.id)
    if mine is not None:
        return [group for group in groups if group.fingerprint == mine]
    return [group for group in groups if group.operator == judgement.case.operator]


def _is_known(judgement: Judgement, groups: Sequence[Group], known: KnownFailures) -> bool:
    case, cause = judgement.case.id, judgement.findings[0].cause
    if OlderFailure(case=case, cause=str(cause)) in known.older:
        return True
    nameless = cause is Cause.UNKNOWN and any(group.cause is Cause.UNKNOWN for group in groups)
    if not groups or (nameless and case not in known.cases):
        return False
    return all(_is_recorded(group, known) for group in groups)


def _is_recorded(group: Group, known: KnownFailures) -> bool:
    members = frozenset(group.members)
    return group.fingerprint in known.fingerprints or (bool(members) and members <= known.fingerprints)
