"""Exact percentiles of more errors than one wants to hold, which come block by block.

Decides which errors are kept: a sample says around which values the percentiles lie, so all others need only be
counted. Deliberately never estimates: where the sample misled, or more would be kept than agreed, there is no answer,
and the caller has `digits`.
"""

from __future__ import annotations

import math
import threading

import torch

from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.numerics.places import array_of, count_of, places_of
from opsdebug_ci.numerics.quantiles import NO_QUANTILES, at_ranks, counted_to_ranks, named, ranks_of

SAMPLE = 1 << 16
"""Elements sampled: brackets of the median then hold 2 % of all errors."""

WORTHWHILE = 1 << 20
"""Elements from which on a sample is cheaper than partitioning everything."""

KEPT = 1 << 21
"""Floats kept at most: 16 MiB; of more than eight times as many, an eighth."""

COUNTED_BELOW = 1 << 12
"""Integers below this are counted one by one: ULP distances are nearly all small."""

LARGE_KEPT = 1 << 20
"""Integers from there on that are kept at most: 8 MiB."""

_FEW_VALUES = 8
"""Different values up to which comparing with each is faster than a histogram."""

_DEVIATIONS = 5.0
"""Standard deviations of a sampled rank (binomial) on either side of a bracket: misses once in a million."""

_FAIR = 1000
"""Elements from which on a sample says anything about the largest twentieth."""

_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, modulo 1, fill an interval evenly without hitting the same column of a matrix over and over."""

_LEAST = 2.0**-1074
"""The smallest positive float64."""


def sample_positions(size: int, device: torch.device) -> torch.Tensor:
    """SAMPLE positions within 0 ... `size` - 1, evenly spread (Kronecker's sequence), int64."""
    steps = torch.arange(SAMPLE, dtype=torch.float64, device=device) * _GOLDEN
    return (steps.frac_() * size).to(torch.int64).clamp_(max=size - 1)


_EVERY = [(0.0, math.inf)]
"""The bracket of all errors."""


class FloatSelection:
    """Percentiles of float64 errors: those near the median, near P95 and from P99 on are kept, the rest is counted.

    Selection by sampled brackets after Floyd and Rivest, "Expected time bounds for selection", Communications of the
    ACM 18(3), 1975. Zeros are counted too: they are the smallest errors there are, and often most of them. Blocks may
    come from several threads, in any order.
    """

    def __init__(self, sample: torch.Tensor | None, size: int) -> None:
        """Bracket by `sample`, float64 and at least 1000 long, of `size` errors to come; None keeps every error."""
        self._lock = threading.Lock()
        self._blocks: list[torch.Tensor] = []
        self._seen = 0
        self._kept = 0
        self._limit = max(KEPT, size // 8)
        self._brackets = _EVERY if sample is None else _brackets(sample)
        self._below = [0] * len(self._brackets)

    def add(self, errors: torch.Tensor) -> None:
        """Take a block, flat, nonnegative and without NaN. It is left alone, and may be overwritten afterwards."""
        kept, below = (errors.clone(), [0]) if self._brackets == _EVERY else self._sifted(errors)
        with self._lock:
            self._seen += errors.numel()
            self._below = [sum(counts) for counts in zip(self._below, below, strict=True)]
            self._kept += kept.numel()
            self._blocks.append(kept)
            if self._kept > self._limit:
                self._blocks.clear()

    def found(self) -> Quantiles | None:
        """Percentiles of all blocks as `quantiles` would say; None where the sample misled or too much was kept."""
        if self._kept > self._limit:
            return None
        if self._seen == 0:
            return NO_QUANTILES
        kept = torch.cat(self._blocks)
        ranks, last = ranks_of(self._seen), len(self._brackets) - 1
        found: list[float] = []
        for place, ((low, high), below) in enumerate(zip(self._brackets, self._below, strict=True)):
            here = ranks[place:] if place == last else [ranks[place]]  # the maximum is in the last bracket
            inside = kept if self._brackets == _EVERY else kept[(kept >= low) & (kept <= high)]
            zeros = [0.0 for rank in here if rank < below]
            places = [rank - below for rank in here if rank >= below]
            if (zeros and low != _LEAST) or (places and places[-1] >= inside.numel()):
                return None
            found += zeros + at_ranks(inside, places, reorder=True)
        return named(found)

    def _sifted(self, errors: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        """Those within a bracket, copied, and how many lie below each."""
        array = array_of(errors)
        kept, below = array < 0.0, []
        for low, high in self._brackets:
            inside = array >= low
            below.append(errors.numel() - count_of(inside))
            if high < math.inf:
                inside &= array <= high
            kept |= inside
        return errors.index_select(0, places_of(kept)), below


def is_fair(sample: torch.Tensor) -> bool:
    """Whether there are enough sampled errors to bracket percentiles by them."""
    return sample.numel() >= _FAIR


def _brackets(sample: torch.Tensor) -> list[tuple[float, float]]:
    """Around the median and P95, and from below P99 on."""
    size = sample.numel()
    ranks = [
        min(size - 1, round(size * share + side * _DEVIATIONS * math.sqrt(size * share * (1 - share))))
        for share, side in ((0.5, -1), (0.5, 1), (0.95, -1), (0.95, 1), (0.99, -1))
    ]
    found = [max(error, _LEAST) for error in at_ranks(sample, ranks)]
    return [(found[0], found[1]), (found[2], found[3]), (found[4], math.inf)]


class IntegerTally:
    """Percentiles of integers of which nearly all are small: those are counted one by one, only large ones are kept.

    Blocks may come from several threads, in any order.
    """

    def __init__(self, device: torch.device) -> None:
        self._lock = threading.Lock()
        self._counts = torch.zeros(COUNTED_BELOW, dtype=torch.int64, device=device)
        self._large: list[torch.Tensor] = []
        self._kept = 0
        self.largest = 0
        """The largest integer so far."""

    def add(self, values: torch.Tensor) -> int:
        """Take a block of nonnegative integers, flat and not empty; the largest of them."""
        largest = int(array_of(values).max())
        large = values[:0]
        if largest >= COUNTED_BELOW:
            small = values < COUNTED_BELOW
            values, large = values[small], values[~small].to(torch.int64)
        counts = _counted(values, largest) if largest < _FEW_VALUES else torch.bincount(values)
        with self._lock:
            self.largest = max(self.largest, largest)
            self._counts[: counts.numel()] += counts
            self._kept += large.numel()
            if large.numel() and self._kept <= LARGE_KEPT:
                self._large.append(large)
            elif large.numel():
                self._large.clear()
        return largest

    def found(self) -> tuple[Quantiles | None, int]:
        """Percentiles of all blocks, as `quantiles` would say, and how many integers are 0. At least one was taken.

        No percentiles where one of them is large and too many large ones came to keep them.
        """
        counted = int(self._counts.sum())
        ranks = ranks_of(counted + self._kept)
        beyond = [rank - counted for rank in ranks if rank >= counted]
        zeros = int(self._counts[0])
        values = counted_to_ranks(self._counts, [rank for rank in ranks if rank < counted])
        if self._kept <= LARGE_KEPT:
            large = at_ranks(torch.cat(self._large), beyond, reorder=True) if beyond else []
            return named(values + large), zeros
        return (named([*values, self.largest]) if len(beyond) == 1 else None), zeros


def _counted(values: torch.Tensor, largest: int) -> torch.Tensor:
    """torch.bincount of nonnegative integers that are at most `largest`, which is small."""
    narrow = array_of(values.to(torch.int8))
    counts = [count_of(narrow == value) for value in range(1, largest + 1)]
    return torch.tensor([values.numel() - sum(counts), *counts], device=values.device)
