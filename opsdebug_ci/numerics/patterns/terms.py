"""The terms whose sum an output element is, for the sums a failing output's arguments allow.

Decides which sums are tried: over one axis of an argument, of its square, of a product, and of a matrix product.
Deliberately does not check that the reference is that sum: what is left out of it need not be all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.placement import coordinates

MOST_TERMS = 1 << 20
"""Terms looked at, over all elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Terms of some output elements."""

    text: str
    """What is summed."""

    values: torch.Tensor
    """float64, elements x terms."""


def terms(failure: Failure, places: torch.Tensor) -> Iterator[Terms]:
    """Every sum that has the output's shape, its terms at flat positions `places`; those too long are left out."""
    floats = {
        name: argument.detach()
        for name, argument in failure.tensors.items()
        if argument.is_floating_point() and argument.ndim and argument.device == failure.bad.device
    }
    at = coordinates(places, tuple(failure.bad.shape))
    for name, argument in floats.items():
        for axis in range(argument.ndim):
            if argument.shape[axis] * len(places) <= MOST_TERMS:
                yield from _along(failure, f"axis {axis}", (name, argument), axis, at, floats)
        for axis in range(argument.ndim - 1):
            merged = {other: factor.flatten(axis) for other, factor in floats.items() if factor.shape == argument.shape}
            if merged[name].shape[axis] * len(places) <= MOST_TERMS:
                yield from _along(failure, f"axes {axis} and up", (name, merged[name]), axis, at, merged)
    if failure.bad.ndim:
        for left, first in floats.items():
            for right, second in floats.items():
                if left != right:
                    yield from _product(failure, (left, first), (right, second), at)


def _along(
    failure: Failure,
    where: str,
    named: tuple[str, torch.Tensor],
    axis: int,
    at: list[torch.Tensor],
    others: dict[str, torch.Tensor],
) -> Iterator[Terms]:
    """Over one axis, dropped from the output or kept there with size 1."""
    name, argument = named
    rest = [size for other, size in enumerate(argument.shape) if other != axis]
    indices = [index for index, size in zip(at, failure.bad.shape, strict=True) if size != 1 or len(rest) == len(at)]
    wide = [size for size in rest if size != 1] if len(rest) != len(at) else rest
    if wide != [size for size in failure.bad.shape if size != 1 or len(rest) == len(at)]:
        return
    moved = argument.movedim(axis, -1)
    flat = moved.reshape(*wide, argument.shape[axis])
    values = (flat[tuple(indices)] if indices else flat.expand(len(at[0]) if at else 1, -1)).double()
    yield Terms(text=f"`{name}` along {where}", values=values)
    yield Terms(text=f"`{name}`**2 along {where}", values=values.square())
    for other, factor in others.items():
        if other > name and factor.shape == argument.shape:
            paired = factor.movedim(axis, -1).reshape(*wide, argument.shape[axis])
            weights = (paired[tuple(indices)] if indices else paired.expand(len(values), -1)).double()
            yield Terms(text=f"`{name}` * `{other}` along {where}", values=values * weights)


def _product(
    failure: Failure, left: tuple[str, torch.Tensor], right: tuple[str, torch.Tensor], at: list[torch.Tensor]
) -> Iterator[Terms]:
    """A matrix product, the second matrix as it is or transposed, or a vector."""
    shape = tuple(failure.bad.shape)
    (one, first), (two, second) = left, right
    depth = first.shape[-1]
    if first.ndim < 1 or depth * len(at[0]) > MOST_TERMS:
        return
    if second.ndim == 1 and second.shape[0] == depth and first.shape[:-1] == shape:
        yield Terms(text=f"`{one}` @ `{two}`", values=first[tuple(at)].double() * second.double())
    if len(shape) < 2 or first.ndim != len(shape) or first.shape[:-1] != shape[:-1]:
        return
    rows = first[tuple(at[:-1])].double()
    batch = tuple(at[:-2]) if second.ndim == first.ndim else ()
    if second.ndim not in (2, first.ndim) or second.shape[:-2] not in ((), shape[:-2]):
        return
    for text, matrix in ((f"`{one}` @ `{two}`", second.mT), (f"`{one}` @ `{two}`.T", second)):
        if matrix.shape[-1] == depth and matrix.shape[-2] == shape[-1]:
            index = (*batch, at[-1])
            yield Terms(text=text, values=rows * matrix[index].double())
