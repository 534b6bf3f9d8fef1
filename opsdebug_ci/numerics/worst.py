"""The first largest of nonnegative numbers that come block by block.

Decides which of equal ones counts: the first in C order, whichever block was looked at first.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import torch

from opsdebug_ci.numerics.places import array_of


class Worst:
    """The largest number so far and the first place that has it; NaN is larger than all. Threads may share it."""

    def __init__(self, in_c_order: Callable[[torch.Tensor], torch.Tensor] | None = None) -> None:
        """`in_c_order` makes positions from what is noted as such; None where they are."""
        self._in_c_order = in_c_order
        self._lock = threading.Lock()
        self._found: tuple[bool, float, int] | None = None

    @property
    def value(self) -> float | None:
        """The largest number; None when there was none."""
        if self._found is None:
            return None
        is_nan, value, _ = self._found
        return math.nan if is_nan else value

    @property
    def position(self) -> int | None:
        """Its first flat C-order position."""
        return None if self._found is None else -self._found[2]

    def note(self, values: torch.Tensor, start: int, places: torch.Tensor | None = None) -> None:
        """Look at a block.

        Args:
            values: flat, not empty, nonnegative or NaN; left as they are.
            start: position of the block's first element.
            places: where in the block they stand; None when they are all of it.
        """
        largest = array_of(values).max().item()
        # An integer stays one, and is compared exactly.
        rank: tuple[bool, float] = (True, 0.0) if math.isnan(largest) else (False, largest)
        found = self._found
        if found is not None and (*rank, 0) <= found:
            return  # its place does not matter, and costs a search
        position = self._first(values, rank, start, places)
        with self._lock:
            self._found = (*rank, -position) if self._found is None else max(self._found, (*rank, -position))

    def _first(self, values: torch.Tensor, rank: tuple[bool, float], start: int, places: torch.Tensor | None) -> int:
        if self._in_c_order is not None:
            every = (values.isnan() if rank[0] else values == rank[1]).nonzero().flatten()
            return int(self._in_c_order(start + (every if places is None else places[every])).amin())
        where = 0 if rank == (False, 0) else int(values.argmax())
        return start + (where if places is None else int(places[where]))
