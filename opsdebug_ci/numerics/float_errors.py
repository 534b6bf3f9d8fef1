"""The errors of finite floats against their references, gathered in one pass over both.

Decides how the pass is blocked, so that what is computed per element stays in a cache and is never held for the whole
tensor. Deliberately does not decide which elements are compared, nor what the numbers mean: that is `readings`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.numerics.cosine import CHUNK, divisor, quotient, scaled, square_sum
from opsdebug_ci.numerics.formats import float_format, rounded, signed_bits
from opsdebug_ci.numerics.quantiles import NO_QUANTILES
from opsdebug_ci.numerics.selection import WORTHWHILE, FloatSelection, IntegerTally, sample_positions
from opsdebug_ci.numerics.ulp import finite_distance

RELATIVE_FLOOR = 2.0**-20
"""Share of the root mean square below which a reference value is too close to a zero crossing to divide by."""

_LARGEST = torch.finfo(torch.float64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatErrors:
    """Errors of finite elements."""

    largest: float
    """Largest |a - y|, capped at the largest float64."""

    position: int
    """The first element that has it."""

    relative: Quantiles
    """Of |a - y| / max(|y|, 2**-20 * RMS(y), min normal), capped likewise."""

    ulp: Quantiles
    """Of the distances to the rounded reference, in representable numbers."""

    misrounded: int
    """Elements that are not the rounded reference; +0 is -0."""

    cosine: float
    """Cosine similarity, as `cosine` says it."""


def float_errors(actual: torch.Tensor, expected: torch.Tensor, sizes: tuple[float, float]) -> FloatErrors:
    """Gather the errors of `actual` against `expected`.

    Args:
        actual: any float dtype, flat, not empty; every element finite.
        expected: float64, same shape; every element finite, also once rounded to the dtype of `actual`.
        sizes: the largest magnitude of either.
    """
    square = square_sum(expected, sizes[1])
    floor = relative_floor(square, sizes[1], expected.numel(), float_format(actual.dtype).min_normal)
    if actual.numel() >= WORTHWHILE:
        sampled = _Pass(actual, expected, sizes, floor)
        relative = sampled.run(FloatSelection(sampled.sample()))
        if relative is not None:
            return sampled.errors(relative, square)
    whole = _Pass(actual, expected, sizes, floor)
    return whole.errors(whole.run(FloatSelection(None)) or NO_QUANTILES, square)


def relative_floor(square: float, size: float, elements: int, least: float) -> float:
    """Smallest divisor of a relative error: 2**-20 of the root mean square, at least `least`.

    Args:
        square: `square_sum` of the reference.
        size: its largest magnitude.
        elements: how many it has.
        least: what it must not fall below, in its units.
    """
    return max(RELATIVE_FLOOR * (divisor(size) * math.sqrt(square / elements)), least)


class _Pass:
    """One pass over both sides, block by block, and what it has seen so far."""

    def __init__(self, actual: torch.Tensor, expected: torch.Tensor, sizes: tuple[float, float], floor: float) -> None:
        self._actual = actual
        self._expected = expected
        self._sizes = sizes
        self._floor = floor
        self._far = not sum(sizes) / floor <= _LARGEST
        self._ulp = IntegerTally(actual.device)
        self._largest, self._position = -1.0, 0
        self._products: list[float] = []
        self._squares: list[float] = []

    def sample(self) -> torch.Tensor:
        """Relative errors of some elements."""
        positions = sample_positions(self._actual.numel(), self._actual.device)
        y = self._expected[positions]
        error, spare = torch.empty_like(y), torch.empty_like(y)
        self._absolute(self._actual[positions].to(torch.float64), y, error)
        return self._divided(error, y, spare)

    def run(self, selection: FloatSelection) -> Quantiles | None:
        """See every block; the percentiles of the relative errors, unless `selection` has none."""
        length = min(CHUNK, self._actual.numel())
        wide, error, spare = torch.empty(3, length, dtype=torch.float64, device=self._actual.device)
        for start in range(0, self._actual.numel(), CHUNK):
            a, y = self._actual[start : start + CHUNK], self._expected[start : start + CHUNK]
            w, e, s = wide[: a.numel()].copy_(a), error[: a.numel()], spare[: a.numel()]
            self._multiply(w, y)
            self._absolute(w, y, e)
            self._note_worst(e, start)
            selection.add(self._divided(e, y, s))
            self._count_steps(a, y)
        return selection.found()

    def errors(self, relative: Quantiles, square: float) -> FloatErrors:
        """What was found, given the percentiles and the `square_sum` of the expected side."""
        ulp, right = self._ulp.found()
        zero = 0.0 in self._sizes
        return FloatErrors(
            largest=self._largest,
            position=self._position,
            relative=relative,
            ulp=ulp,
            misrounded=self._actual.numel() - right,
            cosine=float(self._sizes[0] == self._sizes[1])
            if zero
            else quotient(math.fsum(self._products), math.fsum(self._squares), square),
        )

    def _multiply(self, a: torch.Tensor, y: torch.Tensor) -> None:
        if 0.0 not in self._sizes:
            got, wanted = scaled(a, self._sizes[0]), scaled(y, self._sizes[1])
            self._products.append(torch.dot(got, wanted).item())
            self._squares.append(torch.dot(got, got).item())

    def _absolute(self, a: torch.Tensor, y: torch.Tensor, error: torch.Tensor) -> None:
        torch.sub(a, y, out=error).abs_()
        if self._far:
            error.clamp_(max=_LARGEST)

    def _note_worst(self, error: torch.Tensor, start: int) -> None:
        """The first largest error; its place is looked for only in a block that has a larger one than those before."""
        largest = error.amax().item()
        if largest > self._largest:
            self._largest, self._position = largest, start + int(error.argmax())

    def _divided(self, error: torch.Tensor, y: torch.Tensor, divisors: torch.Tensor) -> torch.Tensor:
        """`error` made relative, in place."""
        torch.abs(y, out=divisors).clamp_(min=self._floor)
        error.div_(divisors)
        return error.clamp_(max=_LARGEST) if self._far else error

    def _count_steps(self, a: torch.Tensor, y: torch.Tensor) -> None:
        target = rounded(y, a.dtype)
        if torch.equal(signed_bits(a), signed_bits(target)):
            self._ulp.add_zeros(a.numel())
        else:
            self._ulp.add(finite_distance(a, target))
