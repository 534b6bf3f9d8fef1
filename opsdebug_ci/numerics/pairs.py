"""Which elements of a float output and its reference enter the errors, and what the reference is as a whole.

Decides the pairs, block by block, and the floor of relative errors, which needs all of them. Deliberately computes no
error: that is `float_errors`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.blocks import Blocks
from opsdebug_ci.numerics.cosine import divisor, is_safe, largest_magnitude, largest_magnitudes, scaled
from opsdebug_ci.numerics.formats import float_format, is_finite, rounded, signed_bits, widened

RELATIVE_FLOOR = 2.0**-20
"""Share of the root mean square below which a reference value is too close to a zero crossing to divide by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The elements of one block that are finite on both sides."""

    actual: torch.Tensor
    """Output, at its own dtype, flat."""

    expected: torch.Tensor
    """Reference in float64, flat; within the range of a format without infinity."""

    places: torch.Tensor | None
    """Where they stand in the block, int64; None when they are all of it."""


class Pairs:
    """The pairs of one output and its reference that are finite on both sides, the reference also once rounded."""

    def __init__(self, actual: torch.Tensor, expected: torch.Tensor, *, sifted: bool) -> None:
        """`sifted` looks for pairs that are not finite; else every pair is taken to be."""
        self.blocks = Blocks(actual, expected, any_order=True)
        self.dtype = actual.dtype
        self.device = actual.device
        self.sifted = sifted
        self.format = float_format(actual.dtype)

    def choose(self, actual: torch.Tensor, expected: torch.Tensor) -> Chosen:
        """The pairs of one block; nothing is copied where they are all of it and the reference is float64."""
        expected = widened(expected)
        places = None
        if self.sifted:
            usable = is_finite(actual) & is_finite(rounded(expected, self.dtype))
            if not bool(usable.all()):
                places = usable.nonzero().flatten()
                actual, expected = actual[places], expected[places]
            if not self.format.has_infinity:
                expected = expected.clamp(-self.format.max_finite, self.format.max_finite)
        return Chosen(actual=actual, expected=expected, places=places)

    def sides(self, sides: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        """`choose`, as `cosine` wants it."""
        chosen = self.choose(sides[0], sides[1])
        return chosen.actual, chosen.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What the reference is as a whole, over the pairs."""

    elements: int
    """Pairs."""

    size: float
    """What its squares were divided by, as `cosine.divisor` says it; 1 unless they could leave float64."""

    square: float
    """Sum of the squares after that division."""

    equal: bool
    """Every pair has the same bits, widened where the dtypes differ."""

    def floor(self, least: float) -> float:
        """Smallest divisor of a relative error: 2**-20 of the root mean square, at least `least`."""
        if self.elements == 0:
            return least
        return max(RELATIVE_FLOOR * (self.size * math.sqrt(self.square / self.elements)), least)


def survey(pairs: Pairs) -> Reference | None:
    """Read the reference once, at the speed of memory; None when it must be sifted and was not.

    A sum of squares bounds every magnitude in it, so largest elements are looked for only where it leaves room.
    """
    limit = pairs.format.max_finite
    equal = True

    def look(_: int, sides: tuple[torch.Tensor, ...]) -> tuple[int, float, bool]:
        nonlocal equal
        chosen = pairs.choose(*sides)
        equal = equal and _same_bits(chosen)
        y = chosen.expected
        square = torch.dot(y, y).item()
        bounded = pairs.sifted or math.sqrt(square) <= limit or largest_magnitude(y) <= limit
        return y.numel(), square, bounded

    looked = pairs.blocks.each(lambda: look)
    if not all(bounded for *_, bounded in looked):
        return None
    elements, square = sum(count for count, *_ in looked), math.fsum(square for _, square, _ in looked)
    size = 1.0
    if not is_safe(square, elements):
        size, square = _scaled_square(pairs)
    return Reference(elements=elements, size=size, square=square, equal=equal)


def _same_bits(chosen: Chosen) -> bool:
    wide = widened(chosen.actual)
    return torch.equal(signed_bits(wide), signed_bits(chosen.expected))


def _scaled_square(pairs: Pairs) -> tuple[float, float]:
    """The divisor of the reference, and the sum of its squares after it."""
    largest = largest_magnitudes(pairs.blocks, pairs.sides)[1]
    if largest == 0:
        return 1.0, 0.0

    def square(_: int, sides: tuple[torch.Tensor, ...]) -> float:
        y = scaled(pairs.sides(sides)[1], largest)
        return torch.dot(y, y).item()

    return divisor(largest), math.fsum(pairs.blocks.each(lambda: square))
