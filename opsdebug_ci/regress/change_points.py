"""Where the level of a series changed for good.

Decides the places: to locate a change, not to gate on it. Robust, since one night in twenty meets something else: a
value far from its level costs a bounded amount wherever the changes lie, so it cannot buy a level of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from opsdebug_ci.regress.outliers import REACH, winsorised
from opsdebug_ci.regress.ranks import Sample
from opsdebug_ci.regress.scale import NORMAL_MAD, STEADIEST
from opsdebug_ci.regress.student import upper_tail

FEWEST_RUNS = 4
"""Runs a level must have: three bad nights in a row are not a level."""

LONGEST = 400
"""Newest runs looked at: more than a year of nights; the search takes time by the square of it."""

STEPS_PER_SPREAD = 4
"""Candidate levels lie a quarter of a standard deviation apart: being half of that off costs a run 1/64."""

LARGEST_P = 0.001
"""No change is believed with a larger p, after Bonferroni's factor for the places it could have been at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One lasting change."""

    first_after: int
    """Index of the first run at the new level."""

    shift: float
    """New level less old level; log ratio."""

    p_value: float
    """Of the two levels being one, times the places there are."""


def change_points(values: Sample) -> tuple[Step, ...]:
    """Lasting changes of the level, oldest first.

    The levels minimise sum min((y - level)^2, (REACH s)^2) / s^2 + (3 log n) per change (biweight loss: Fearnhead and
    Rigaill, JASA 114(525), 2019, Changepoint detection in the presence of outliers; found exactly by dynamic
    programming over segments, levels on a grid). Changes that a t test of the winsorised runs of the two levels does
    not confirm are taken out again, the weakest first.

    Args:
        values: shape (n,), finite; log ns per call, one per run, oldest first.
    """
    left_out = max(0, values.size - LONGEST)
    recent = values[left_out:]
    if recent.size < 2 * FEWEST_RUNS:
        return ()
    spread = noise(recent)
    bounds = _segments(recent, spread)
    steps = _steps(recent, bounds)
    while steps and max(step.p_value for step in steps) > LARGEST_P:
        weakest = max(range(len(steps)), key=lambda place: steps[place].p_value)
        bounds = [*bounds[: weakest + 1], *bounds[weakest + 2 :]]
        steps = _steps(recent, bounds)
    return tuple(
        Step(first_after=left_out + step.first_after, shift=step.shift, p_value=step.p_value) for step in steps
    )


def noise(values: Sample) -> float:
    """Standard deviation between runs of one level, whatever the levels: of the differences of neighbours, over sqrt 2.

    Median absolute difference, scaled for normal noise (von Neumann's differences, Ann. Math. Statist. 12(4), 1941, in
    the robust form of Fearnhead and Rigaill, section 3); shape (n,), n >= 2; at least STEADIEST.
    """
    return max(STEADIEST, NORMAL_MAD * float(np.median(np.abs(np.diff(values)))) / math.sqrt(2))


def _segments(values: Sample, spread: float) -> list[int]:
    """Bounds of the cheapest segments: 0, the first run of every new level, and n."""
    losses = _losses(values, spread)
    penalty = 3 * math.log(values.size)
    count = values.size
    best = np.full(count + 1, math.inf)
    best[0] = -penalty
    before = np.zeros(count + 1, dtype=int)
    for end in range(FEWEST_RUNS, count + 1):
        starts = np.arange(0, end - FEWEST_RUNS + 1)
        costs = best[starts] + penalty + np.min(losses[end] - losses[starts], axis=1)
        before[end] = int(np.argmin(costs))
        best[end] = costs[before[end]]
    bounds = [count]
    while bounds[0] > 0:
        bounds.insert(0, int(before[bounds[0]]))
    return bounds


def _losses(values: Sample, spread: float) -> NDArray[np.float64]:
    """Loss of the first i runs at candidate level j, shape (n + 1, levels)."""
    count = max(2, math.ceil(STEPS_PER_SPREAD * float(np.ptp(values)) / spread) + 1)
    levels = np.linspace(float(values.min()), float(values.max()), min(count, MOST_LEVELS))
    single = np.minimum(((values[:, None] - levels[None, :]) / spread) ** 2, REACH**2)
    return np.vstack([np.zeros((1, levels.size)), np.cumsum(single, axis=0)])


MOST_LEVELS = 1000
"""Of candidate levels: a quarter of half a percent each over a range of three and a half times."""


def _steps(values: Sample, bounds: Sequence[int]) -> list[Step]:
    """The change at every inner bound, by the runs of the two levels beside it."""
    parts = [winsorised(values[a:b]) for a, b in pairwise(bounds)]
    freedom = values.size - len(parts)
    squares = sum(float(np.sum((part - part.mean()) ** 2)) for part in parts)
    pooled = max(STEADIEST, math.sqrt(squares / freedom))
    return [
        _step(first, second, bound, pooled=pooled, freedom=freedom, places=values.size - 1)
        for first, second, bound in zip(parts, parts[1:], bounds[1:], strict=False)
    ]


def _step(first: Sample, second: Sample, bound: int, *, pooled: float, freedom: int, places: int) -> Step:
    """Two-sided t test of two levels with the standard deviation pooled over all of them (Student, 1908)."""
    shift = float(second.mean() - first.mean())
    error = pooled * math.sqrt(1 / first.size + 1 / second.size)
    p_value = min(1.0, 2 * places * upper_tail(abs(shift) / error, freedom))
    return Step(first_after=bound, shift=shift, p_value=p_value)
