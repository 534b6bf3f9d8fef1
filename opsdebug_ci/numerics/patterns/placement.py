"""Where the bad elements are: which of them speak about a place, and how bad each slice of an axis is.

Decides what a rule of place may look at. Deliberately names no cause: the rules do.
"""

from __future__ import annotations

import math

import torch

from opsdebug_ci.numerics.failure import Failure

LEAST_BAD = 4
"""Fewer bad elements make no pattern."""

MANY_BAD = 8
"""Bad elements from which an exact pattern is no accident."""

MOST_BAD = 0.5
"""Share of bad elements from which a place says little: most places hold one then."""

FULL = 0.9
"""Rate of bad elements from which a slice counts as bad: some wrong values come near the right ones by accident."""

CLEAN = 0.01
"""Rate of bad elements up to which what lies outside a region counts as right."""


def placed(failure: Failure, most: float = MOST_BAD, least: int = LEAST_BAD) -> torch.Tensor | None:
    """The bad elements, when their places can tell something; None otherwise.

    Args:
        failure: any; its `bad` has at least one dimension, or None comes back.
        most: share of bad elements up to which a place is believed.
        least: bad elements from which it is; fewer than LEAST_BAD only for rules of whole slices.

    Returns:
        `failure.bad`; None where a tenth of it is non-finite in the reference (the values, not the places, decide
        there), or only the sign of a zero differs.
    """
    bad = failure.bad
    count = int(torch.count_nonzero(bad))
    if bad.ndim == 0 or count < least or count > most * bad.numel():
        return None
    wanted, got = failure.expected[bad], failure.actual[bad]
    ordinary = torch.isfinite(wanted) & (wanted != got.to(wanted.dtype))
    return bad if int(torch.count_nonzero(ordinary)) >= FULL * count else None


def rates(bad: torch.Tensor, axis: int) -> torch.Tensor:
    """Share of bad elements in each slice of `axis`.

    Equivalent to `[bad.select(axis, i).float().mean() for i in range(bad.shape[axis])]`.

    Args:
        bad: bool, any shape with at least one element; has no NaN.
        axis: from 0.

    Returns:
        float32 of length `bad.shape[axis]`, each from 0 to 1.
    """
    others = [other for other in range(bad.ndim) if other != axis]
    counted = bad.to(torch.float32)
    return counted.mean(dim=others) if others else counted


def coordinates(flat: torch.Tensor, shape: tuple[int, ...]) -> list[torch.Tensor]:
    """Index along each axis of flat positions in row-major order; the inverse of `flattened`."""
    found = []
    for size in reversed(shape):
        found.append(flat % size)
        flat = flat // size
    return found[::-1]


def flattened(indices: list[torch.Tensor], shape: tuple[int, ...]) -> torch.Tensor:
    """Flat positions in row-major order of indices along each axis."""
    flat = torch.zeros_like(indices[0])
    for index, size in zip(indices, shape, strict=True):
        flat = flat * size + index
    return flat


def bad_places(bad: torch.Tensor, most: int) -> torch.Tensor:
    """At most `most` flat positions of bad elements, spread evenly over them; int64."""
    flat = bad.flatten().nonzero().flatten()
    step = max(1, math.ceil(len(flat) / most))
    # An odd stride keeps all residues of lanes and rows in the sample.
    return flat[:: step | 1]


def slices_text(axis: int, size: int, first: int, last: int) -> str:
    """`the last 3 of 130 indices of axis 1`; first and last are the ends of the stretch, both inside."""
    count = last - first + 1
    many = f"{count:,} of " if count > 1 else "of "
    if last == size - 1:
        return f"the last {many}{size:,} indices of axis {axis}"
    if first == 0:
        return f"the first {many}{size:,} indices of axis {axis}"
    if count == 1:
        return f"index {first:,} of {size:,} of axis {axis}"
    return f"indices {first:,}..{last:,} of {size:,} of axis {axis}"
