"""What the next run of a series is expected to take, by the runs before it.

Decides the interval and what a history of that noise could show at all. Deliberately calls nothing regressed: where
runs differ by more than 1.6 % a history cannot tell a slowdown of 10 % from a bad night, and says so instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from opsdebug_ci.regress.outliers import winsorised
from opsdebug_ci.regress.ranks import Sample
from opsdebug_ci.regress.scale import POWER_Z, STEADIEST
from opsdebug_ci.regress.student import upper_quantile

FEWEST_RUNS = 8
"""Runs below which nothing is said: a chance of 1 in 5000 then lies more than 6 standard deviations away, not 3.5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The next value of a series; log of ns per call."""

    centre: float
    """Winsorised mean of the runs."""

    low: float
    """The next value is below with the chance that was asked for."""

    high: float
    """The next value is above with that chance."""

    spread: float
    """Standard deviation between runs; as a log ratio."""

    runs: int
    """How many there are."""

    detectable: float
    """Smallest slowdown this history could show, as a share."""


def predict(values: Sample, chance: float) -> Prediction:
    """The interval in which the next value lies, but for `chance` at either end.

    centre -+ t(1 - chance, n - 1) * s * sqrt(1 + 1 / n): prediction of one further normal value (Hahn and Meeker,
    Statistical Intervals, section 4.7). Mean and standard deviation are those of the winsorised values, for one bad
    night in thirty would double s.

    Args:
        values: shape (n,), n >= 2, finite; log of ns per call, one per run.
        chance: of a false alarm at one end, in (0, 1/2).
    """
    kept = winsorised(values)
    spread = max(STEADIEST, float(np.std(kept, ddof=1)))
    centre = float(np.mean(kept))
    half = upper_quantile(chance, values.size - 1) * spread * math.sqrt(1 + 1 / values.size)
    return Prediction(
        centre=centre,
        low=centre - half,
        high=centre + half,
        spread=spread,
        runs=int(values.size),
        detectable=detectable_by_history(values.size, spread, chance),
    )


def detectable_by_history(runs: int, spread: float, chance: float) -> float:
    """Smallest slowdown, as a share, that `runs` runs would show nineteen times of twenty.

    exp((t(1 - chance, runs - 1) + z(0.95)) * spread * sqrt(1 + 1 / runs)) - 1: beyond the interval of `predict` with a
    power of 95 % (minimum detectable effect, Bloom, Evaluation Review 19(5), 1995).

    Args:
        runs: of the history, at least 2.
        spread: standard deviation between runs, as a log ratio.
        chance: of a false alarm, in (0, 1/2).
    """
    reach = upper_quantile(chance, runs - 1) + POWER_Z
    return math.expm1(reach * spread * math.sqrt(1 + 1 / runs))
