"""Operands of products and of elementwise calls: exchanged, transposed, or spread along the wrong axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative

BINARY = frozenset({"add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "remainder", "fmod", "where"})
"""Elementwise calls of two operands."""

ORDERED = frozenset({"sub", "div", "pow", "atan2", "rsub"})
"""Those in which the order matters."""

CONFUSED = {
    "mul": (("add", Cause.WRONG_DEFAULT), ("div", Cause.WRONG_SCALE)),
    "div": (("mul", Cause.WRONG_SCALE), ("sub", Cause.WRONG_DEFAULT)),
    "add": (("mul", Cause.WRONG_DEFAULT),),
    "maximum": (("minimum", Cause.SIGN_FLIP),),
    "minimum": (("maximum", Cause.SIGN_FLIP),),
}
"""Operation to those it is taken for."""

_FACTORS = {"mm": ("self", "mat2"), "bmm": ("self", "mat2"), "matmul": ("self", "other"), "dot": ("self", "tensor")}
_FACTORS |= {"addmm": ("mat1", "mat2"), "baddbmm": ("batch1", "batch2"), "mv": ("self", "vec")}


def operands(call: Call) -> Iterator[Alternative]:
    """Factors transposed or exchanged; operands exchanged, or spread along another axis, or their first entry alone."""
    if call.name in _FACTORS:
        yield from _factors(call)
    if call.name == "convolution" and call.values["groups"] > 1:
        yield from _regrouped(call)
    if call.name in BINARY:
        yield from _elementwise(call)


def _factors(call: Call) -> Iterator[Alternative]:
    left, right = _FACTORS[call.name]
    a, b = call.tensor(left), call.tensor(right)
    if a is None or b is None:
        return
    for name, value in ((left, a), (right, b)):
        if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
            yield alternative(
                f"the {'first' if name == left else 'second'} factor of `{call.name}` is transposed",
                Cause.LAYOUT_PERMUTATION,
                partial(lambda name, value: call.again(**{name: value.transpose(-1, -2)}), name, value),
            )
    if a.shape == b.shape and a.ndim >= 2:
        yield alternative(
            f"the factors of `{call.name}` are exchanged",
            Cause.LAYOUT_PERMUTATION,
            lambda: call.again(**{left: b, right: a}),
        )
    bias = call.tensor("self") if call.name in ("addmm", "baddbmm") else None
    if bias is not None:
        product = torch.matmul(a, b)
        yield from _spreads("bias", bias, call.result.shape, lambda other: product + other)
        yield alternative("the bias of the product is left out", Cause.WRONG_DEFAULT, lambda: product, weight=0.6)


def _regrouped(call: Call) -> Iterator[Alternative]:
    """Channels of the output, or of the input, dealt to the groups in turn instead of in blocks."""
    x, weight, bias, groups = (call.values[name] for name in ("input", "weight", "bias", "groups"))
    for what, count in (("output", weight.shape[0]), ("input", x.shape[1])):
        if call.values["transposed"] or count == groups:
            continue
        dealt = torch.arange(count, device=x.device).reshape(-1, groups).t().reshape(-1)

        def result(what: str = what, dealt: torch.Tensor = dealt) -> Any:
            if what == "input":
                return call.again(input=x.index_select(1, dealt))
            own = None if bias is None else bias[dealt]
            return call.again(weight=weight[dealt], bias=own).index_select(1, dealt.argsort())

        phrase = f"channel c of the {what} is in group c % G, not c // (C / G)"
        yield alternative(phrase, Cause.WRONG_AXIS, result, weight=0.85)


def _elementwise(call: Call) -> Iterator[Alternative]:
    one, other = call.values.get("self"), call.values.get("other", call.values.get("exponent"))
    yield from _operations(call, one, other)
    names = ("self", "other" if "other" in call.values else "exponent")
    if call.name in ORDERED and isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        yield alternative(
            f"the operands of `{call.name}` are exchanged",
            Cause.SIGN_FLIP if call.name in ("sub", "rsub") else Cause.WRONG_SCALE,
            lambda: call.again(**{names[0]: other.expand(call.result.shape), names[1]: one}),
        )
    for name, value in zip(names, (one, other), strict=True):
        if isinstance(value, torch.Tensor) and isinstance(call.result, torch.Tensor) and value.ndim:
            yield from _spreads(
                f"{'first' if name == names[0] else 'second'} operand of `{call.name}`",
                value,
                call.result.shape,
                partial(lambda name, changed: call.again(**{name: changed}), name),
            )


def _operations(call: Call, one: Any, other: Any) -> Iterator[Alternative]:
    """Another operation on the same operands."""
    if call.name in CONFUSED and isinstance(one, torch.Tensor) and one.is_floating_point():
        for name, cause in CONFUSED[call.name]:
            phrase = f"`{name}` stands where `{call.name}` should"
            yield alternative(phrase, cause, partial(getattr(torch, name), one, other), weight=0.4)


def _spreads(
    what: str, value: torch.Tensor, shape: torch.Size, use: Callable[[torch.Tensor], Any]
) -> Iterator[Alternative]:
    """`value` as it is, but its first entry along one axis for all; or aligned with another axis of `shape`."""
    for axis, size in enumerate(value.shape):
        if size > 1:
            yield alternative(
                f"the first entry of the {what} along its axis {axis} stands for all",
                Cause.BROADCASTING,
                partial(lambda axis: use(value.narrow(axis, 0, 1).expand(value.shape)), axis),
            )
    plain = value.squeeze()
    if plain.ndim == 1 and len(shape) > 1:
        for axis, size in enumerate(shape):
            aligned = [-1 if position == axis else 1 for position in range(len(shape))]
            if size == plain.numel() and torch.Size(_full(aligned, size)) != _aligned(value.shape, len(shape)):
                yield alternative(
                    f"the {what} is laid along axis {axis}",
                    Cause.BROADCASTING,
                    partial(lambda aligned: use(plain.reshape(aligned)), aligned),
                )
            elif size != plain.numel() and size > 1:
                places = torch.arange(size, device=value.device) % plain.numel()
                yield alternative(
                    f"the {what} is laid along axis {axis}, again and again where that is longer",
                    Cause.BROADCASTING,
                    partial(lambda aligned, places: use(plain[places].reshape(aligned)), aligned, places),
                )
    elif value.ndim >= 2 and value.shape[-1] == value.shape[-2] and value.shape[-1] > 1:
        yield alternative(
            f"the {what} is transposed",
            Cause.LAYOUT_PERMUTATION,
            lambda: use(value.transpose(-1, -2)),
        )


def _full(aligned: list[int], size: int) -> list[int]:
    return [size if entry == -1 else entry for entry in aligned]


def _aligned(shape: torch.Size, ndim: int) -> torch.Size:
    return torch.Size([1] * (ndim - len(shape)) + list(shape))
