"""One pass over all pairs of an output and its reference.

Decides what is computed per block, in which buffers, so that it stays in a cache and is never held for the whole
tensor. What is gathered is shared between threads; every sum is exact, so their order does not show.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.numerics.blocks import Work
from opsdebug_ci.numerics.classes import ClassCell, class_cells
from opsdebug_ci.numerics.cosine import is_safe, quotient, scaled_cosine
from opsdebug_ci.numerics.digits import Visit, float_keys, float_of_key, keys_at_ranks
from opsdebug_ci.numerics.formats import is_finite, rounded, widened
from opsdebug_ci.numerics.pairs import Chosen, Pairs, Reference
from opsdebug_ci.numerics.places import array_of, places_of
from opsdebug_ci.numerics.quantiles import named, ranks_of
from opsdebug_ci.numerics.selection import WORTHWHILE, FloatSelection, IntegerTally, is_fair, sample_positions
from opsdebug_ci.numerics.ulp import finite_distance
from opsdebug_ci.numerics.worst import Worst

_LARGEST = torch.finfo(torch.float64).max

_Sides = tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlockSums:
    """What one block contributes to the sums."""

    product: float
    """Of a * y."""

    square: float
    """Of a * a."""

    complete: bool
    """No pair of the block was left out."""

    cells: list[ClassCell]
    """Classes that differ."""


_NO_SUMS = _BlockSums(product=0.0, square=0.0, complete=False, cells=[])


class ErrorPass:
    """One pass, and what it has seen."""

    def __init__(self, pairs: Pairs, reference: Reference) -> None:
        self._pairs = pairs
        self._reference = reference
        self._floor = reference.floor(pairs.format.min_normal)
        self._steps = IntegerTally(pairs.device)
        self._relative = FloatSelection(self._sample(), reference.elements)
        self.worst = Worst(pairs.blocks.in_c_order)
        """The largest absolute error, capped at the largest float64."""
        self.spoilt = False
        """An element of the output is not finite although the pairs were not sifted: nothing that was seen counts."""
        self._tiny: list[torch.Tensor] = []  # positions in the order of the blocks, of elements whose class is open
        self._sums = pairs.blocks.each(self._worker)

    def cells(self) -> list[ClassCell]:
        """Classes that differ, some of them in several cells."""
        cells = [cell for block in self._sums for cell in block.cells]
        if self._tiny:
            positions = torch.cat(self._tiny)
            actual, expected = self._pairs.blocks.sample(positions)
            target = rounded(widened(expected), self._pairs.dtype)
            cells += class_cells(actual, target, lambda places: self._in_c_order(positions[places]))
        return cells

    def relative(self) -> Quantiles:
        """Percentiles of the relative errors."""
        return self._relative.found() or named(
            [float_of_key(key) for key in self._digits(self._show_relative, _FLOAT64_KEY_BITS)]
        )

    def steps(self) -> tuple[Quantiles, int]:
        """Percentiles of the distances to the rounded reference, and how many are not 0."""
        found, right = self._steps.found()
        bits = self._steps.largest.bit_length()
        found = found or named([float(key) for key in self._digits(self._show_steps, bits)])
        return found, self._reference.elements - right

    def cosine(self) -> float | None:
        """Cosine similarity; None when a pair was left out."""
        if not all(block.complete for block in self._sums):
            return None
        reference = self._reference
        square = math.fsum(block.square for block in self._sums)
        if reference.size == 1.0 and is_safe(square, reference.elements) and reference.square:
            return quotient(math.fsum(block.product for block in self._sums), square, reference.square)
        return scaled_cosine(self._pairs.blocks, self._pairs.sides)

    def _worker(self) -> Work[_BlockSums]:
        wide, error, spare = torch.empty(
            3, self._pairs.blocks.length, dtype=torch.float64, device=self._pairs.device
        ).unbind()

        def work(start: int, sides: _Sides) -> _BlockSums:
            if self.spoilt:
                return _NO_SUMS
            chosen = self._pairs.choose(*sides)
            elements = chosen.actual.numel()
            cells = [] if chosen.places is None else self._cells(start, *sides)
            if elements == 0:
                return _BlockSums(product=0.0, square=0.0, complete=False, cells=cells)
            w, e, s = widened(chosen.actual, wide[:elements]), error[:elements], spare[:elements]
            square = torch.dot(w, w).item()
            if not math.isfinite(square) and not bool(is_finite(chosen.actual).all()):
                self.spoilt = True
                return _NO_SUMS
            product = torch.dot(w, chosen.expected).item()
            self._absolute(w, chosen.expected, e)
            self.worst.note(e, start, chosen.places)
            tiny = self._divided(e, chosen.expected, s)
            self._relative.add(e)
            target = rounded(chosen.expected, self._pairs.dtype)
            near = self._count_steps(chosen.actual, target)
            if chosen.places is None and (not near or tiny.numel() > elements // _FEW):
                cells = class_cells(chosen.actual, target, lambda places: self._in_c_order(start + places))
            elif chosen.places is None and tiny.numel():
                self._tiny.append(start + tiny)
            return _BlockSums(product=product, square=square, complete=chosen.places is None, cells=cells)

        return work

    def _cells(self, start: int, actual: torch.Tensor, expected: torch.Tensor) -> list[ClassCell]:
        target = rounded(expected.to(torch.float64), self._pairs.dtype)
        return class_cells(actual, target, lambda places: self._in_c_order(start + places))

    def _in_c_order(self, positions: torch.Tensor) -> torch.Tensor:
        reorder = self._pairs.blocks.in_c_order
        return positions if reorder is None else reorder(positions)

    def _absolute(self, a: torch.Tensor, y: torch.Tensor, error: torch.Tensor) -> None:
        torch.sub(a, y, out=error).abs_()
        if self._pairs.dtype == torch.float64:  # two numbers of a narrower format are not that far apart
            error.clamp_(max=_LARGEST)

    def _divided(self, error: torch.Tensor, y: torch.Tensor, divisors: torch.Tensor) -> torch.Tensor:
        """Make `error` relative, in place; where `y` is not normal by far in the output's format."""
        least = array_of(torch.abs(y, out=divisors)).min().item()
        far = _FAR_FROM_SUBNORMAL * self._pairs.format.min_normal
        tiny = places_of(array_of(divisors) < far) if least < far else _NOWHERE
        if least < self._floor:
            divisors.clamp_(min=self._floor)
        error.div_(divisors)
        if self._pairs.dtype == torch.float64:
            error.clamp_(max=_LARGEST)
        return tiny

    def _count_steps(self, actual: torch.Tensor, target: torch.Tensor) -> bool:
        """Count the distances to the rounded reference; whether all are less than a binade."""
        return self._steps.add(finite_distance(actual, target)) < 1 << (self._pairs.format.precision - 1)

    def _sample(self) -> torch.Tensor | None:
        """Relative errors of some pairs; None where there are too few to do without the others."""
        if self._reference.elements < WORTHWHILE:
            return None
        blocks, device = self._pairs.blocks, self._pairs.device
        chosen = self._pairs.choose(*blocks.sample(sample_positions(blocks.elements, device)))
        sample = self._relative_of(chosen)
        return sample if is_fair(sample) else None

    def _relative_of(self, chosen: Chosen) -> torch.Tensor:
        error, spare = torch.empty_like(chosen.expected), torch.empty_like(chosen.expected)
        self._absolute(widened(chosen.actual), chosen.expected, error)
        if error.numel():
            self._divided(error, chosen.expected, spare)
        return error

    def _digits(self, show: Callable[[Visit], None], bits: int) -> list[int]:
        return keys_at_ranks(show, ranks_of(self._reference.elements), bits)

    def _show_relative(self, visit: Visit) -> None:
        def work(_: int, sides: _Sides) -> None:
            visit(float_keys(self._relative_of(self._pairs.choose(*sides))))

        self._pairs.blocks.each(lambda: work)

    def _show_steps(self, visit: Visit) -> None:
        def work(_: int, sides: _Sides) -> None:
            chosen = self._pairs.choose(*sides)
            visit(finite_distance(chosen.actual, rounded(chosen.expected, self._pairs.dtype)).to(torch.int64))

        self._pairs.blocks.each(lambda: work)


_FLOAT64_KEY_BITS = 63
_NOWHERE = torch.empty(0, dtype=torch.int64)
_FEW = 8
"""Fewer than one in so many are looked at once, together: threads wait for the lock at every small step."""
_FAR_FROM_SUBNORMAL = 4.0
"""Times the smallest normal number: less than a binade from there, everything is normal."""
