"""How much launches of one arm scatter, and what slowdown that hides.

Decides the estimate of noise and what could have been detected. Robust, since one launch in ten meets something else
that runs on the machine.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from opsdebug_ci.regress.ranks import Sample

NORMAL_MAD = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution: 1 / z(0.75)."""

SMALL_SAMPLE = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}
"""What a median absolute deviation of so few values is too small by (Croux and Rousseeuw, Computational Statistics 1,
1992, Time-efficient algorithms for two highly robust estimators of scale, table for MAD); n / (n - 0.8) beyond."""

STEADIEST = 0.005
"""Least scatter believed: of four launches three can agree by chance, and then say nothing about the next."""

EFFICIENCY = 3 / math.pi
"""Of the Hodges-Lehmann estimate against the mean for normal noise: 0.955."""

ALARM_Z = NormalDist().inv_cdf(0.99)
"""A chance finding in a hundred per series before anything is confirmed."""

POWER_Z = NormalDist().inv_cdf(0.95)
"""Nineteen of twenty slowdowns of that size are to show."""


def scatter(values: Sample) -> float:
    """Robust standard deviation of `values`, shape (n,), in their unit; at least STEADIEST."""
    if values.size < 2:
        return math.inf
    deviation = float(np.median(np.abs(values - np.median(values))))
    factor = SMALL_SAMPLE.get(values.size, values.size / (values.size - 0.8))
    return max(STEADIEST, NORMAL_MAD * factor * deviation)


def standard_error(base: Sample, head: Sample) -> float:
    """Of the Hodges-Lehmann shift between two samples: sqrt((s_b^2 / m + s_h^2 / n) / EFFICIENCY)."""
    return math.sqrt((scatter(base) ** 2 / base.size + scatter(head) ** 2 / head.size) / EFFICIENCY)


def detectable(error: float) -> float:
    """Smallest slowdown, as a share, that launches of this standard error (of a log ratio) would have shown.

    exp((z(0.99) + z(0.95)) * error) - 1: beyond what chance shows once in a hundred times, nineteen times of twenty.
    """
    return math.expm1((ALARM_Z + POWER_Z) * error) if math.isfinite(error) else math.inf


def pair_scatter(found: float, launches: int) -> float:
    """Standard deviation of one launch of the head against one of the base, as a log ratio.

    `detectable` and `standard_error` solved for sqrt(s_b^2 + s_h^2), with as many launches of both arms.

    Args:
        found: what these launches would have shown, as a share.
        launches: of each arm.
    """
    return math.log1p(found) / (ALARM_Z + POWER_Z) * math.sqrt(EFFICIENCY * launches)
