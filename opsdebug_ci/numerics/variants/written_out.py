"""Calls that hide numbers of a formula, written out with those numbers open.

Decides which numbers a single call stands for. Deliberately fits none: a probe does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from opsdebug_ci.numerics.variants.activations import TANH_GELU
from opsdebug_ci.numerics.variants.call import Call

Form = Callable[..., Any]
"""The call's result from its numbers, by name."""


def written_out(call: Call) -> tuple[dict[str, float], Form] | None:
    """The numbers a call hides and the formula they stand in; None where it hides none."""
    x = call.tensor("self")
    if x is None or not x.is_floating_point():
        return None
    if call.name == "gelu":
        return _gelu(x, call.values.get("approximate") == "tanh")
    if call.name in ("sigmoid", "tanh", "erf", "exp", "silu"):
        return {"slope": 1.0}, partial(_sloped, call.name, x)
    if call.name in ("_softmax", "_log_softmax", "_safe_softmax"):
        return {"scale of the scores": 1.0}, lambda **n: call.again(self=n["scale of the scores"] * x)
    return None


def _gelu(x: torch.Tensor, by_tanh: bool) -> tuple[dict[str, float], Form]:
    if not by_tanh:
        return {"scale": 1 / math.sqrt(2)}, lambda **n: 0.5 * x * (1 + torch.erf(n["scale"] * x))
    numbers = {"cubic coefficient": TANH_GELU, "scale": math.sqrt(2 / math.pi)}
    return numbers, lambda **n: 0.5 * x * (1 + torch.tanh(n["scale"] * (x + n["cubic coefficient"] * x**3)))


def _sloped(name: str, x: torch.Tensor, **numbers: float) -> torch.Tensor:
    inner = numbers["slope"] * x
    result: torch.Tensor = x * torch.sigmoid(inner) if name == "silu" else getattr(torch, name)(inner)
    return result
