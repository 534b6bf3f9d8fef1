"""Exact percentiles of more errors than one wants to hold, which come block by block.

Decides which errors are kept: a sample says around which values the percentiles lie, so all others need only be
counted. Deliberately never estimates: where the sample misled, there is no answer, and the caller keeps everything.
"""

from __future__ import annotations

import math

import torch

from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.numerics.quantiles import at_ranks, counted_to_ranks, named, quantiles, ranks_of

SAMPLE = 1 << 16
"""Elements sampled: brackets of the median then hold 2 % of all errors."""

WORTHWHILE = 1 << 20
"""Elements from which on a sample is cheaper than partitioning everything."""

COUNTED_BELOW = 1 << 12
"""Integers below this are counted one by one: ULP distances are nearly all small."""

_DEVIATIONS = 5.0
"""Standard deviations of a sampled rank (binomial) on either side of a bracket: misses once in a million."""

_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, modulo 1, fill an interval evenly without hitting the same column of a matrix over and over."""

_LEAST = 2.0**-1074
"""The smallest positive float64."""


def sample_positions(size: int, device: torch.device) -> torch.Tensor:
    """SAMPLE positions within 0 ... `size` - 1, evenly spread (Kronecker's sequence), int64."""
    steps = torch.arange(SAMPLE, dtype=torch.float64, device=device) * _GOLDEN
    return (steps.frac_() * size).to(torch.int64).clamp_(max=size - 1)


class FloatSelection:
    """Percentiles of float64 errors: those near the median and the largest twentieth are kept, the rest is counted.

    Selection by sampled brackets after Floyd and Rivest, "Expected time bounds for selection", Communications of the
    ACM 18(3), 1975. Zeros are counted too: they are the smallest errors there are, and often most of them.
    """

    def __init__(self, sample: torch.Tensor | None) -> None:
        """Bracket by `sample`, float64 and SAMPLE long; None keeps every error."""
        self._blocks: list[torch.Tensor] = []
        self._seen = 0
        self._below = 0
        self._low, self._high, self._tail = (0.0, 0.0, 0.0) if sample is None else _brackets(sample)

    def add(self, errors: torch.Tensor) -> None:
        """Take a block, flat, nonnegative and without NaN. It is left alone, and may be overwritten afterwards."""
        self._seen += errors.numel()
        if self._low == 0.0:
            self._blocks.append(errors.clone())
            return
        above = errors >= self._low
        self._below += errors.numel() - int(torch.count_nonzero(above))
        kept = above.logical_and_(errors <= self._high).logical_or_(errors >= self._tail)
        self._blocks.append(errors[kept])

    def found(self) -> Quantiles | None:
        """Percentiles of all blocks as `quantiles` would say; None where the sample misled, never if all was kept."""
        kept = torch.cat(self._blocks)
        if self._low == 0.0:
            return quantiles(kept)
        tail, middle = kept[kept >= self._tail], kept[kept < self._tail]
        ranks = ranks_of(self._seen)
        first = self._seen - tail.numel()
        zeros = self._below if self._low == _LEAST else 0
        in_middle = [rank - self._below for rank in ranks if zeros <= rank < first]
        if any(not 0 <= rank < middle.numel() for rank in in_middle):
            return None
        values = [0.0 for rank in ranks if rank < zeros]
        values += at_ranks(middle, in_middle)
        return named(values + at_ranks(tail, [rank - first for rank in ranks if rank >= first]))


def _brackets(sample: torch.Tensor) -> tuple[float, float, float]:
    """Around the median, and where the largest twentieth begins; one bracket where these two meet."""
    ascending = sample.sort().values
    low, high, tail = (
        float(ascending[round(SAMPLE * share + side * _DEVIATIONS * math.sqrt(SAMPLE * share * (1 - share)))])
        for share, side in ((0.5, -1), (0.5, 1), (0.95, -1))
    )
    low = max(low, _LEAST)
    return (low, high, tail) if high < tail else (low, low, low)


class IntegerTally:
    """Percentiles of integers of which nearly all are small: those are counted one by one, only large ones are kept."""

    def __init__(self, device: torch.device) -> None:
        self._counts = torch.zeros(COUNTED_BELOW, dtype=torch.int64, device=device)
        self._large: list[torch.Tensor] = []

    def add(self, values: torch.Tensor) -> None:
        """Take a block of nonnegative integers, flat and not empty."""
        if int(values.amax()) >= COUNTED_BELOW:
            small = values < COUNTED_BELOW
            self._large.append(values[~small].to(torch.int64))
            values = values[small]
        counts = torch.bincount(values)
        self._counts[: counts.numel()] += counts

    def add_zeros(self, count: int) -> None:
        """Take `count` zeros."""
        self._counts[0] += count

    def found(self) -> tuple[Quantiles, int]:
        """Percentiles of all blocks, as `quantiles` would say, and how many integers are 0. At least one was taken."""
        counted, large = int(self._counts.sum()), sum(block.numel() for block in self._large)
        ranks = ranks_of(counted + large)
        values = counted_to_ranks(self._counts, [rank for rank in ranks if rank < counted])
        if large:
            values += at_ranks(torch.cat(self._large), [rank - counted for rank in ranks if rank >= counted])
        return named(values), int(self._counts[0])
