"""Terms and factors of a formula that are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call

UNARY = frozenset(
    {"sqrt", "rsqrt", "exp", "log", "tanh", "sigmoid", "reciprocal", "pow", "abs", "erf", "log1p", "square"}
)
"""Functions that may be forgotten."""


def terms(call: Call) -> Iterator[Alternative]:
    """One of two terms or factors alone; a function not applied; a clamp not applied."""
    result = call.result
    if not isinstance(result, torch.Tensor) or not result.is_floating_point():
        return
    if call.name in ("add", "sub", "mul", "div"):
        for name, other in (("self", "second"), ("other", "first")):
            kept = call.values[name]
            if isinstance(kept, torch.Tensor) and (name == "self" or call.name in ("add", "mul")):
                what = "term" if call.name in ("add", "sub") else "factor"
                yield _left_out(
                    f"the {other} {what} of `{call.name}` is left out",
                    partial(lambda kept: kept.to(result.dtype).expand(result.shape).clone(), kept),
                )
    x = call.tensor("self")
    if x is not None and call.name in UNARY and x.shape == result.shape:
        yield _left_out(f"`{call.name}` is left out", lambda: x.to(result.dtype).clone())
    if x is not None and call.name.startswith("clamp") and x.shape == result.shape:
        yield _left_out(f"`{call.name}` is left out", lambda: x.to(result.dtype).clone())


def _left_out(phrase: str, result: Callable[[], Any]) -> Alternative:
    return Alternative(
        name=phrase,
        cause=Cause.WRONG_DEFAULT,
        statement=phrase,
        result=result,
        weight=0.3,
    )
