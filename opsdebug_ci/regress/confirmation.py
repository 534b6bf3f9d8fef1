"""How many fresh launches confirm what a screen showed.

Decides the number by the screen alone, before the first of them. So it says nothing about what they will show: the
exact p of the fresh launches holds for every number, and with it the bound on false alarms (`rule.significance`).
A number chosen badly costs a finding, which is then inconclusive, and never raises an alarm.
"""

from __future__ import annotations

import math

from opsdebug_ci.model.speed import Effect
from opsdebug_ci.regress.ranks import overlaps_borne
from opsdebug_ci.regress.rule import launches_needed, significance
from opsdebug_ci.regress.scale import pair_scatter

FEWEST_LAUNCHES = 4
"""Of each arm, without which nothing is said: the fewest from which a 95 % interval follows."""

CONFIRM_LAUNCHES = 8
"""Of each arm for what showed, more where so many operators need a smaller p; fewer where it showed by far."""

MISSED = 0.05
"""Share of shifts as large as the screen says that the planned launches may fail to confirm: one in twenty."""


def launches_usual(tests: int) -> int:
    """Fresh launches of each arm for what did not show by far."""
    return launches_needed(tests, CONFIRM_LAUNCHES)


def launches_planned(screen: Effect, threshold: float, tests: int) -> int:
    """Fresh launches of each arm for what the screen showed: as few as confirm a shift that large.

    Let a pair be one launch of the head and one of the base, and m the log distance from the threshold to the nearer
    end of the screen's interval, s the scatter of a pair. By Cantelli's inequality, whatever the distribution, a pair
    falls short of the threshold with probability at most q = 1 / (1 + (m / s)^2). L launches make L^2 pairs, and the
    test bears k = `overlaps_borne` of them in the wrong order; by Markov's inequality more than k are with probability
    at most L^2 q / (k + 1). The answer is the smallest L for which that is at most MISSED, or the usual number.
    14 times as long with 6 % of scatter takes 4 launches among 14 pairs of arms, 5 among 50; 15 % takes the usual 8.
    """
    usual = launches_usual(tests)
    margin = _beyond(screen, threshold)
    if margin <= 0:
        return usual
    short = 1 / (1 + (margin / pair_scatter(screen.detectable, screen.launches)) ** 2)
    for launches in range(FEWEST_LAUNCHES, usual):
        borne = overlaps_borne(launches, significance(tests))
        if borne >= 0 and launches**2 * short <= MISSED * (borne + 1):
            return launches
    return usual


def by_far(screen: Effect, threshold: float, tests: int) -> bool:
    """It showed so clearly that fewer launches than usual confirm it."""
    return launches_planned(screen, threshold, tests) < launches_usual(tests)


def _beyond(screen: Effect, threshold: float) -> float:
    """Log distance by which the whole interval lies beyond the threshold, slower or faster; below 0: it does not."""
    nearer = math.log(screen.low) if screen.ratio > 1 else -math.log(screen.high)
    return nearer - math.log1p(threshold)
