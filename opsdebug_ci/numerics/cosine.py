"""Cosine similarity of an output and its reference.

Decides how it is computed and when it is undefined. Deliberately not a gate: it cannot see scale, nor one wrong row
in two thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from opsdebug_ci.errors import ShapeMismatchError
from opsdebug_ci.numerics.blocks import BLOCK, Blocks

CHUNK = BLOCK
"""Elements widened to float64 at a time: few enough to stay in a cache."""

_SAFE = 2.0**200
"""Within 1/_SAFE ... _SAFE products of two sums of 2**40 squares stay in float64, and squares that underflow (below
2**-1074) are too small beside the largest (above 2**-400) to matter."""

Prepare = Callable[[tuple[torch.Tensor, ...]], tuple[torch.Tensor, ...]]
"""Chooses the elements of a block that count: the same ones of every side."""


def cosine(actual: torch.Tensor, expected: torch.Tensor) -> float | None:
    """sum(a*y) / sqrt(sum(a*a) * sum(y*y)) in float64, extreme a or y divided by its largest magnitude first.

    The division keeps squares from over- and underflowing (as the scaled sum of squares of Blue, "A portable Fortran
    program to find the Euclidean norm of a vector", ACM TOMS 4(1), 1978). Equivalent to the quotient over the whole
    flattened tensors; sums are blocked, so the relative error is far below 2**-53 times the square root of the size.

    Args:
        actual: any dtype the project compares, any shape.
        expected: same shape, any such dtype.

    Returns:
        Dimensionless, -1 ... 1. 1.0 when both are all zero, 0.0 when one is. None, undefined, when there is no element
        or any element on either side is NaN or infinite: a cosine over the finite rest would hide them.

    Raises:
        ShapeMismatchError: the shapes differ.
    """
    if actual.shape != expected.shape:
        raise ShapeMismatchError(f"`actual` has shape {tuple(actual.shape)}, `expected` {tuple(expected.shape)}.")
    return scaled_cosine(Blocks(actual, expected)) if actual.numel() else None


def scaled_cosine(blocks: Blocks, prepare: Prepare = tuple) -> float | None:
    """`cosine` of two sides, not empty, over what `prepare` leaves of them."""
    left, right = largest_magnitudes(blocks, prepare)
    if not (math.isfinite(left) and math.isfinite(right)):
        return None
    if left == 0 or right == 0:
        return float(left == right)

    def sums(_: int, sides: tuple[torch.Tensor, ...]) -> tuple[float, float, float]:
        a, y = (scaled(side, size) for side, size in zip(prepare(sides), (left, right), strict=True))
        return torch.dot(a, y).item(), torch.dot(a, a).item(), torch.dot(y, y).item()

    product, *squares = (math.fsum(column) for column in zip(*blocks.each(lambda: sums), strict=True))
    return quotient(product, squares[0], squares[1])


def largest_magnitudes(blocks: Blocks, prepare: Prepare = tuple) -> tuple[float, ...]:
    """max |x| of each side, as float64; NaN or infinite when any element is, 0 where `prepare` leaves nothing."""

    def largest(_: int, sides: tuple[torch.Tensor, ...]) -> list[float]:
        return [largest_magnitude(side) for side in prepare(sides)]

    # NaN is not ordered: it has to be looked for.
    columns = zip(*blocks.each(lambda: largest), strict=True)
    return tuple(math.nan if any(map(math.isnan, column)) else max(column) for column in columns)


def largest_magnitude(values: torch.Tensor) -> float:
    """max |x| of one block of any dtype, as float64; NaN or infinite when any element is; 0 of nothing."""
    if values.numel() == 0:
        return 0.0
    low, high = (bound.item() for bound in torch.aminmax(values.to(torch.float64)))
    return high if math.isnan(high) else max(abs(low), abs(high))


def scaled(values: torch.Tensor, size: float) -> torch.Tensor:
    """Widen to float64, and divide by `size`, the largest magnitude, where squares could leave float64.

    Args:
        values: any dtype, any shape; finite.
        size: max |x| over the whole tensor `values` belongs to, > 0 and finite.

    Returns:
        float64, same shape: the values themselves, or dimensionless within -1 ... 1.
    """
    wide = values.to(torch.float64)
    return wide if divisor(size) == 1.0 else wide / size


def divisor(size: float) -> float:
    """What `scaled` divides by for a largest magnitude `size`: 1 unless squares could leave float64."""
    return 1.0 if 1 / _SAFE <= size <= _SAFE else size


def is_safe(square: float, elements: int) -> bool:
    """Whether a sum of unscaled squares proves that none of them left float64: its root bounds the largest one."""
    return elements * _SAFE**-2 <= square <= _SAFE**2


def quotient(product: float, left_square: float, right_square: float) -> float:
    """The cosine of three sums over `scaled` tensors; the root of a square is exact, so equal tensors give 1."""
    return max(-1.0, min(1.0, product / math.sqrt(left_square * right_square)))
