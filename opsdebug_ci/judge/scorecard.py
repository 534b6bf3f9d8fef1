"""From judged cases of planted and of correct operators to the rates and the gate of a self-test.

Decides what counts as detected, named, and alarmed, and when the tool may not be trusted. Runs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from opsdebug_ci.model.document import ObservationDocument
from opsdebug_ci.model.planted import WRONG, Defect
from opsdebug_ci.model.selftest import CauseRow, CleanTrouble, DefectResult, NamedCause, Rate
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Cause, Verdict
from opsdebug_ci.model.wilson import wilson

LARGEST_RATE = 0.01
"""Share of correct cases that may fail, by the upper end of its interval; that may stay open, as counted."""

_OPEN = (Verdict.ERROR, Verdict.INCONCLUSIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """What the cases add up to."""

    defects: tuple[DefectResult, ...]
    """One per planted defect."""

    causes: tuple[CauseRow, ...]
    """The same by expected cause."""

    detection: Rate
    """Defects detected."""

    top1: Rate
    """Defects rightly named first."""

    top3: Rate
    """Defects rightly named among the first three."""

    false_alarms: Rate
    """Failing cases among the judged ones of correct operators."""

    inconclusive: Rate
    """Open ones among them."""

    errors: int
    """Cases of correct operators that broke."""

    troubles: tuple[CleanTrouble, ...]
    """Every case of a correct operator that did not pass."""


def score(defects: Sequence[Defect], observations: Sequence[ObservationDocument]) -> Scorecard:
    """Add up the cases; those of `wrong_` operators belong to their defect, all others are to pass."""
    wrong = {f"{WRONG}{defect.name}" for defect in defects}
    results = tuple(_result(defect, observations) for defect in defects)
    clean = [o for o in observations if o.case.operator not in wrong and o.verdict is not Verdict.SKIPPED]
    judged = [o for o in clean if o.verdict is not Verdict.ERROR]
    return Scorecard(
        defects=results,
        causes=_by_cause(results),
        detection=wilson(sum(result.detected for result in results), len(results)),
        top1=wilson(sum(result.top1 for result in results), len(results)),
        top3=wilson(sum(result.top3 for result in results), len(results)),
        false_alarms=wilson(sum(o.verdict in FAILING_VERDICTS for o in judged), len(judged)),
        inconclusive=wilson(sum(o.verdict is Verdict.INCONCLUSIVE for o in judged), len(judged)),
        errors=len(clean) - len(judged),
        troubles=tuple(_trouble(o) for o in clean if o.verdict in (*FAILING_VERDICTS, *_OPEN)),
    )


def _result(defect: Defect, observations: Sequence[ObservationDocument]) -> DefectResult:
    operator = f"{WRONG}{defect.name}"
    mine = [o for o in observations if o.case.operator == operator and o.verdict is not Verdict.SKIPPED]
    failing = [o for o in mine if o.verdict in FAILING_VERDICTS and o.findings]
    speaker = _speaker(failing)
    return DefectResult(
        name=defect.name,
        wrong=defect.wrong,
        accepted=defect.accepted,
        cases=len(mine),
        failed=len(failing),
        case=None if speaker is None else speaker.case.name,
        found=() if speaker is None else _named(speaker),
        next=look_closer(defect.name),
    )


def _speaker(failing: Sequence[ObservationDocument]) -> ObservationDocument | None:
    """The first case whose first finding is the most frequent one, so that one odd case does not speak for all."""
    votes = Counter(o.findings[0].cause for o in failing)
    return max(failing, key=lambda o: votes[o.findings[0].cause], default=None)


def _named(observation: ObservationDocument) -> tuple[NamedCause, ...]:
    """Findings, each cause once, as sure as its surest."""
    first = {finding.cause: finding for finding in reversed(observation.findings)}
    return tuple(
        NamedCause(cause=finding.cause, confidence=finding.confidence, statement=finding.statement)
        for finding in observation.findings
        if first[finding.cause] is finding
    )


def _trouble(observation: ObservationDocument) -> CleanTrouble:
    said = observation.findings[0].statement if observation.findings else observation.reason
    return CleanTrouble(
        operator=observation.case.operator,
        case=observation.case.name,
        verdict=observation.verdict,
        statement=said or "no reason was recorded",
        next=look_closer(observation.case.operator),
    )


def look_closer(name: str) -> str:
    """The self-test of one defect or operator, in detail."""
    return f"opsdebug selftest --only {name} -v"


def _by_cause(results: Sequence[DefectResult]) -> tuple[CauseRow, ...]:
    rows = []
    for cause in Cause:
        mine = [result for result in results if result.accepted[0] is cause]
        if mine:
            rows.append(
                CauseRow(
                    cause=cause,
                    planted=len(mine),
                    detected=sum(result.detected for result in mine),
                    top1=sum(result.top1 for result in mine),
                    top3=sum(result.top3 for result in mine),
                )
            )
    return tuple(rows)


def objections(card: Scorecard, *, whole: bool) -> tuple[str, ...]:
    """Why the tool may not be trusted; empty when it may.

    Args:
        card: what the cases add up to.
        whole: everything was run. Of a selection there are too few cases for an upper bound: there one alarm is one
            too many, and none is enough.
    """
    alarms, undecided = card.false_alarms, card.inconclusive
    too_many = alarms.high > LARGEST_RATE if whole else alarms.count > 0
    missed = card.detection.of - card.detection.count
    return tuple(
        text
        for said, text in (
            (missed > 0, f"{missed:,} of {card.detection.of:,} planted defects missed"),
            (
                too_many,
                f"{alarms.count:,} false alarms in {alarms.of:,} correct cases: the rate may be {alarms.high:.2%}, "
                f"wanted at most {LARGEST_RATE:.0%}",
            ),
            (
                undecided.count > LARGEST_RATE * undecided.of,
                f"{undecided.count:,} of {undecided.of:,} correct cases stay open, wanted at most {LARGEST_RATE:.0%}",
            ),
        )
        if said
    )
