"""Which axis a call works along and in which order it puts things: joins, flips, splits, transposes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative, normal_axis

ALONG = frozenset({"glu", "gather", "index_select", "scatter", "scatter_add", "index_add"})
"""Calls that work along one axis only."""


def axes(call: Call) -> Iterator[Alternative]:
    """Joins in another order or axis, halves for interleaved pairs, a flip or roll left out or reversed."""
    if call.name in ("cat", "stack"):
        yield from _joins(call)
    if call.name == "slice":
        yield from _pairs(call)
    if call.name == "clone":
        yield from _interleaved(call)
    if call.name == "repeat":
        yield from _repeats(call)
    if call.name in ALONG:
        yield from _other_axis(call)
    if call.name in ("sort", "argsort", "topk"):
        yield alternative(
            f"`{call.name}` puts equal elements in the reverse order",
            Cause.WRONG_DEFAULT,
            partial(_ties_reversed, call),
            weight=0.8,
        )
    if call.name in ("roll", "flip"):
        yield from _moves(call)
    if call.name in ("transpose", "t", "permute") and isinstance(call.result, torch.Tensor):
        x = call.values["self"]
        if x.shape == call.result.shape:
            yield _order("the transpose is left out", x.clone)
        else:
            yield _order("elements are reshaped, not transposed", lambda: x.reshape(call.result.shape))


def _moves(call: Call) -> Iterator[Alternative]:
    if call.name == "roll":
        shifts = call.values["shifts"]
        yield _order("elements are rolled the other way", lambda: call.again(shifts=[-shift for shift in shifts]))
    moved = "rolled" if call.name == "roll" else "flipped"
    yield _order(f"elements are not {moved}", call.values["self"].clone)


def _ties_reversed(call: Call) -> Any:
    x, axis = call.values["self"], normal_axis(int(call.values["dim"]), call.values["self"].ndim)
    last = x.shape[axis] - 1 if x.ndim else 0
    made = call.again(self=x.flip(axis))
    return last - made if isinstance(made, torch.Tensor) else (made[0], last - made[1])


def _interleaved(call: Call) -> Iterator[Alternative]:
    """[a a b b] as [a b a b]: what `repeat` makes of heads where `repeat_interleave` is meant."""
    x = call.values["self"]
    for axis in range(1, x.ndim):
        size, times = x.shape[axis - 1], x.shape[axis]
        if x.stride(axis) == 0 and size > 1 and times > 1:
            places = torch.arange(size * times, device=x.device) % size
            source = x.select(axis, 0)
            yield alternative(
                "copies stand one after the other, not side by side",
                Cause.LAYOUT_PERMUTATION,
                partial(lambda s, a, p, shape: s.index_select(a, p).reshape(shape), source, axis - 1, places, x.shape),
                weight=0.75,
            )


def _repeats(call: Call) -> Iterator[Alternative]:
    """[a b a b] as [a a b b]."""
    x, times = call.values["self"], call.values["repeats"]
    if len(times) != x.ndim:
        return
    for axis, count in enumerate(times):
        if count > 1 and x.shape[axis] > 1:
            rest = [1 if place == axis else other for place, other in enumerate(times)]
            yield alternative(
                "copies stand side by side, not one after the other",
                Cause.BROADCASTING,
                partial(lambda a, c, r: x.repeat_interleave(c, a).repeat(r), axis, count, rest),
                weight=0.75,
            )


def _other_axis(call: Call) -> Iterator[Alternative]:
    x, given = call.tensor("self"), call.values.get("dim")
    if x is None or not isinstance(given, int):
        return
    own = normal_axis(given, x.ndim)
    for other in range(x.ndim):
        if other != own:
            yield Alternative(
                name=f"`{call.name}` along another axis",
                cause=Cause.WRONG_AXIS,
                statement=f"`{call.name}` works along axis {other}, not {own}",
                result=partial(call.again, dim=other),
                weight=0.75,
            )


def _joins(call: Call) -> Iterator[Alternative]:
    parts, axis = list(call.values["tensors"]), int(call.values.get("dim") or 0)
    if len(parts) < 2:
        return
    yield _order(f"`{call.name}` joins its parts in the reverse order", lambda: call.again(tensors=parts[::-1]))
    ndim = parts[0].ndim + (1 if call.name == "stack" else 0)
    own = normal_axis(axis, ndim)
    for other in range(ndim):
        if other != own:
            yield Alternative(
                name=f"`{call.name}` along another axis",
                cause=Cause.LAYOUT_PERMUTATION if call.name == "stack" else Cause.WRONG_AXIS,
                statement=f"`{call.name}` works along axis {other}, not {own}",
                result=partial(lambda other: _shaped(call.again(dim=other), call.result), other),
                weight=0.7,
            )
    if len(parts) == 2:
        for position, name in ((0, "first"), (1, "second")):
            yield Alternative(
                name=f"the {name} part of `{call.name}` has the other sign",
                cause=Cause.SIGN_FLIP,
                statement=f"the {name} part of `{call.name}` has the other sign",
                result=partial(
                    lambda position: call.again(
                        tensors=[-part if place == position else part for place, part in enumerate(parts)]
                    ),
                    position,
                ),
                weight=0.7,
            )


def _shaped(result: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
    return result.reshape(original.shape)


def _pairs(call: Call) -> Iterator[Alternative]:
    """x[0::2] and x[1::2] where the operator takes halves, and the other way round."""
    x, axis = call.values["self"], normal_axis(int(call.values.get("dim") or 0), call.values["self"].ndim)
    size = x.shape[axis]
    start, step = call.values.get("start") or 0, call.values.get("step") or 1
    length = call.result.shape[axis]
    if size < 2 or length * 2 != size:
        return
    if step == 2:
        yield _order(
            "halves are taken, not interleaved pairs",
            lambda: x.narrow(axis, length if start else 0, length).clone(),
        )
    elif step == 1:
        index = torch.arange(1 if start else 0, size, 2, device=x.device)
        yield _order("interleaved pairs are taken, not halves", lambda: x.index_select(axis, index))
    other = 0 if start else (length if step == 1 else 1)
    index = torch.arange(other, size, step, device=x.device)[:length]
    yield _order("the other half is taken", lambda: x.index_select(axis, index))


def _order(phrase: str, result: Callable[[], Any]) -> Alternative:
    return Alternative(name=phrase, cause=Cause.LAYOUT_PERMUTATION, statement=phrase, result=result, weight=0.7)
