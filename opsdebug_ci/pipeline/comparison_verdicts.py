"""From the launches of a comparison to verdicts: one per pair of arms, and whether any can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from opsdebug_ci.model.speed import Comparison, Effect, LaunchTime, Round, SpeedVerdict
from opsdebug_ci.pipeline.comparison_plan import Duel, Plan
from opsdebug_ci.pipeline.experiment import Records
from opsdebug_ci.regress.confirmation import FEWEST_LAUNCHES
from opsdebug_ci.regress.effect import effect_of
from opsdebug_ci.regress.rule import conclude
from opsdebug_ci.regress.wording import change, statement
from opsdebug_ci.report.document import case_document

PROBE_SHIFT = 0.02
"""Log ratio of what both arms share that is still nothing: four launches of an idle machine scatter less."""


def measured(duel: Duel, records: Records, part: Round) -> Effect | None:
    """The effect by the launches of one round that both arms took part in; None: these are too few.

    One arm may have been launched more often, beside another one: what it met then, its partner did not.
    """
    base, head = paired(duel, records, part)
    return None if len(base) < FEWEST_LAUNCHES else effect_of(base, head)


def paired(duel: Duel, records: Records, part: Round) -> tuple[list[LaunchTime], list[LaunchTime]]:
    """Launches of base and head in one round, those alone that have both."""
    base = {launch.launch: launch for launch in records.of(duel.series.case.id, duel.base, part)}
    head = {launch.launch: launch for launch in records.of(duel.series.case.id, duel.head, part)}
    both = sorted(base.keys() & head.keys())
    return [base[number] for number in both], [head[number] for number in both]


def judged(duel: Duel, records: Records, threshold: float, *, tests: int) -> Comparison:
    """What one pair comes to."""
    case = duel.series.case
    screen, confirm = (measured(duel, records, part) for part in Round)
    rounds = {part: paired(duel, records, part) for part in Round}
    base, head = ([launch for pair in rounds.values() for launch in pair[arm]] for arm in (0, 1))
    telling = rounds[Round.CONFIRM] if confirm is not None else rounds[Round.SCREEN]
    blank = Comparison(
        case=case_document(case),
        why=duel.why,
        base=duel.base,
        verdict=SpeedVerdict.INCONCLUSIVE,
        statement=_untimed(duel, records),
        threshold=threshold,
        base_ns=_typical(telling[0]),
        head_ns=_typical(telling[1]),
        screen=screen,
        confirm=confirm,
        launches=(*base, *head),
        cost_s=round(records.costs_s.get(case.id, 0.0), 3),
    )
    faulty = any((case.id, arm) in records.faults for arm in (duel.base, duel.head))
    if screen is None or faulty or blank.base_ns is None or blank.head_ns is None:
        return blank
    return _concluded(blank, screen, confirm, tests=tests, step_ns=records.steps_ns[case.id])


def _concluded(blank: Comparison, screen: Effect, confirm: Effect | None, *, tests: int, step_ns: float) -> Comparison:
    """The comparison with the verdict that its effects come to."""
    base_ns, head_ns = blank.base_ns or 0.0, blank.head_ns or 0.0
    verdict = conclude(
        screen, confirm, threshold=blank.threshold, tests=tests, loss_ns=head_ns - base_ns, step_ns=step_ns
    )
    said = statement(
        verdict,
        blank.base,
        screen=screen,
        confirm=confirm,
        threshold=blank.threshold,
        base_ns=base_ns,
        head_ns=head_ns,
    )
    return replace(blank, verdict=verdict, statement=said)


def probe_effect(plan: Plan, records: Records) -> Effect | None:
    """Head against the first base on what both share, by every launch."""
    if plan.probe is None:
        return None
    base, head = ([*_launches(records, plan.probe.case.id, arm)] for arm in plan.probe_arms)
    return None if min(len(base), len(head)) < FEWEST_LAUNCHES else effect_of(base, head)


def contamination(controls: Sequence[Comparison], probe: Effect | None) -> str | None:
    """Why this run can call nothing regressed; None: it can."""
    false = [control for control in controls if control.verdict is SpeedVerdict.REGRESSED]
    if false:
        return f"{false[0].case.operator} of the base was called regressed against itself"
    if probe is not None and (probe.low > 1 + PROBE_SHIFT or probe.high < 1 - PROBE_SHIFT):
        return f"what both arms share is not the same in both: {change(probe)}"
    return None


def doubted(comparison: Comparison, doubt: str | None) -> Comparison:
    """The comparison as it stands in a run with that contamination."""
    if doubt is None or comparison.verdict is not SpeedVerdict.REGRESSED:
        return comparison
    said = f"{comparison.statement}; not believed, because {doubt}"
    return replace(comparison, verdict=SpeedVerdict.INCONCLUSIVE, statement=said)


def _launches(records: Records, case_id: str, arm: str) -> list[LaunchTime]:
    return [launch for part in Round for launch in records.of(case_id, arm, part)]


def _typical(launches: Sequence[LaunchTime]) -> float | None:
    return median(launch.min_ns for launch in launches) if launches else None


def _untimed(duel: Duel, records: Records) -> str:
    for arm in (duel.base, duel.head):
        fault = records.faults.get((duel.series.case.id, arm))
        if fault is not None:
            return f"could not be timed in {arm}: {fault}"
    return "too few launches within the budget"
