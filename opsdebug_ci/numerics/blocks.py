"""Tensors of one shape cut into the same blocks, small enough for a cache, and worked on by several threads.

Decides where the cuts lie, in which order, and who works on which block. Deliberately knows nothing about what is done
to them, and never copies more than a block: views stay views.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from opsdebug_ci.numerics.places import indices_of

BLOCK = 3 << 16
"""Elements of a block on a processor: 1.5 MiB as float64, a handful of which stay in a cache; in shorter ones threads
hand the interpreter's lock to each other more often."""

DEVICE_BLOCK = 1 << 19
"""Elements of a block elsewhere, where every launch costs: ten float64 copies of it take 40 MiB."""

MOST_THREADS = 8
"""More threads than this only wait for the interpreter's lock."""

_THREADED_FROM = 4
"""Blocks from which on starting threads costs less than it saves."""

_Result = TypeVar("_Result")
_Index = tuple["int | slice", ...]
Work = Callable[[int, tuple[torch.Tensor, ...]], _Result]
"""What is done to one block: the flat position of its first element, and each side's part of it, flat."""

Reorder = Callable[[torch.Tensor], torch.Tensor]
"""From flat positions in one order to those in another."""


class Blocks:
    """The blocks of some tensors of one shape, in C order, or in the order in which all of them lie in memory."""

    def __init__(self, *sides: torch.Tensor, any_order: bool = False) -> None:
        """Cut `sides`, any dtypes and strides, all of one shape and on one device.

        `any_order` takes the elements as they lie in memory where that is another order and all sides agree on it, so
        that a transposed pair is as fast as another: positions then have to pass `in_c_order`.
        """
        sides = tuple(side.detach() for side in sides)
        self._shape = tuple(sides[0].shape)
        self._order = _memory_order(sides) if any_order else None
        if self._order is not None:
            sides = tuple(side.permute(self._order) for side in sides)
        if all(side.is_contiguous() for side in sides):
            sides = tuple(side.view(-1) for side in sides)
        self._sides = sides
        self._device = sides[0].device
        self.elements = sides[0].numel()
        """Elements of each side."""
        self.length = min(BLOCK if self._device.type == "cpu" else DEVICE_BLOCK, self.elements)
        """Elements of the longest block."""
        self._cuts = list(_cuts(tuple(sides[0].shape), self.length)) if self.length else []

    def each(self, worker: Callable[[], Work[_Result]]) -> list[_Result]:
        """Do the same to every block.

        Args:
            worker: called once per thread, for a function with buffers of its own; what it shares with the others it
                must guard. On return every block was worked on, in whatever order.

        Returns:
            What it returned per block, in their order. The first exception of any thread is raised here.
        """
        results: list[_Result | None] = [None] * len(self._cuts)
        queue = iter(enumerate(self._cuts))

        def run() -> None:
            work = worker()
            for number, (start, index) in queue:
                results[number] = work(start, tuple(side[index].reshape(-1) for side in self._sides))

        threads = self._threads()
        if threads == 1:
            run()
        else:
            _run_together(run, threads)
        return results  # type: ignore[return-value]  # every place was filled, or an exception was raised

    def sample(self, positions: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The elements of every side at flat `positions`, int64, in the order of the blocks."""
        index = indices_of(positions, self._sides[0].shape)
        return tuple(side[index] for side in self._sides)

    @property
    def in_c_order(self) -> Reorder | None:
        """From flat positions in the order of the blocks, int64, to those in C order; None where they are the same."""
        return None if self._order is None else self._reordered

    def _reordered(self, positions: torch.Tensor) -> torch.Tensor:
        order = self._order or ()
        index = indices_of(positions, [self._shape[axis] for axis in order])
        strides = [math.prod(self._shape[axis + 1 :]) for axis in order]
        return sum((part * stride for part, stride in zip(index, strides, strict=True)), torch.zeros_like(positions))

    def _threads(self) -> int:
        if self._device.type != "cpu" or len(self._cuts) < _THREADED_FROM:
            return 1
        return min(torch.get_num_threads(), MOST_THREADS, len(self._cuts))


def _run_together(run: Callable[[], None], threads: int) -> None:
    """Run in several threads, each of which keeps torch to itself: one block a core beats one block on all cores.

    torch keeps the number per thread, but that of its algebra library for all: the caller's is set again at the end.
    """
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for done in [pool.submit(run) for _ in range(threads)]:
                done.result()
    finally:
        torch.set_num_threads(before)


def _memory_order(sides: tuple[torch.Tensor, ...]) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest where every side is contiguous in that order and it is not C's."""
    if sides[0].is_contiguous():
        return None
    order = tuple(sorted(range(sides[0].ndim), key=sides[0].stride, reverse=True))
    return order if all(side.permute(order).is_contiguous() for side in sides) else None


def _cuts(shape: tuple[int, ...], length: int) -> Iterator[tuple[int, _Index]]:
    """Positions and indices of slabs of at most `length` elements; every size is at least 1."""
    if not shape:
        yield 0, ()
        return
    inner = math.prod(shape[1:])
    if inner <= length:
        step = length // inner
        for first in range(0, shape[0], step):
            yield first * inner, (slice(first, first + step),)
        return
    for outer in range(shape[0]):
        for start, index in _cuts(shape[1:], length):
            yield outer * inner + start, (outer, *index)
