"""Exact percentiles of more errors than one wants to hold, which come block by block.

Decides which errors are kept: a sample says around which values the percentiles lie, so all others need only be
counted. Deliberately never estimates: where the sample misled, or more would be kept than agreed, there is no answer,
and the caller has `digits`.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class _Bracket:
    """Errors within `low` ... `high`, which are kept; those below are counted."""

    low: float
    high: float
    below: int = 0
    kept: list[torch.Tensor] = field(default_factory=list)

    def sift(self, errors: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Copies of those to keep, and how many lie below."""
        if self.low == 0.0:
            return errors.clone(), 0
        array = array_of(errors)
        inside = array >= self.low
        below = errors.numel() - count_of(inside)
        if self.high < math.inf:
            inside &= array <= self.high
        return errors[places_of(inside)], below

    def at(self, rank: int) -> float | None:
        """The error at a rank among all; None where it is outside. Zeros are all that lies below the least error."""
        if rank < self.below:
            return 0.0 if self.low == _LEAST else None
        kept = torch.cat(self.kept)
        place = rank - self.below
        return at_ranks(kept, [place], reorder=True)[0] if place < kept.numel() else None


class FloatSelection:
    """Percentiles of float64 errors: those near the median, P95 and from P99 on are kept, the rest is counted.

    Selection by sampled brackets after Floyd and Rivest, "Expected time bounds for selection", Communications of the
    ACM 18(3), 1975. Zeros are counted too: they are the smallest errors there are, and often most of them. Blocks may
    come from several threads, in any order.
    """

    def __init__(self, sample: torch.Tensor | None, size: int) -> None:
        """Bracket by `sample`, float64 and at least 1000 long, of `size` errors to come; None keeps every error."""
        self._lock = threading.Lock()
        self._seen = 0
        self._kept = 0
        self._limit = max(KEPT, size // 8)
        self._brackets = [_Bracket(0.0, math.inf)] if sample is None else _brackets(sample)

    def add(self, errors: torch.Tensor) -> None:
        """Take a block, flat, nonnegative and without NaN. It is left alone, and may be overwritten afterwards."""
        sifted = [bracket.sift(errors) for bracket in self._brackets]
        with self._lock:
            self._seen += errors.numel()
            self._kept += sum(kept.numel() for kept, _ in sifted)
            for bracket, (kept, below) in zip(self._brackets, sifted, strict=True):
                bracket.below += below
                bracket.kept = [*bracket.kept, kept] if self._kept <= self._limit else []

    def found(self) -> Quantiles | None:
        """Percentiles of all blocks as `quantiles` would say; None where the sample misled or too much was kept."""
        if self._kept > self._limit:
            return None
        if self._seen == 0:
            return NO_QUANTILES
        last = len(self._brackets) - 1  # it has the maximum, too
        found = [self._brackets[min(place, last)].at(rank) for place, rank in enumerate(ranks_of(self._seen))]
        known = [error for error in found if error is not None]
        return named(known) if len(known) == len(found) else None


def is_fair(sample: torch.Tensor) -> bool:
    """Whether there are enough sampled errors to bracket percentiles by them."""
    return sample.numel() >= _FAIR


def _brackets(sample: torch.Tensor) -> list[_Bracket]:
    """Around the median and P95, and from below P99 on."""
    size = sample.numel()
    ranks = [
        round(size * share + side * _DEVIATIONS * math.sqrt(size * share * (1 - share)))
        for share, side in ((0.5, -1), (0.5, 1), (0.95, -1), (0.95, 1), (0.99, -1))
    ]
    found = [max(error, _LEAST) for error in at_ranks(sample, [min(rank, size - 1) for rank in ranks])]
    return [_Bracket(found[0], found[1]), _Bracket(found[2], found[3]), _Bracket(found[4], math.inf)]


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
        largest = int(values.amax())
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
