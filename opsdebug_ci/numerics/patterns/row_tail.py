"""Bad elements at the ends of axes: remainders of blocks, last rows, borders.

Decides that the place of the bad elements is an end. Deliberately leaves thresholds of an offset to `suffix`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.content import content
from opsdebug_ci.numerics.patterns.placement import CLEAN, FULL, LEAST_BAD, MANY_BAD, placed, rates, slices_text

BLOCKS = tuple(2**power for power in range(1, 11))
"""Sizes of vectors and blocks that leave remainders: 2 to 1,024."""

LEAST_IN_SLICE = 3
"""Bad elements that are believed when they are all of a slice."""

SHORTEST_AXIS = 6
"""An axis shorter than this stacks different things (three moments, four gates); its last slice is no remainder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A bad stretch at an end of an axis."""

    axis: int
    """Which axis."""

    size: int
    """Its length."""

    first: int
    """First bad index."""

    last: int
    """Last bad index."""

    @property
    def at_back(self) -> bool:
        """It is the axis's last stretch, where remainders are."""
        return self.last == self.size - 1

    @property
    def block(self) -> int | None:
        """The smallest block whose remainder it is; None when no power of two has this remainder."""
        length = self.last - self.first + 1
        return next((block for block in BLOCKS if self.at_back and self.size % block == length), None)


def row_tail(failure: Failure) -> Iterator[Clue]:
    """Fires when the bad elements are one stretch at an end of an axis, a corner of several, or the union of such ends.

    A stretch is at most half of an axis of at least SHORTEST_AXIS; the region is bad to FULL and all else right to
    CLEAN. Rivals: `suffix` (the threshold is a power of two), `index_argument`, `scale`.
    """
    bad = placed(failure, least=LEAST_IN_SLICE)
    if bad is None:
        return
    ends = _corner(bad) or _border(bad)
    if not ends:
        return
    count = int(torch.count_nonzero(bad))
    if count < LEAST_BAD and len(ends) > 1:
        return
    where = " and ".join(slices_text(end.axis, end.size, end.first, end.last) for end in ends)
    blocks = [end for end in ends if end.block is not None]
    remainder = "".join(f"; {end.size:,} % {end.block} = {end.last - end.first + 1}" for end in blocks)
    holds = content(failure)
    statement = f"the {count:,} bad elements are those in {where}{remainder}" + (f"; {holds}" if holds else "")
    evidence: dict[str, EvidenceValue] = {
        "bad": count,
        "of": bad.numel(),
        "axis": ends[0].axis,
        "first": ends[0].first,
        "last": ends[0].last,
    }
    yield failure.clue("row_tail", Cause.TAIL_MASK, _confidence(ends, count), statement, evidence)


def _confidence(ends: list[End], count: int) -> float:
    if not all(end.at_back for end in ends):
        return 0.6  # a first row has rivals: padding, a missing predecessor
    if count < MANY_BAD:
        return 0.72
    if all((end.block or 0) >= 4 for end in ends):
        return 0.85
    return 0.78 if all(end.first == end.last for end in ends) else 0.7


def _corner(bad: torch.Tensor) -> list[End]:
    """Ends whose intersection is the bad region: its bounding box, when that is bad to FULL."""
    ends, volume = [], 1
    for axis, size in enumerate(bad.shape):
        hit = rates(bad, axis).nonzero().flatten()
        first, last = int(hit[0]), int(hit[-1])
        volume *= last - first + 1
        if (first, last) == (0, size - 1):
            continue
        if not _is_end(size, first, last):
            return []
        ends.append(End(axis=axis, size=size, first=first, last=last))
    return ends if int(torch.count_nonzero(bad)) >= FULL * volume else []


def _border(bad: torch.Tensor) -> list[End]:
    """Ends whose union is the bad region."""
    ends, region = [], torch.zeros_like(bad)
    for axis, size in enumerate(bad.shape):
        good = (rates(bad, axis) < FULL).nonzero().flatten()
        if not len(good):
            return []
        for first, last in ((0, int(good[0]) - 1), (int(good[-1]) + 1, size - 1)):
            if first <= last and _is_end(size, first, last):
                ends.append(End(axis=axis, size=size, first=first, last=last))
                region.narrow(axis, first, last - first + 1).fill_(True)
    outside = int(torch.count_nonzero(bad & ~region))
    return ends if outside <= CLEAN * int(torch.count_nonzero(~region)) and outside <= CLEAN * bad.sum() else []


def _is_end(size: int, first: int, last: int) -> bool:
    at_end = first == 0 or last == size - 1
    return size >= SHORTEST_AXIS and at_end and last - first + 1 <= size // 2
