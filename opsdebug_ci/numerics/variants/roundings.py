"""Rounding to integers, integer division, remainders and casts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.formats import float_format
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative

Unary = Callable[[torch.Tensor], torch.Tensor]


def _half_away(x: torch.Tensor) -> torch.Tensor:
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


def _half_up(x: torch.Tensor) -> torch.Tensor:
    return torch.floor(x + 0.5)


MODES: dict[str, Unary] = {
    "to nearest, ties to even": torch.round,
    "to nearest, ties away from zero": _half_away,
    "to nearest, ties up": _half_up,
    "toward zero": torch.trunc,
    "down": torch.floor,
    "up": torch.ceil,
}
"""Ways to round to an integer."""

_OWN = {"round": "to nearest, ties to even", "trunc": "toward zero", "floor": "down", "ceil": "up"}


def roundings(call: Call) -> Iterator[Alternative]:
    """Another rounding mode; C for Python semantics of division and remainder; a cast that truncates or wraps."""
    x = call.tensor("self")
    if x is None:
        return
    if call.name in _OWN:
        for text, function in MODES.items():
            if text != _OWN[call.name]:
                yield _rounding(
                    f"values are rounded {text}, not {_OWN[call.name]}",
                    partial(lambda function: function(x), function),
                )
    if call.name in ("floor", "ceil"):
        nearest, form = ("below", "ceil(x) - 1") if call.name == "floor" else ("above", "floor(x) + 1")
        yield _rounding(
            f"whole numbers are taken for their neighbour {nearest}: `{form}` stands for `{call.name}(x)`",
            lambda: x.ceil() - 1 if call.name == "floor" else x.floor() + 1,
        )
    yield from _divisions(call, x)
    yield from _edges(call, x)
    if call.name == "_to_copy":
        yield from _casts(call, x)


def _edges(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    """What lies exactly on a boundary falls on its other side."""
    if call.name in ("searchsorted", "bucketize"):
        right = bool(call.values.get("right")) or call.values.get("side") == "right"
        sides = ("left", "right") if right else ("right", "left")
        yield _edge(
            f"values that equal a boundary are counted to its {sides[0]}, not to its {sides[1]} (`right={not right}`)",
            lambda: call.again(right=not right, **({"side": sides[0]} if call.values.get("side") else {})),
        )
    if call.name in ("threshold", "threshold_backward", "hardshrink", "softshrink"):
        limit = call.values.get("threshold", call.values.get("lambd"))
        at = x.abs() == limit if "shrink" in call.name else x == limit
        source = call.tensor("grad_output") if call.name == "threshold_backward" else x
        if call.name != "softshrink" and source is not None:
            yield _edge(
                f"`{call.name}` lets values through that equal its limit {limit:g}: `>=` for `>`",
                lambda: torch.where(at, source, call.result),
            )
    if call.name in ("sign", "sgn"):
        for value in (1, -1):
            yield _edge(f"the sign of 0 is taken for {value}", partial(torch.where, x == 0, value, call.result))


def _edge(phrase: str, result: Callable[[], Any]) -> Alternative:
    return alternative(phrase, Cause.MASK_SEMANTICS, result, weight=0.9)


def _divisions(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    other: Any = call.values.get("other")
    mode = call.values.get("rounding_mode")
    if call.name in ("div", "floor_divide") and x.is_floating_point():
        yield _rounding(
            "x / y is computed as x * (1 / y) in single precision, which misses whole quotients and ties",
            lambda: _finished(x.float() * (1.0 / torch.as_tensor(other).float()), mode or call.name),
        )
    if call.name == "floor_divide" or (call.name == "div" and mode == "floor"):
        yield _rounding(
            "integers are divided toward zero, not down", lambda: torch.div(x, other, rounding_mode="trunc")
        )
    if call.name == "div" and mode == "trunc":
        yield _rounding(
            "integers are divided down, not toward zero", lambda: torch.div(x, other, rounding_mode="floor")
        )
    siblings = {"remainder": ("dividend", torch.fmod), "fmod": ("divisor", torch.remainder)}
    if call.name in siblings:
        owner, function = siblings[call.name]
        yield Alternative(
            name=f"the remainder has the sign of the {owner}",
            cause=Cause.SIGN_FLIP,
            statement=f"the remainder has the sign of the {owner}",
            result=lambda: function(x, other),
            weight=0.9,
        )


def _finished(quotient: torch.Tensor, mode: str) -> torch.Tensor:
    """A quotient that is cut toward zero, rounded down, or left as it is."""
    if mode == "trunc":
        return quotient.trunc().double()
    return quotient.floor().double() if mode in ("floor", "floor_divide") else quotient.double()


def _casts(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    target = call.values.get("dtype")
    if target is None or not x.is_floating_point():
        return
    if not target.is_floating_point and not target.is_complex and target is not torch.bool:
        for text, function in MODES.items():
            if text != "toward zero":
                yield _rounding(
                    f"the cast to {str(target).removeprefix('torch.')} rounds {text}",
                    partial(lambda function: function(x).to(target), function),
                )
        limits = torch.iinfo(target)
        yield Alternative(
            name="a cast that saturates",
            cause=Cause.DTYPE_PROMOTION,
            statement=f"the cast to {str(target).removeprefix('torch.')} saturates",
            result=lambda: x.clamp(limits.min, limits.max).to(target),
            weight=0.5,
        )
        yield Alternative(
            name="a cast that wraps around",
            cause=Cause.DTYPE_PROMOTION,
            statement=f"the cast to {str(target).removeprefix('torch.')} wraps around",
            result=lambda: x.to(torch.int64).to(target),
            weight=0.5,
        )
    elif float_format(target).bits < 32 and x.dtype is not target:
        yield _rounding(f"the cast to {str(target).removeprefix('torch.')} cuts bits off", lambda: _cut(x, target))


def _cut(x: torch.Tensor, target: torch.dtype) -> torch.Tensor:
    """Toward zero: the nearest value, or its neighbour nearer to zero where that lies beyond `x`."""
    near = x.to(target)
    beyond = near.double().abs() > x.double().abs()
    bits = near.view(torch.int16 if near.element_size() == 2 else torch.int8)
    return torch.where(beyond, bits - 1, bits).view(target)


def _rounding(phrase: str, result: Callable[[], Any]) -> Alternative:
    return Alternative(name=phrase, cause=Cause.WRONG_ROUNDING, statement=phrase, result=result, weight=0.9)
