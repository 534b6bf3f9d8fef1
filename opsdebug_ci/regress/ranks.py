"""Two samples by their ranks: is one larger, and by how much.

Decides the test and the estimate. Deliberately assumes no distribution: launch minima have a long tail to one side.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Sample = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How far one sample lies above another, in the samples' unit."""

    estimate: float
    """Two-sample Hodges-Lehmann estimate."""

    low: float
    """Lower end of its interval."""

    high: float
    """Upper end."""

    confidence: float
    """What the interval holds at least; less than was asked for where the samples are too small for that."""


@functools.cache
def _cumulative(first: int, second: int) -> tuple[float, ...]:
    """P(U <= u) for u = 0, 1, ... of two samples of one distribution.

    Counts by the generating function prod_(i=1..m) (1 - q^(n+i)) / (1 - q^i) (Mann and Whitney, Ann. Math. Statist.
    18(1), 1947, section 4), in whole numbers.
    """
    counts = [1] + [0] * (first * second)
    for i in range(1, first + 1):
        for u in range(len(counts) - 1, second + i - 1, -1):
            counts[u] -= counts[u - second - i]
        for u in range(i, len(counts)):
            counts[u] += counts[u - i]
    ways = math.comb(first + second, first)
    total = 0
    cumulative = []
    for count in counts:
        total += count
        cumulative.append(total / ways)
    return tuple(cumulative)


def probability_larger(base: Sample, head: Sample) -> float:
    """Exact one-sided p of the Mann-Whitney test that `head` is not larger than `base`.

    Args:
        base: shape (m,), finite.
        head: shape (n,), finite, same unit.

    Returns:
        P(U >= u) under the null; a tie counts half and the sum is rounded against the finding, so that ties make p
        larger, never smaller.
    """
    larger = float(np.sum(head[:, None] > base[None, :]) + 0.5 * np.sum(head[:, None] == base[None, :]))
    below = base.size * head.size - math.floor(larger)  # P(U >= u) = P(U <= mn - u) by symmetry
    return _cumulative(base.size, head.size)[below]


def overlaps_borne(size: int, significance: float) -> int:
    """Most pairs in the wrong order with which two samples of `size` still differ at that exact one-sided level.

    Returns:
        The largest u with P(U <= u) <= significance; -1 where not even complete separation, 1 / C(2 size, size), does.
    """
    return sum(1 for p in _cumulative(size, size) if p <= significance) - 1


def shift(base: Sample, head: Sample, confidence: float = 0.95) -> Shift:
    """Two-sample Hodges-Lehmann shift of `head` against `base` with its exact distribution-free interval.

    The estimate is the median of all differences; the interval runs from the c-th smallest to the c-th largest of them,
    where c is the largest whole number with 2 P(U <= c - 1) <= 1 - confidence (Hodges and Lehmann, Ann. Math. Statist.
    34(2), 1963; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., section 4.3).

    Args:
        base: shape (m,), m >= 1, finite.
        head: shape (n,), n >= 1, finite, same unit.
        confidence: wanted, in (0, 1).

    Returns:
        The shift; with too few values for `confidence` the interval spans all differences and says what it holds.
    """
    differences = np.sort((head[:, None] - base[None, :]).ravel())
    cumulative = _cumulative(base.size, head.size)
    cut = max(1, sum(1 for p in cumulative if 2 * p <= 1 - confidence))
    return Shift(
        estimate=float(np.median(differences)),
        low=float(differences[cut - 1]),
        high=float(differences[-cut]),
        confidence=1 - 2 * cumulative[cut - 1],
    )
