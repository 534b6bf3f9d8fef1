"""Which regressions still need a person: those that nobody has accepted.

Decides how far an acceptance reaches. It accepts how fast an operator is at a commit, so it covers what that commit
holds: a change that is part of it, and every comparison with one of its ancestors. What was lost since shows against
newer commits and in the history. Deliberately by ancestry and not by dates, which whoever makes a commit chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing, Comparison, ComparisonRun, SpeedVerdict

Within = Callable[[str, str], bool]
"""Whether the code of the first commit is part of the second's."""


def needing_person(performance: PerformanceDocument, accepted: Mapping[str, str], within: Within) -> tuple[str, ...]:
    """Operators that regressed and that nobody accepted, each once, the worst first.

    Args:
        performance: what the run says of speed.
        accepted: operator -> commit at which a person last accepted how fast it is.
        within: tells how two commits lie to each other.
    """
    run = performance.comparison
    if run is None:
        return ()
    regressed = [one for one in run.comparisons if one.verdict is SpeedVerdict.REGRESSED]
    return tuple(dict.fromkeys(one.case.operator for one in regressed if not _covered(one, run, accepted, within)))


def _covered(one: Comparison, run: ComparisonRun, accepted: Mapping[str, str], within: Within) -> bool:
    """The loss was there when the operator was accepted: the change is part of that commit, or the older one is."""
    at = accepted.get(one.case.operator)
    told = one.base if one.why is Comparing.LADDER else run.arms[-1].name
    arm = next((arm for arm in run.arms if arm.name == told), None)
    if not at or arm is None or arm.dirty or not arm.commit:
        return False
    return within(arm.commit, at)
