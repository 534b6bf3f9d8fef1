"""Rounding to integers, integer division, remainders and casts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.formats import float_format
from opsdebug_ci.numerics.variants.call import Alternative, Call

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
    yield from _divisions(call, x)
    if call.name == "_to_copy":
        yield from _casts(call, x)


def _divisions(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    other: Any = call.values.get("other")
    mode = call.values.get("rounding_mode")
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
            also=(Cause.WRONG_ROUNDING,),
            weight=0.9,
        )


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
