"""What a step makes of NaN, infinities, subnormals and the sign of zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call
from opsdebug_ci.numerics.variants.reductions import REDUCTIONS, SCANS

SELECTING = frozenset({"maximum", "minimum", "clamp", "clamp_min", "clamp_max", "relu", "sort", "topk", "max_pool2d"})
"""Calls that choose among their operands, where NaN compares false."""

ENDS = {"max": -math.inf, "amax": -math.inf, "argmax": -math.inf, "cummax": -math.inf, "topk": -math.inf}
ENDS |= {"min": math.inf, "amin": math.inf, "argmin": math.inf, "cummin": math.inf, "sort": math.inf}
"""What a NaN that never wins amounts to."""


def specials(call: Call) -> Iterator[Alternative]:
    """NaN left out or let win, infinities made finite, subnormals flushed."""
    x = call.tensor("self")
    if x is None or not x.is_floating_point() or x.numel() == 0:
        return
    if call.name in REDUCTIONS | SCANS | SELECTING and bool(torch.isnan(x).any()):
        for text, value in _nan_values(call.name):
            yield _special(
                f"`{call.name}` takes NaN for {text}",
                partial(
                    lambda value: call.again(self=torch.nan_to_num(x, nan=value, posinf=math.inf, neginf=-math.inf)),
                    value,
                ),
            )
        if call.name == "mean":
            yield _special("the mean is taken over the elements that are not NaN", lambda: _valid_mean(call, x))
    if call.name in ("maximum", "minimum", "clamp", "clamp_min", "clamp_max"):
        yield from _choosing(call, x)
    if call.name in REDUCTIONS | SCANS | SELECTING and bool(torch.isinf(x).any()):
        largest = torch.finfo(torch.float32).max
        yield _special(
            f"`{call.name}` takes infinities for finite numbers",
            lambda: call.again(self=x.clamp(-largest, largest)),
        )


def _nan_values(name: str) -> list[tuple[str, float]]:
    values = [("0", 0.0)]
    if name in ENDS:
        values.insert(0, ("the end that never wins", ENDS[name]))
        values.append(("the end that always wins", -ENDS[name]))
    return values


def _valid_mean(call: Call, x: torch.Tensor) -> Any:
    valid = call.again(self=(~torch.isnan(x)).to(x.dtype))
    return call.again(self=torch.nan_to_num(x, nan=0.0)) / valid


def _choosing(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    """fmax and fmin drop NaN (IEEE 754-2019, 9.6: maximumNumber); maximum and minimum hand it on."""
    if call.name in ("maximum", "minimum"):
        other = call.tensor("other")
        if other is None:
            return
        chooser = torch.fmax if call.name == "maximum" else torch.fmin
        yield _special(f"`{call.name}` drops NaN", lambda: chooser(x, other))
        yield _special("where one operand is NaN, the second is taken", lambda: _compared(call.name, x, other))
        yield _special("where one operand is NaN, the first is taken", lambda: _compared(call.name, other, x))
        return
    if bool(torch.isnan(x).any()):
        low = call.values.get("min")
        yield _special(
            "the clamp turns NaN into its limit",
            lambda: call.again(self=torch.nan_to_num(x, nan=float(-math.inf if low is None else low))),
        )


def _compared(name: str, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    wins = one > other if name == "maximum" else one < other
    return torch.where(wins, one, other)


def _special(phrase: str, result: Callable[[], Any]) -> Alternative:
    return Alternative(
        name=phrase,
        cause=Cause.NAN_INF_HANDLING,
        statement=phrase,
        result=result,
        weight=0.85,
    )
