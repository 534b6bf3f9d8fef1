"""Where the bad elements of an output stand: per index of every axis, per vector lane, and the span they cover.

Decides what is counted. Deliberately does not decide what a crowded lane or row means: that is for pattern rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.classes import unravel

LANES = (2, 4, 8, 16, 32, 64, 128)
"""Widths a flat index is taken modulo: elements of a vector register, a warp, a block."""

_WIDEST = LANES[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneTally:
    """Bad elements by flat C-order index modulo one width."""

    width: int
    """The modulus, one of LANES."""

    counts: tuple[int, ...]
    """Bad elements per remainder, `width` of them."""

    sizes: tuple[int, ...]
    """All elements per remainder; 0 where the output is shorter than the width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """Counts of the True elements of a mask."""

    elements: int
    """Elements of the mask."""

    bad: int
    """Those that are True."""

    axes: tuple[tuple[int, ...], ...]
    """Per axis, bad elements at each index of it; a 0-d mask has no axis."""

    lanes: tuple[LaneTally, ...]
    """One per width of LANES, narrowest first."""

    first_index: tuple[int, ...] | None
    """The first bad element in C order; None when there is none."""

    last_index: tuple[int, ...] | None
    """The last one."""


def tallies(bad: torch.Tensor) -> Tallies:
    """Count the True elements of `bad` along every axis and lane.

    Equivalent to one loop over `bad` in C order that adds 1 to the counter of each axis' index and to that of the flat
    index modulo each width. Counts are exact; there is no NaN in a mask.

    Args:
        bad: bool, any shape and strides, on any device.
    """
    flat = bad.reshape(-1)
    shape = tuple(bad.shape)
    widest = _per_lane(flat)
    count = int(widest.sum())
    edges = (None, None) if count == 0 else _edges(flat)
    first, last = (None if edge is None else unravel(edge, shape) for edge in edges)
    return Tallies(
        elements=flat.numel(),
        bad=count,
        axes=tuple(_per_index(bad, axis) for axis in range(bad.ndim)),
        lanes=tuple(_lane_tally(widest, width, flat.numel()) for width in LANES),
        first_index=first,
        last_index=last,
    )


def _per_index(bad: torch.Tensor, axis: int) -> tuple[int, ...]:
    others = [other for other in range(bad.ndim) if other != axis]
    counts = bad.sum(dim=others, dtype=torch.int64) if others else bad.to(torch.int64)
    return tuple(counts.tolist())


def _per_lane(flat: torch.Tensor) -> torch.Tensor:
    """Counts per remainder of the widest lane, int64; those of narrower ones are sums of them: all are powers of 2."""
    whole = flat.numel() // _WIDEST * _WIDEST
    counts = flat[:whole].view(-1, _WIDEST).sum(dim=0, dtype=torch.int64)
    rest = flat[whole:]
    counts[: rest.numel()] += rest
    return counts


def _lane_tally(widest: torch.Tensor, width: int, elements: int) -> LaneTally:
    counts = widest.view(-1, width).sum(dim=0)
    sizes = ((elements - remainder + width - 1) // width for remainder in range(width))
    return LaneTally(width=width, counts=tuple(counts.tolist()), sizes=tuple(sizes))


def _edges(flat: torch.Tensor) -> tuple[int, int]:
    """First and last True element."""
    ones = flat.view(torch.uint8)
    return int(ones.argmax()), flat.numel() - 1 - int(ones.flip(0).argmax())
