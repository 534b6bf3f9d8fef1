"""Reductions that end at the wrong place: a tail that is dropped, padded, or read on beyond the row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call
from opsdebug_ci.numerics.variants.reductions import REDUCTIONS, axis_of
from opsdebug_ci.numerics.variants.softmaxes import NAMES as SOFTMAXES

WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Vector and block widths."""

PRODUCTS = ("mm", "bmm", "matmul", "dot", "mv", "addmm", "baddbmm", "_scaled_mm")
"""Calls that sum over the last axis of their first operand."""

FILLS = (("zeros", 0.0), ("minus infinity", float("-inf")), ("ones", 1.0))
"""What padded lanes may hold."""


def tails(call: Call) -> Iterator[Alternative]:
    """The reduced axis ends early or late: n % V elements left out, padded to V, or read from the next row."""
    if call.name in PRODUCTS:
        yield from _products(call)
        return
    x = call.tensor("self")
    reduces = call.name in REDUCTIONS or call.name in SOFTMAXES
    if x is None or not reduces or x.ndim == 0 or not isinstance(call.result, torch.Tensor):
        return
    axis = axis_of(call, x.ndim)
    if axis is None or x.shape[axis] < 2 or call.name in ("argmax", "argmin"):
        return
    yield from _short(call, x, axis)
    yield from _long(call, x, axis)


def _short(call: Call, x: torch.Tensor, axis: int) -> Iterator[Alternative]:
    n = x.shape[axis]
    lost = {n % width: f"the last n % {width}" for width in reversed(WIDTHS) if 0 < n % width < n}
    lost = {1: "the last", **lost}
    for count, which in lost.items():
        phrase = f"`{call.name}` leaves out {which} of {n} elements"
        yield _tail(phrase, partial(lambda count: _reduced(call, x, x.narrow(axis, 0, n - count), axis), count))
    yield _tail(
        f"`{call.name}` leaves out the first of {n} elements", lambda: _reduced(call, x, x.narrow(axis, 1, n - 1), axis)
    )
    for width in WIDTHS:
        if n - width > 0 and width >= 32:
            phrase = f"`{call.name}` takes only the first {width} of {n} elements"
            yield _tail(
                phrase, partial(lambda width: _reduced(call, x, x.narrow(axis, 0, width), axis), width), weight=0.7
            )


def _long(call: Call, x: torch.Tensor, axis: int) -> Iterator[Alternative]:
    n = x.shape[axis]
    for end, extra in paddings(n, WIDTHS[1:]):
        for text, value in FILLS:
            if not x.is_floating_point() and value not in (0.0, 1.0):
                continue
            phrase = f"`{call.name}` runs over rows padded with {text} to {end}"
            yield _tail(phrase, partial(lambda e, v: _reduced(call, x, _padded(x, axis, e, v), axis), extra, value))
        phrase = f"`{call.name}` reads on into the next row, to {end}"
        yield _tail(
            phrase,
            partial(lambda e: _reduced(call, x, read_on(x, axis, e), axis), extra),
        )


def paddings(n: int, widths: Iterable[int]) -> Iterator[tuple[str, int]]:
    """To where a row of `n` elements may be padded, and how many that adds: multiples of the widths, a power of two."""
    ends = {f"a multiple of {width}": -n % width for width in widths}
    ends["a power of two"] = (1 << (n - 1).bit_length()) - n
    yield from ((end, extra) for end, extra in ends.items() if extra)


def _reduced(call: Call, x: torch.Tensor, other: torch.Tensor, axis: int) -> torch.Tensor:
    """The call on another stretch; of a softmax the elements there are of the original row."""
    if call.name not in SOFTMAXES:
        result: torch.Tensor = call.again(self=other)
        return result
    largest = other.amax(axis, keepdim=True)
    total = (other - largest).exp().sum(axis, keepdim=True)
    return x - largest - total.log() if "log" in call.name else (x - largest).exp() / total


def _padded(x: torch.Tensor, axis: int, count: int, value: float) -> torch.Tensor:
    shape = [count if position == axis else size for position, size in enumerate(x.shape)]
    return torch.cat([x, x.new_full(shape, value)], axis)


def read_on(x: torch.Tensor, axis: int, count: int) -> torch.Tensor:
    """Rows continued by what follows them in C order, and zeros behind the last."""
    rows = x.movedim(axis, -1)
    flat = torch.cat([rows.reshape(-1), x.new_zeros(count)])
    n = rows.shape[-1]
    longer = torch.as_strided(flat, (flat.numel() // n if n else 0, n + count), (n, 1))
    longer = longer[: rows.reshape(-1, n).shape[0]]
    return longer.reshape(*rows.shape[:-1], n + count).movedim(-1, axis)


def _products(call: Call) -> Iterator[Alternative]:
    left, right = (
        ("mat1", "mat2")
        if call.name == "addmm"
        else ("batch1", "batch2")
        if call.name == "baddbmm"
        else (
            "self",
            next((name for name in ("mat2", "tensor", "vec", "other") if call.tensor(name) is not None), ""),
        )
    )
    a, b = call.tensor(left), call.tensor(right)
    if a is None or b is None or a.ndim == 0 or a.shape[-1] < 2:
        return
    k, axis = a.shape[-1], max(0, b.ndim - 2)
    lost = {k % width: f"the last K % {width}" for width in reversed(WIDTHS) if 0 < k % width < k}
    lost = {1: "the last", **lost}
    for count, which in lost.items():
        yield _tail(
            f"the product leaves out {which} of {k} terms",
            partial(
                lambda count: call.again(**{left: a.narrow(-1, 0, k - count), right: b.narrow(axis, 0, k - count)}),
                count,
            ),
        )
    for width in WIDTHS[3:]:
        if width < k:
            yield _tail(
                f"the product takes only the first {width} of {k} terms",
                partial(
                    lambda width: call.again(**{left: a.narrow(-1, 0, width), right: b.narrow(axis, 0, width)}), width
                ),
                weight=0.6,
            )


def _tail(phrase: str, result: Callable[[], Any], *, weight: float = 0.8) -> Alternative:
    name = re.sub(r" of \d+ (elements|terms)", "", phrase)  # the same in cases of other sizes
    return Alternative(name=name, cause=Cause.TAIL_MASK, statement=phrase, result=result, weight=weight)
