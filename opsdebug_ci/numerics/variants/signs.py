"""A step with the other sign, or with a sign it should have dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call

SIGNED = frozenset(
    {"sin", "sub", "mul", "div", "neg", "mm", "bmm", "add", "sum", "exp", "log", "tanh", "mean", "addmm"}
)
"""Calls whose result a formula may carry with the wrong sign."""


def signs(call: Call) -> Iterator[Alternative]:
    """The negative of a result; `abs` or `neg` left out; a sum for a difference."""
    result = call.result
    if not isinstance(result, torch.Tensor) or result.dtype is torch.bool:
        return
    if call.name in SIGNED:
        yield _sign(f"the result of `{call.name}` has the other sign", lambda: -result, weight=0.5)
    if call.name == "abs":
        yield _sign("the absolute value is not taken", call.values["self"].clone, weight=0.8)
    if call.name == "neg":
        yield _sign("what the reference negates is not negated", call.values["self"].clone, weight=0.8)
    if call.name in ("add", "sub") and isinstance(call.values.get("other"), torch.Tensor):
        alpha = call.values.get("alpha", 1)
        word = "subtracted, not added" if call.name == "add" else "added, not subtracted"
        yield _sign(f"the second term is {word}", lambda: call.again(alpha=-alpha), weight=0.8)
    if call.name == "sqrt":
        yield _sign("the root has the sign of its argument", lambda: torch.sign(call.values["self"]) * result)


def _sign(phrase: str, result: Callable[[], Any], weight: float = 0.5) -> Alternative:
    return Alternative(name=phrase, cause=Cause.SIGN_FLIP, statement=phrase, result=result, weight=weight)
