"""Which regressions still need a person: those that nobody has accepted.

Decides how far an acceptance reaches. It accepts how fast an operator was when it was given, so it covers what was
slower by then: a change made before it, and every comparison with a commit older than itself. What was lost since shows
against newer commits and in the history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing, Comparison, ComparisonRun, SpeedVerdict

Dating = Callable[[str], "datetime | None"]
"""Commit -> when it came to its branch; None: not known here."""


def needing_person(
    performance: PerformanceDocument, accepted: Mapping[str, datetime], dated: Dating
) -> tuple[str, ...]:
    """Operators that regressed and that nobody accepted, each once, the worst first.

    Args:
        performance: what the run says of speed.
        accepted: operator -> when a person last accepted how fast it was.
        dated: tells the time of a commit.
    """
    run = performance.comparison
    if run is None:
        return ()
    regressed = [one for one in run.comparisons if one.verdict is SpeedVerdict.REGRESSED]
    return tuple(dict.fromkeys(one.case.operator for one in regressed if not _covered(one, run, accepted, dated)))


def _covered(one: Comparison, run: ComparisonRun, accepted: Mapping[str, datetime], dated: Dating) -> bool:
    """The loss was there when the operator was accepted: by the age of the change, or of the older commit."""
    at = accepted.get(one.case.operator)
    told = one.base if one.why is Comparing.LADDER else run.arms[-1].name
    arm = next((arm for arm in run.arms if arm.name == told), None)
    if at is None or arm is None or arm.dirty or not arm.commit:
        return False
    committed = dated(arm.commit)
    return committed is not None and committed <= at
