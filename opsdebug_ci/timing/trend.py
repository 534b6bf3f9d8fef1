"""Whether times grow from sample to sample, and by how much.

Decides growth by ranks, so that no single slow sample can make one, and only where it matters. Deliberately says
nothing of why. Pure: the samples are all it knows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

CHANCE = 1e-6
"""Probability that samples in random order show such a trend: one in a million cases profiled."""

GROWTH = 1.25
"""Last quarter over first quarter, medians: less is not worth a word, and clocks alone may drift by it."""


def growth_per_sample(samples: Sequence[float]) -> float | None:
    """Relative growth from one sample to the next; None: times do not grow for certain, or not by enough.

    The slope is the median over all pairs, relative to the median sample: P. K. Sen, "Estimates of the regression
    coefficient based on Kendall's tau", JASA 63 (1968), doi:10.1080/01621459.1968.10480934.

    Args:
        samples: times in the order taken, same unit.
    """
    if len(samples) < 4 or rising_chance(samples) > CHANCE or _late_over_early(samples) < GROWTH:
        return None
    slopes = [(later - earlier) / (j - i) for (i, earlier), (j, later) in combinations(enumerate(samples), 2)]
    return statistics.median(slopes) / statistics.median(samples)


def rising_chance(samples: Sequence[float]) -> float:
    """Probability that samples in random order rise at least as often as these do.

    H. B. Mann, "Nonparametric tests against trend", Econometrica 13 (1945), doi:10.2307/1907187: S counts pairs in
    order minus pairs out of order. Here with its exact distribution, that of the inversions of a random permutation
    (M. G. Kendall, "A new measure of rank correlation", Biometrika 30 (1938), doi:10.1093/biomet/30.1-2.81), which is
    reached by 10 samples at the earliest for 1e-6. Ties count half out of order.
    """
    pairs = [(later > earlier) - (later < earlier) for earlier, later in combinations(samples, 2)]
    inversions = math.ceil((len(pairs) - sum(pairs)) / 2)
    counts = _inversions(len(samples))
    return sum(counts[: inversions + 1]) / math.factorial(len(samples))


@lru_cache(maxsize=16)
def _inversions(size: int) -> tuple[int, ...]:
    """How many permutations of `size` things have 0, 1, 2, ... inversions: product of 1 + q + ... + q**(k-1)."""
    counts = [1]
    for factor in range(2, size + 1):
        longer = [0] * (len(counts) + factor - 1)
        for position, count in enumerate(counts):
            for shift in range(factor):
                longer[position + shift] += count
        counts = longer
    return tuple(counts)


def _late_over_early(samples: Sequence[float]) -> float:
    quarter = len(samples) // 4
    early = statistics.median(samples[:quarter])
    return statistics.median(samples[-quarter:]) / early if early > 0 else 1.0
