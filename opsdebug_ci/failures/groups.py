"""Failures that look like one cause, together.

(1) failures with one fingerprint are a bunch; (2) bunches of one cause are a group. Decides how a group is told: its
representative, the smallest case, because it is the quickest to rerun; the words of the case that says most; why it is
one; what separates it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from opsdebug_ci.failures.bunch import Bunch, bunches, elements, passing_cases
from opsdebug_ci.failures.merging import Merged, merge
from opsdebug_ci.failures.separators import Separator, separators
from opsdebug_ci.failures.telling import most_telling
from opsdebug_ci.model import Case, Cause, Finding, Group, Identity, Judgement

LISTED = 10
"""Case ids kept per group."""

TOLD = 2
"""What separates it, told: the simplest two of equally good answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gathered:
    """A group with every case of it."""

    group: Group
    """As it is reported."""

    cases: tuple[str, ...]
    """Ids of all its cases."""


def group(judgements: Iterable[Judgement]) -> tuple[Group, ...]:
    """Groups of the failing cases, largest first, then by operator and fingerprint; representative first in each.

    Args:
        judgements: every judged case of the run: the passing ones tell what separates the failing ones.
    """
    gathered = (each.group for each in _gathered(judgements))
    return tuple(sorted(gathered, key=lambda found: (-found.count, found.operator, found.fingerprint)))


def fingerprints(judgements: Iterable[Judgement]) -> dict[str, str]:
    """Case id -> fingerprint of its group, of the cases that failed; what each has by itself is in `Group.members`."""
    return {case: each.group.fingerprint for each in _gathered(judgements) for case in each.cases}


def _gathered(judgements: Iterable[Judgement]) -> list[_Gathered]:
    every = list(judgements)
    place = {judgement.case.id: number for number, judgement in enumerate(every)}
    passing = passing_cases(every)
    return [_group(merged, passing, place) for merged in merge(bunches(every))]


def _group(merged: Merged, passing: Mapping[str, Sequence[Case]], place: Mapping[str, int]) -> _Gathered:
    lead = merged.bunches[0]
    failing = _representative_first(merged, place)
    telling = most_telling(failing)
    cases = [judgement.case for judgement in failing]
    found = separators(cases, passing.get(lead.identity.operator, ()))[:TOLD]
    told = Group(
        fingerprint=lead.fingerprint,
        cause=failing[0].findings[0].cause,
        operator=lead.identity.operator,
        count=len(failing),
        cases=_listed([case.id for case in cases], telling.case.id),
        statement=telling.findings[0].statement,
        why="; ".join(filter(None, (_why(merged, failing, found), _extent(telling.findings[0])))),
        separators=tuple(separator.sentence for separator in found),
        umbrella=merged.umbrella,
        members=tuple(bunch.fingerprint for bunch in merged.bunches),
        identity=lead.identity,
    )
    return _Gathered(group=told, cases=tuple(case.id for case in cases))


def _listed(cases: Sequence[str], telling: str) -> tuple[str, ...]:
    """The first ones, and the one whose words are the group's."""
    first = cases[:LISTED]
    return tuple(first) if telling in first else (*first[: LISTED - 1], telling)


def _representative_first(merged: Merged, place: Mapping[str, int]) -> list[Judgement]:
    """Failures that look like the first bunch's, then the others; smallest first, equally small ones as planned.

    Among those of the first bunch, the ones of its commonest cause: what one that looks like the others has beside,
    e.g. that it is empty, is not what makes them fail."""
    mine, usual = merged.bunches[0].identity, _usual_cause(merged.bunches[0].failing)
    found = [(bunch.identity, judgement) for bunch in merged.bunches for judgement in bunch.failing]

    def order(pair: tuple[Identity, Judgement]) -> tuple[object, ...]:
        identity, judgement = pair
        alike = (identity.kind, identity.cause, identity.node) == (mine.kind, mine.cause, mine.node)
        unusual = alike and judgement.findings[0].cause is not usual
        return not alike, unusual, elements(judgement.case), place[judgement.case.id]

    return [judgement for _, judgement in sorted(found, key=order)]


def _usual_cause(failing: Sequence[Judgement]) -> Cause:
    """The commonest; of equally common ones, not the one that only says that a case is empty."""
    counts = Counter(judgement.findings[0].cause for judgement in failing)
    return max(counts, key=lambda cause: (counts[cause], cause is not Cause.EMPTY_OR_ZERO_DIM))


def _why(merged: Merged, failing: Sequence[Judgement], found: Sequence[Separator]) -> str:
    """`mismatch in out0, step `softmax`, tail of dim 1, S % 16 != 0; 14 cases in float16, float32; ...`."""
    lead = merged.bunches[0]
    dtypes = ", ".join(sorted({judgement.case.dtype for judgement in failing}))
    count = f"{len(failing):,} {'case' if len(failing) == 1 else 'cases'} in {dtypes}"
    umbrella = ("looks like too many other groups, so it was merged with none",) if merged.umbrella else ()
    return "; ".join((", ".join(_shared(lead, found)), count, *dict.fromkeys(merged.reasons), *umbrella))


def _extent(finding: Finding) -> str:
    """`explains 24 of 24 failing cases, invisible in 12 of 12 that pass`; empty: it was not asked elsewhere."""
    told = finding.evidence
    if "explains" not in told or told["of_failing"] == 1:
        return ""
    passing = f", invisible in {told['invisible_in']} of {told['of_passing']} that pass" if told["of_passing"] else ""
    return f"explains {told['explains']} of {told['of_failing']} failing cases{passing}"


def _shared(lead: Bunch, found: Sequence[Separator]) -> list[str]:
    mine: Identity = lead.identity
    return [
        f"{mine.kind} in {mine.target}" if mine.target else mine.kind,
        *([f"step `{mine.node}`"] if mine.node else []),
        *([f"{mine.zone} zone, {mine.distance} away"] if mine.zone and mine.distance else []),
        *([mine.pattern] if mine.pattern else []),
        *([f"in `{mine.frames[0]}`"] if mine.frames else []),
        *(separator.text for separator in found[:1]),
    ]
