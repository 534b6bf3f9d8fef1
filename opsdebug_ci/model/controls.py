"""How often the base, compared with itself, was called regressed.

Decides which controls count. Those that could not tell prove nothing and do not. Nor do those of a run in which nothing
would have been called regressed anyway, or that was cut short, *unless* one of them raised an alarm: leaving those out
would hide the very thing that is counted, for an alarm is one of the reasons to believe nothing in a run.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.speed import ComparisonRun, SpeedVerdict

UNTOLD: tuple[SpeedVerdict, ...] = (SpeedVerdict.INCONCLUSIVE, SpeedVerdict.NEW, SpeedVerdict.MISSING)
"""Verdicts of a control that is no trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlCount:
    """Controls that count."""

    alarms: int
    """How many were called regressed."""

    of: int
    """How many there were."""

    def __add__(self, other: ControlCount) -> ControlCount:
        return ControlCount(alarms=self.alarms + other.alarms, of=self.of + other.of)


def count_controls(run: ComparisonRun) -> ControlCount:
    """The controls of one run that count."""
    told = [control.verdict for control in run.controls if control.verdict not in UNTOLD]
    alarms = told.count(SpeedVerdict.REGRESSED)
    believed = run.complete and run.contaminated is None
    return ControlCount(alarms=alarms, of=len(told) if believed or alarms else 0)
