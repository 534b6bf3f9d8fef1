"""An argument whose elements are read at other places, or one of them for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, alternative


def broadcast_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """The first entry along one axis for all; the whole argument as its first element."""
    del others
    if not isinstance(value, torch.Tensor) or value.numel() < 2:
        return
    for axis, size in enumerate(value.shape):
        if size > 1:
            yield alternative(
                f"the first entry of `{name}` along axis {axis} is used for all",
                Cause.BROADCASTING,
                partial(lambda axis: value.narrow(axis, 0, 1).expand(value.shape).clone(), axis),
                also=(Cause.STRIDE_VIEW,),
                weight=0.8,
            )


def moved_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """The same elements at other places: transposed, reversed, shifted by one, halves exchanged."""
    del others
    if not isinstance(value, torch.Tensor) or value.numel() < 2:
        return
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
        yield alternative(
            f"`{name}` is read transposed",
            Cause.LAYOUT_PERMUTATION,
            lambda: value.transpose(-1, -2).clone(),
            also=(Cause.STRIDE_VIEW, Cause.WRONG_AXIS),
        )
    if value.ndim >= 2:
        yield alternative(
            f"`{name}` is turned round in its last two axes",
            Cause.LAYOUT_PERMUTATION,
            partial(value.flip, (-1, -2)),
            also=(Cause.WRONG_DEFAULT,),
            weight=0.5,
        )
    for axis, size in enumerate(value.shape):
        for phrase, moved, also in _along(name, value, axis) if size > 1 else ():
            cause = Cause.BROADCASTING if phrase.startswith("entry") else Cause.LAYOUT_PERMUTATION
            yield alternative(phrase, cause, moved, also=also, weight=0.5)


MOST_GROUPED = 64
"""Length of an axis up to which entries are tried in groups."""

Move = tuple[str, Callable[[], torch.Tensor], tuple[Cause, ...]]
"""The move in words, the argument after it, and what it may be called as well."""


def _along(name: str, value: torch.Tensor, axis: int) -> Iterator[Move]:
    """Moves along one axis."""
    size, elsewhere = value.shape[axis], (Cause.OOB_READ, Cause.TAIL_MASK)
    yield f"`{name}` is reversed along axis {axis}", partial(value.flip, axis), ()
    yield f"`{name}` is read one element late along axis {axis}", partial(value.roll, 1, axis), elsewhere
    yield f"`{name}` is read one element early along axis {axis}", partial(value.roll, -1, axis), elsewhere
    for group in range(2, size // 2 + 1) if size <= MOST_GROUPED else ():
        if size % group == 0:
            spread = (Cause.WRONG_AXIS, Cause.STRIDE_VIEW)
            by_block, in_turn = torch.arange(size) // group, torch.arange(size) % group
            yield (
                f"entry i // {group} of `{name}` is read for entry i along axis {axis}",
                partial(_picked, value, axis, by_block),
                spread,
            )
            yield (
                f"entry i % {group} of `{name}` is read for entry i along axis {axis}",
                partial(_picked, value, axis, in_turn),
                spread,
            )
    if size % 2 == 0 and size > 2:
        half, other = size // 2, (Cause.WRONG_AXIS,)
        yield f"the halves of `{name}` along axis {axis} are exchanged", partial(value.roll, half, axis), ()
        pairs = partial(_dealt, value, axis, (2, half))
        yield f"`{name}` is read in interleaved pairs along axis {axis}, not in halves", pairs, other
        halves = partial(_dealt, value, axis, (half, 2))
        yield f"`{name}` is read in halves along axis {axis}, not in interleaved pairs", halves, other


def _picked(value: torch.Tensor, axis: int, places: torch.Tensor) -> torch.Tensor:
    return value.index_select(axis, places.to(value.device))


def _dealt(value: torch.Tensor, axis: int, shape: tuple[int, int]) -> torch.Tensor:
    """One axis as two of `shape`, exchanged and joined again."""
    return torch.unflatten(value, axis, shape).transpose(axis, axis + 1).flatten(axis, axis + 1)
