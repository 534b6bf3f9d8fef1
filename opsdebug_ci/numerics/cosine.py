"""Cosine similarity of an output and its reference.

Decides how it is computed and when it is undefined. Deliberately not a gate: it cannot see scale, nor one wrong row
in two thousand.
"""

from __future__ import annotations

import math

import torch

from opsdebug_ci.errors import ShapeMismatchError

CHUNK = 1 << 17
"""Elements widened to float64 at a time: 1 MiB each, which stays in a cache."""

_SAFE = 2.0**200
"""Within 1/_SAFE ... _SAFE products of two sums of 2**40 squares stay in float64, and squares that underflow (below
2**-1074) are too small beside the largest (above 2**-400) to matter."""


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
    if actual.numel() == 0:
        return None
    left, right = actual.detach().reshape(-1), expected.detach().reshape(-1)
    left_size, right_size = largest_magnitude(left), largest_magnitude(right)
    if not (math.isfinite(left_size) and math.isfinite(right_size)):
        return None
    if left_size == 0 or right_size == 0:
        return float(left_size == right_size)
    squares = square_sum(left, left_size), square_sum(right, right_size)
    return quotient(_product_sum(left, right, left_size, right_size), *squares)


def largest_magnitude(values: torch.Tensor) -> float:
    """max |x| of a flat, non-empty tensor of any dtype, as float64; NaN or infinite when any element is."""
    bounds = [torch.aminmax(chunk.to(torch.float64)) for chunk in torch.split(values, CHUNK)]
    sizes = torch.stack([bound for pair in bounds for bound in pair]).abs_()
    return float(sizes.max())


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


def square_sum(values: torch.Tensor, size: float) -> float:
    """Sum of the squares of `values` (flat) as `scaled` by its largest magnitude `size`, in float64, block by block."""
    if size == 0:
        return 0.0
    chunks = (scaled(chunk, size) for chunk in torch.split(values, CHUNK))
    return math.fsum(torch.dot(chunk, chunk).item() for chunk in chunks)


def quotient(product: float, left_square: float, right_square: float) -> float:
    """The cosine of three sums over `scaled` tensors; the root of a square is exact, so equal tensors give 1."""
    return max(-1.0, min(1.0, product / math.sqrt(left_square * right_square)))


def _product_sum(left: torch.Tensor, right: torch.Tensor, left_size: float, right_size: float) -> float:
    pairs = zip(torch.split(left, CHUNK), torch.split(right, CHUNK), strict=True)
    return math.fsum(torch.dot(scaled(a, left_size), scaled(y, right_size)).item() for a, y in pairs)
