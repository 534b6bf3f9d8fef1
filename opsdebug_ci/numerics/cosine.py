"""Cosine similarity of an output and its reference.

Decides how it is computed and when it is undefined. Deliberately not a gate: it cannot see scale, nor one wrong row
in two thousand.
"""

from __future__ import annotations

import math

import torch

from opsdebug_ci.errors import ShapeMismatchError

_CHUNK = 1 << 20
"""Elements widened to float64 at a time: 8 MiB each, near the size of a cache."""


def cosine(actual: torch.Tensor, expected: torch.Tensor) -> float | None:
    """sum(a*y) / sqrt(sum(a*a) * sum(y*y)) in float64, a and y each divided by its largest magnitude first.

    The division keeps squares from over- and underflowing (as the scaled sum of squares of Blue, "A portable Fortran
    program to find the Euclidean norm of a vector", ACM TOMS 4(1), 1978). Equivalent to the quotient over the whole
    flattened tensors; sums are blocked, so the relative error is a few units of 2**-53 times log2 of the size.

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
    left_scale, right_scale = _largest(left), _largest(right)
    if not (math.isfinite(left_scale) and math.isfinite(right_scale)):
        return None
    if left_scale == 0 or right_scale == 0:
        return float(left_scale == right_scale)
    return _quotient(left, right, left_scale, right_scale)


def _quotient(left: torch.Tensor, right: torch.Tensor, left_scale: float, right_scale: float) -> float:
    product, left_square, right_square = [], [], []
    for a, y in zip(torch.split(left, _CHUNK), torch.split(right, _CHUNK), strict=True):
        scaled, target = a.to(torch.float64) / left_scale, y.to(torch.float64) / right_scale
        product.append(torch.dot(scaled, target).item())
        left_square.append(torch.dot(scaled, scaled).item())
        right_square.append(torch.dot(target, target).item())
    # Each sum of squares is at least 1 by the scaling, so the root is safe; equal tensors give exactly 1.
    return max(-1.0, min(1.0, math.fsum(product) / math.sqrt(math.fsum(left_square) * math.fsum(right_square))))


def _largest(values: torch.Tensor) -> float:
    """max |x| in float64; NaN or infinite when any element is."""
    bounds = [torch.aminmax(chunk.to(torch.float64)) for chunk in torch.split(values, _CHUNK)]
    return max((abs(b.item()) for pair in bounds for b in pair), key=lambda b: math.inf if math.isnan(b) else b)
