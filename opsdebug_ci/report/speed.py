"""Verdicts on speed in words, the same in every report: never an estimate without its interval.

Decides rounding, what is one line (an operator against an arm, its worst shape first) and the sentence that sums a
comparison up. Deliberately not the verdicts, and not what an operator's own sentence says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.speed import AlarmBound, ArmFacts, Comparison, ComparisonRun, Effect, SpeedVerdict
from opsdebug_ci.report import figures
from opsdebug_ci.report.escape import plain

NAME_WIDTH = 60
"""Characters of a name that are shown."""

LEAST_BOUND = 1e-9
"""Of a share: no control is counted three thousand million times."""

_USUAL = ("contiguous", "normal", "own")
"""Layouts and families that go without saying."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorVerdict:
    """All series of one operator with one verdict against one arm."""

    worst: Comparison
    """The one whose head lost most."""

    more: int
    """How many others there are."""


def change(effect: Effect) -> str:
    """`+11 % [8, 14]`: head against base with its 95 % interval; one decimal below 10 %."""
    estimate, low, high = _percents(effect)
    sign = "+" if not estimate.startswith("-") and float(estimate) else ""
    return f"{sign}{estimate} % [{low}, {high}]"


def moved(effect: Effect) -> str:
    """`11 % slower [8, 14]`, or faster, with an interval in the same direction."""
    if effect.ratio >= 1:
        estimate, low, high = _percents(effect)
        return f"{estimate} % slower [{low}, {high}]"
    estimate, low, high = _percents(effect, sign=-1)
    return f"{estimate} % faster [{high}, {low}]"


def _percents(effect: Effect, *, sign: int = 1) -> tuple[str, str, str]:
    values = [sign * (ratio - 1) * 100 for ratio in (effect.ratio, effect.low, effect.high)]
    digits = 1 if max(map(abs, values)) < 10 else 0
    estimate, low, high = (f"{round(value, digits) + 0.0:.{digits}f}" for value in values)
    return estimate, low, high


def detectable(effect: Effect | None) -> str:
    """The smallest slowdown that would have shown: whole per cent from 10 %, one decimal below."""
    if effect is None or not math.isfinite(effect.detectable):
        return figures.MISSING
    percent = 100 * effect.detectable
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def axes(case: CaseDocument) -> str:
    """`B=1,S=128`, and what is not as usual about layout, values and device."""
    dims = ",".join(f"{name}={size}" for name, size in case.dims.items())
    odd = [word for word in (case.layout, case.inputs) if word not in _USUAL]
    device = [] if case.device == "cpu" else [case.device]
    return plain(" ".join([*([dims] if dims else []), *odd, *device]), NAME_WIDTH)


def arm_name(arms: Sequence[ArmFacts], name: str) -> str:
    """`base 3fa9c21`, with ` as it is` behind it where the work tree differs from the commit."""
    arm = next((arm for arm in arms if arm.name == name), None)
    commit = "" if arm is None or not arm.commit else f" {arm.commit[:7]}"
    return plain(f"{name}{commit}{' as it is' if arm is not None and arm.dirty else ''}")


def by_operator(comparisons: Sequence[Comparison], verdict: SpeedVerdict) -> tuple[OperatorVerdict, ...]:
    """Comparisons with `verdict` together by operator and arm, the worst operator first, then by name."""
    found: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        if comparison.verdict is verdict:
            found.setdefault((comparison.case.operator, comparison.base), []).append(comparison)
    grouped = [OperatorVerdict(worst=max(group, key=_ratio), more=len(group) - 1) for group in found.values()]
    return tuple(sorted(grouped, key=lambda one: (-_ratio(one.worst), one.worst.case.operator)))


def unsettled(run: ComparisonRun) -> int:
    """Operators that are not called slower, and of which a case could not be told; without those that showed it."""
    told = {one.case.operator for one in run.comparisons if one.verdict is SpeedVerdict.REGRESSED}
    told |= {group.worst.case.operator for group in unconfirmed(run)}
    return len({one.case.operator for one in run.comparisons if one.verdict is SpeedVerdict.INCONCLUSIVE} - told)


def unconfirmed(run: ComparisonRun) -> tuple[OperatorVerdict, ...]:
    """Operators that showed a slowdown beyond their threshold, which was not confirmed; each once, the worst first.

    None where the run is not believed, or where another case of the operator regressed.
    """
    regressed = {one.case.operator for one in run.comparisons if one.verdict is SpeedVerdict.REGRESSED}
    shown = [one for one in run.comparisons if one.case.operator not in regressed and _shown_slower(one)]
    groups = () if run.contaminated else by_operator(shown, SpeedVerdict.INCONCLUSIVE)
    return tuple({group.worst.case.operator: group for group in reversed(groups)}.values())[::-1]


def _shown_slower(one: Comparison) -> bool:
    screen, effect = one.screen, one.effect
    if screen is None or effect is None or one.verdict is not SpeedVerdict.INCONCLUSIVE:
        return False
    return screen.ratio > 1 and effect.shown and effect.low > 1 + one.threshold


def unconfirmed_words(run: ComparisonRun) -> str:
    """`14 times as long, not confirmed in the time there was`: the worst of them; empty without any."""
    groups = unconfirmed(run)
    effect = groups[0].worst.effect if groups else None
    return "" if effect is None else f"{much(effect)}, {_not_confirmed(run.complete)}"


def much(effect: Effect) -> str:
    """`14 times as long` from twice as long on, `30 % slower` below; of something slower."""
    if effect.ratio < 2:
        return f"{100 * (effect.ratio - 1):.0f} % slower"
    return f"{effect.ratio:.{0 if effect.ratio >= 9.95 else 1}f} times as long"


def _not_confirmed(complete: bool) -> str:
    return "not confirmed" if complete else "not confirmed in the time there was"


def conclusion(run: ComparisonRun) -> str:
    """A comparison in one sentence: the worst verdict, the operator that lost most, its interval."""
    if not run.comparisons:
        return "nothing was compared"
    verdict = run.comparisons[0].verdict
    groups = by_operator(run.comparisons, verdict)
    if verdict is SpeedVerdict.REGRESSED or verdict is SpeedVerdict.SUSPECTED:
        others = len({group.worst.case.operator for group in groups}) - 1
        more = f"; and {others:,} more operator{'' if others == 1 else 's'}" if others else ""
        return f"{_slower(run.arms, groups[0].worst)}{more}"
    counts = ", ".join([*_counts(run), *(["nothing is believed in this run"] if run.contaminated else [])])
    first = unconfirmed(run)[:1]
    shown = [f"{plain(group.worst.case.operator, NAME_WIDTH)}: {unconfirmed_words(run)}" for group in first]
    return "; ".join([*shown, counts])


def _slower(arms: Sequence[ArmFacts], one: Comparison) -> str:
    name = plain(one.case.operator, NAME_WIDTH)
    effect = one.effect
    if effect is None:
        return f"{name}: {plain(one.statement)}"
    confirmed = one.verdict is SpeedVerdict.REGRESSED and one.confirm is not None
    how = f", confirmed in {effect.launches} fresh launches" if confirmed else f", by {effect.launches} launches"
    return f"{name} is {moved(effect)} than {arm_name(arms, one.base)}{how}"


def _counts(run: ComparisonRun) -> Iterator[str]:
    for verdict in dict.fromkeys(one.verdict for one in run.comparisons):
        names = {one.case.operator for one in run.comparisons if one.verdict is verdict}
        yield f"{len(names):,} operator{'' if len(names) == 1 else 's'} {verdict}{_told(run, verdict)}"


def _told(run: ComparisonRun, verdict: SpeedVerdict) -> str:
    """What `same` is worth: the smallest slowdown that would have shown on each of them."""
    if verdict is not SpeedVerdict.SAME:
        return ""
    effects = [one.effect for one in run.comparisons if one.verdict is verdict and one.effect is not None]
    least = max(effects, key=lambda effect: effect.detectable, default=None)
    return "" if least is None else f" ({detectable(least)} slower would have shown on each)"


def verdict_line(group: OperatorVerdict, arms: Sequence[ArmFacts]) -> str:
    """One operator against one arm: its worst shape, and how many more there are."""
    one = group.worst
    name = plain(one.case.operator, NAME_WIDTH)
    shape = "" if one.effect is None else subject(one)
    return f"{' '.join(part for part in (name, shape) if part)}: {verdict_words(one, arms)}{others(group)}"


def subject(one: Comparison) -> str:
    """Of which case of its operator a line is: `S=128 float32`."""
    return " ".join(part for part in (axes(one.case), plain(one.case.dtype)) if part)


def verdict_words(one: Comparison, arms: Sequence[ArmFacts]) -> str:
    """What such a line says of its case."""
    if one.effect is None:
        return plain(one.statement).removeprefix(f"{one.verdict}: ")
    unclear = _unclear(one, one.effect) if one.verdict is SpeedVerdict.INCONCLUSIVE else ""
    return f"{moved(one.effect)} than {arm_name(arms, one.base)}{unclear}"


def others(group: OperatorVerdict) -> str:
    """` (+2 more)`: cases of the operator with the same verdict that are not shown."""
    return f" (+{group.more:,} more)" if group.more else ""


def _unclear(one: Comparison, effect: Effect) -> str:
    """Why a comparison could not tell: noise, time, or a run that cannot be believed."""
    if effect.detectable > one.threshold and not (one.confirm is None and effect.shown):
        return f"; only {detectable(effect)} slower or more would have shown"
    return "; not confirmed in the time there was" if one.confirm is None else "; not believed in this run"


def control_line(run: ComparisonRun, alarms: AlarmBound | None) -> str:
    """How the base against itself came out, here and so far."""
    loud = sum(one.verdict is SpeedVerdict.REGRESSED for one in run.controls)
    untold = sum(one.verdict is SpeedVerdict.INCONCLUSIVE for one in run.controls)
    quiet = len(run.controls) - loud - untold
    here = f"{quiet:,} of {len(run.controls):,} quiet" if run.controls else "none was timed"
    raised = f", {loud:,} raised a false alarm" if loud else ""
    unclear = f", {untold:,} could not tell" if untold else ""
    return f"A/A control: {here}{raised}{unclear}; {alarm_text(alarms)}"


def alarm_text(alarms: AlarmBound | None) -> str:
    """Our own false-alarm rate, rounded up: a bound must not be made smaller."""
    if alarms is None or not alarms.of:
        return "no control was counted so far, so nothing bounds the rate of false alarms"
    percent = 100 * min(1.0, max(LEAST_BOUND, alarms.upper))  # a stranger's document may hold any number
    scale = 10.0 ** (1 - math.floor(math.log10(percent)))
    upper = min(100.0, math.ceil(percent * scale - 1e-9) / scale)
    noun = "false alarm" if alarms.alarms == 1 else "false alarms"
    return f"{alarms.alarms:,} {noun} in {alarms.of:,} so far: at most {upper:.3g} %"


def cost_line(run: ComparisonRun) -> str:
    """What it cost, and whether that was all."""
    operators = len({one.case.operator for one in run.comparisons})
    builds = sum(arm.build_s or 0.0 for arm in run.arms)
    built = f", builds {builds:.0f} s" if builds else ""
    cut = "" if run.complete else "; not everything planned was done within the budget"
    noun = "operator" if operators == 1 else "operators"
    return f"{run.processes:,} processes, {run.duration_s:.0f} s{built}, {operators:,} {noun}{cut}"


def _ratio(comparison: Comparison) -> float:
    return 0.0 if comparison.effect is None else comparison.effect.ratio
