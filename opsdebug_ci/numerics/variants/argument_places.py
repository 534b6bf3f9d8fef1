"""An argument whose elements are read at other places, or one of them for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
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
                weight=0.8,
            )


def moved_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """The same elements at other places: transposed, reversed, shifted by one, halves exchanged."""
    del others
    if isinstance(value, torch.Tensor) and value.numel() > 1:
        for move in _moves(value):
            yield _moved(f"`{name}` is read {move.words}", partial(move.there, value), move.weight, move)


def moved_result(value: torch.Tensor) -> Iterator[Alternative]:
    """The same for what is returned: written where a reader of the other layout would look for it."""
    for move in _moves(value) if value.numel() > 1 else ():
        weight = move.weight - 0.1  # an argument read so is as likely, and easier to mend
        yield _moved(f"the result is written {move.words}", partial(move.back, value), weight, move)


def sorted_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """The entries in the order that sorts an argument of whole numbers, or put back from such an order."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.numel() < 2:
        return
    for other, held in others.items():
        if not isinstance(held, torch.Tensor) or held.is_floating_point() or held.dtype == torch.bool:
            continue
        count = held.numel()
        if count not in (value.numel(), value.shape[0]) or count < 2:
            continue
        order = held.flatten().argsort(stable=True)
        for words, places in ((f"that sorts `{other}`", order), (f"before `{other}` was sorted", order.argsort())):
            phrase = f"`{name}` is read in the order {words}"
            read = partial(lambda places: value.reshape(len(places), -1)[places].reshape(value.shape), places)
            yield alternative(phrase, Cause.LAYOUT_PERMUTATION, read, weight=0.6)


def pitched_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Rows taken to lie as far apart as another axis is long."""
    del others
    if not isinstance(value, torch.Tensor) or value.ndim < 2 or value.numel() < 2:
        return
    packed = value.contiguous()
    for axis, other in product(range(value.ndim - 1), range(value.ndim)):
        length, taken = value.shape[axis + 1], value.shape[other]
        if taken not in (length, 0):
            pitch = packed.stride(axis) // length * taken
            phrase = f"rows of `{name}` along axis {axis} are taken to lie {taken} apart, not {length}"
            yield replace(
                alternative(phrase, Cause.STRIDE_VIEW, partial(_pitched, packed, axis, pitch), weight=0.3),
                name=f"rows of `{name}` along axis {axis} are as far apart as axis {other} is long",
            )


def _pitched(packed: torch.Tensor, axis: int, pitch: int) -> torch.Tensor:
    strides = [pitch if place == axis else stride for place, stride in enumerate(packed.stride())]
    places = torch.zeros((), dtype=torch.int64, device=packed.device)
    for place, (size, stride) in enumerate(zip(packed.shape, strides, strict=True)):
        along = [size if other == place else 1 for other in range(packed.ndim)]
        places = places + torch.arange(size, device=packed.device).reshape(along) * stride
    return packed.flatten()[places.clamp(max=packed.numel() - 1)]


def _moved(phrase: str, result: Callable[[], Any], weight: float, move: _Move) -> Alternative:
    return replace(alternative(phrase, Cause.LAYOUT_PERMUTATION, result, weight=weight), layout=move.layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """Elements at other places."""

    words: str
    """How they are read or written."""

    layout: str
    """What of several arguments is one layout; axes counted from the last one."""

    there: Callable[[torch.Tensor], torch.Tensor]
    """What is read."""

    back: Callable[[torch.Tensor], torch.Tensor]
    """Its inverse: what is written."""

    weight: float = 0.5


def _moves(value: torch.Tensor) -> Iterator[_Move]:
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:

        def transposed(x: torch.Tensor) -> torch.Tensor:
            return x.transpose(-1, -2).clone()

        yield _Move(words="transposed", layout="t", there=transposed, back=transposed, weight=0.7)
    if value.ndim >= 2 and min(value.shape[-2:]) > 1 and value.shape[-1] != value.shape[-2]:
        yield _Move(
            words="as if its last two axes were exchanged in memory",
            layout="memory",
            there=lambda x: x.contiguous().reshape(*x.shape[:-2], x.shape[-1], x.shape[-2]).mT.reshape(x.shape),
            back=lambda x: x.mT.reshape(x.shape),
        )
    if value.ndim >= 2:

        def turned(x: torch.Tensor) -> torch.Tensor:
            return x.flip((-1, -2))

        words = "turned round in its last two axes"
        yield _Move(words=words, layout="", there=turned, back=turned)
    for axis, size in enumerate(value.shape):
        yield from _along(size, axis, value.ndim) if size > 1 else ()


def _along(size: int, axis: int, ndim: int) -> Iterator[_Move]:
    """Moves along one axis."""

    def move(words: str, there: Change, back: Change, layout: str = "") -> _Move:
        return _Move(words=f"{words} along axis {axis}", layout=layout, there=there, back=back)

    def by(step: int) -> Change:
        return lambda x: x.roll(step, axis)

    yield move("in reverse", lambda x: x.flip(axis), lambda x: x.flip(axis))
    yield move("one element late", by(1), by(-1))
    yield move("one element early", by(-1), by(1))
    if size % 2 == 0 and size > 2:
        half = size // 2
        pairs, halves = partial(_dealt, axis=axis, shape=(2, half)), partial(_dealt, axis=axis, shape=(half, 2))
        yield move("with its halves exchanged", by(half), by(half), f"exchanged {axis - ndim}")
        yield move("with its pairs exchanged", lambda x: _pairs_exchanged(x, axis), lambda x: _pairs_exchanged(x, axis))
        yield move("in halves, not in interleaved pairs,", pairs, halves, f"halves {axis - ndim}")
        yield move("in interleaved pairs, not in halves,", halves, pairs, f"pairs {axis - ndim}")


Change = Callable[[torch.Tensor], torch.Tensor]


def _pairs_exchanged(value: torch.Tensor, axis: int) -> torch.Tensor:
    """Even entries where odd ones belong, and the other way round."""
    return torch.unflatten(value, axis, (-1, 2)).flip(axis + 1).flatten(axis, axis + 1)


def _dealt(value: torch.Tensor, axis: int, shape: tuple[int, int]) -> torch.Tensor:
    """One axis as two of `shape`, exchanged and joined again."""
    return torch.unflatten(value, axis, shape).transpose(axis, axis + 1).flatten(axis, axis + 1)


GROUPS = (2, 3, 4, 5, 6, 8, 16, 32, 64, 128)
"""Entries that share one where they do not divide the axis."""

MOST_GROUPED = 1024
"""Length of an axis up to which entries are tried in groups."""


def grouped_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """One entry for a group of them: the first of the group, the one of the group's number, or that of its place."""
    if not isinstance(value, torch.Tensor) or value.numel() < 2:
        return
    small = value.ndim == 1 or value.numel() < max(x.numel() for x in others.values() if isinstance(x, torch.Tensor))
    for axis, size in enumerate(value.shape):
        divisors = {group for group in range(2, size // 2 + 1) if size % group == 0} if size <= MOST_GROUPED else set()
        every = divisors | {group for group in GROUPS if group < size} if small else divisors
        for group in sorted(every):
            for words, place in (
                (f"i // {group} * {group}", partial(lambda group, i: i // group * group, group)),
                (f"i // {group}", partial(lambda group, i: i // group, group)),
                (f"i % {group}", partial(lambda group, i: i % group, group)),
            ):
                phrase, read = f"entry {words} of `{name}`", partial(_selected, value, axis, place)
                yield replace(
                    alternative(
                        f"{phrase} is read for entry i along axis {axis}",
                        Cause.BROADCASTING,
                        read,
                        weight=0.6 if small else 0.4,
                    ),
                    layout=f"{words} {axis - value.ndim}" if small else "",
                )


def _selected(value: torch.Tensor, axis: int, place: Change) -> torch.Tensor:
    return value.index_select(axis, place(torch.arange(value.shape[axis], device=value.device)))


WIDTHS = (8, 15, 16, 24, 31, 32)
"""Bits that offsets may be kept in."""


def wrapped_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Read at offsets that are cut to some bits: element 2**16 + k is element k."""
    del others
    if not isinstance(value, torch.Tensor):
        return
    for bits in WIDTHS:
        if value.numel() > 1 << bits:
            yield alternative(
                f"the offset into `{name}` is kept in {bits} bits: element 2**{bits} + k is read as element k",
                Cause.INDEX_OVERFLOW,
                partial(_wrapped, value, 1 << bits),
                weight=0.7,
            )


def _wrapped(value: torch.Tensor, count: int) -> torch.Tensor:
    places = torch.arange(value.numel(), device=value.device) % count
    return value.reshape(-1)[places].reshape(value.shape)
