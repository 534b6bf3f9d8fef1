"""Ways in which elements land in other places: where each output element would have come from.

Decides what is tried, as functions of an element's indices. Deliberately compares no values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns.placement import flattened

Coordinates = list[torch.Tensor]

GROUPS = (2, 4, 8, 16, 32)
"""Group sizes of repeating and tiling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rearrangement:
    """One way."""

    text: str
    """What happened, as a half sentence."""

    cause: Cause
    """What it speaks for."""

    sources: Callable[[Coordinates], tuple[torch.Tensor, torch.Tensor]]
    """From indices: flat positions of the elements that are held, and where that is known (bool)."""


def rearrangements(shape: tuple[int, ...]) -> Iterator[Rearrangement]:
    """Every way for an output of this shape, those that keep all elements first."""
    axes = [axis for axis, size in enumerate(shape) if size > 1]
    for position, axis in enumerate(axes):
        for other in axes[position + 1 :]:
            yield _exchange(shape, axis, other)
        if axis + 1 < len(shape) and shape[axis + 1] > 1 and shape[axis] != shape[axis + 1]:
            yield from _transposed_memory(shape, axis)
    for axis in axes:
        yield from _of_axis(shape, axis)
    for axis in axes:
        yield from _losing(shape, axis)
    yield from _strided(shape)


def _exchange(shape: tuple[int, ...], axis: int, other: int) -> Rearrangement:
    def sources(at: Coordinates) -> tuple[torch.Tensor, torch.Tensor]:
        changed = list(at)
        changed[axis], changed[other] = at[other], at[axis]
        inside = (at[other] < shape[axis]) & (at[axis] < shape[other])
        changed[axis], changed[other] = (
            changed[axis].clamp(max=shape[axis] - 1),
            changed[other].clamp(max=shape[other] - 1),
        )
        return flattened(changed, shape), inside

    return Rearrangement(text=f"axes {axis} and {other} are exchanged", cause=Cause.LAYOUT_PERMUTATION, sources=sources)


def _transposed_memory(shape: tuple[int, ...], axis: int) -> Iterator[Rearrangement]:
    """The right elements in the order of a transposed tensor's memory, read in C order: no equal sizes needed."""
    rows, columns = shape[axis], shape[axis + 1]

    def written(at: Coordinates) -> torch.Tensor:
        place = at[axis] * columns + at[axis + 1]
        return (place % rows) * columns + place // rows

    def read(at: Coordinates) -> torch.Tensor:
        return at[axis + 1] * rows + at[axis]

    yield _by_memory(shape, axis, f"axes {axis} and {axis + 1} lie transposed in memory", written)
    yield _by_memory(shape, axis, f"axes {axis} and {axis + 1} were read as if they lay transposed", read)


def _by_memory(
    shape: tuple[int, ...], axis: int, text: str, change: Callable[[Coordinates], torch.Tensor]
) -> Rearrangement:
    """`change` gives the place within the two axes from `axis` on."""
    columns = shape[axis + 1]

    def sources(at: Coordinates) -> tuple[torch.Tensor, torch.Tensor]:
        place = change(at)
        changed = [*at[:axis], place // columns, place % columns, *at[axis + 2 :]]
        return flattened(changed, shape), torch.ones_like(place, dtype=torch.bool)

    return Rearrangement(text=text, cause=Cause.LAYOUT_PERMUTATION, sources=sources)


Change = Callable[[torch.Tensor], torch.Tensor]


def _along(shape: tuple[int, ...], axis: int, text: str, cause: Cause, change: Change) -> Rearrangement:
    """Only the index along one axis changes; what falls outside is not known."""

    def sources(at: Coordinates) -> tuple[torch.Tensor, torch.Tensor]:
        index = change(at[axis])
        inside = (index >= 0) & (index < shape[axis])
        held = [*at[:axis], index.clamp(0, shape[axis] - 1), *at[axis + 1 :]]
        return flattened(held, shape), inside

    return Rearrangement(text=f"{text} along axis {axis}", cause=cause, sources=sources)


def _of_axis(shape: tuple[int, ...], axis: int) -> Iterator[Rearrangement]:
    size = shape[axis]
    half = size // 2
    ways: list[tuple[str, Change]] = [("everything is reversed", lambda i: size - 1 - i)]
    if size % 2 == 0 and size > 2:
        ways += [
            ("the two halves are exchanged", lambda i: (i + half) % size),
            ("neighbours are exchanged in pairs", lambda i: i ^ 1),
            ("halves lie where pairs should, or the other way round,", lambda i: (i % 2) * half + i // 2),
            ("pairs lie where halves should, or the other way round,", lambda i: i % half * 2 + i // half),
        ]
    for text, change in ways:
        yield _along(shape, axis, text, Cause.LAYOUT_PERMUTATION, change)
    for step in (1, -1):
        where = "the next place" if step == 1 else "the previous place"
        yield _along(shape, axis, f"each element is that of {where}", Cause.STRIDE_VIEW, partial(torch.add, other=step))


def _losing(shape: tuple[int, ...], axis: int) -> Iterator[Rearrangement]:
    """Elements that appear several times while others are lost."""
    size = shape[axis]
    cause = Cause.BROADCASTING
    yield _along(shape, axis, "everywhere stands what belongs to index 0", cause, torch.zeros_like)
    for group in GROUPS:
        if size % group == 0 and size > group:
            tiled = f"groups of {group} are tiled where they should be repeated,"
            yield _along(shape, axis, tiled, cause, partial(_tiled, count=size // group, group=group))
            repeated = f"groups of {group} are repeated where they should be tiled,"
            yield _along(shape, axis, repeated, cause, partial(torch.floor_divide, other=group))


def _tiled(index: torch.Tensor, count: int, group: int) -> torch.Tensor:
    return index % count * group


def _strided(shape: tuple[int, ...]) -> Iterator[Rearrangement]:
    """Memory walked with another step than the elements have."""
    total = 1
    for size in shape:
        total *= size
    for step in (2, 3, 4):

        def wider(at: Coordinates, step: int = step) -> tuple[torch.Tensor, torch.Tensor]:
            place = flattened(at, shape)
            return place // step, place % step == 0

        def narrower(at: Coordinates, step: int = step) -> tuple[torch.Tensor, torch.Tensor]:
            place = flattened(at, shape) * step
            return place.clamp(max=total - 1), place < total

        yield Rearrangement(
            text=f"every {step}. element comes {step} times too slowly (stride ratio 1/{step})",
            cause=Cause.STRIDE_VIEW,
            sources=wider,
        )
        yield Rearrangement(
            text=f"elements come {step} times too fast (stride ratio {step})", cause=Cause.STRIDE_VIEW, sources=narrower
        )
