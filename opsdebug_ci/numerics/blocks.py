"""Tensors of one shape cut into the same blocks, small enough for a cache, and worked on by several threads.

Decides where the cuts lie and who works on which block. Deliberately knows nothing about what is done to them, and
never copies more than a block: views stay views.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

BLOCK = 1 << 17
"""Elements of a block on a processor: 1 MiB as float64, a handful of which stay in a cache."""

DEVICE_BLOCK = 1 << 19
"""Elements of a block elsewhere, where every launch costs: ten float64 copies of it take 40 MiB."""

MOST_THREADS = 8
"""More threads than this only wait for the interpreter's lock."""

_THREADED_FROM = 4
"""Blocks from which on starting threads costs less than it saves."""

_Result = TypeVar("_Result")
_Index = tuple["int | slice", ...]
Work = Callable[[int, tuple[torch.Tensor, ...]], _Result]
"""What is done to one block: the flat C-order position of its first element, and each side's part of it, flat."""


class Blocks:
    """The blocks of some tensors of one shape, in C order."""

    def __init__(self, *sides: torch.Tensor) -> None:
        """Cut `sides`, any dtypes and strides, all of one shape and on one device."""
        sides = tuple(side.detach() for side in sides)
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
            What it returned per block, in C order. The first exception of any thread is raised here.
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
        """The elements of every side at flat C-order `positions`, int64."""
        index: list[torch.Tensor] = []
        for size in reversed(self._sides[0].shape):  # torch.unravel_index loads some five hundred modules first
            index.insert(0, positions % size)
            positions = torch.div(positions, size, rounding_mode="floor")
        return tuple(side[tuple(index)] for side in self._sides)

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
