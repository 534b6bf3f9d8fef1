"""Terms and factors of a formula that are left out, and two steps in the wrong order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative
from opsdebug_ci.numerics.variants.reductions import REDUCTIONS, SCANS

UNARY = frozenset(
    {"sqrt", "rsqrt", "exp", "log", "tanh", "sigmoid", "reciprocal", "pow", "abs", "erf", "log1p", "square"}
)
"""Functions that may be forgotten."""

STEPS = REDUCTIONS | SCANS | UNARY | frozenset("add sub mul div neg relu round floor ceil trunc".split())  # noqa: SIM905 - a word list
STEPS |= frozenset({"clamp", "clamp_min", "clamp_max", "expm1", "log2", "exp2", "gelu", "silu", "softplus", "sign"})
"""Calls of one main operand."""


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
    return alternative(phrase, Cause.WRONG_DEFAULT, result, weight=0.3)


def order(call: Call) -> Iterator[Alternative]:
    """The step before this one made after it: scaled after a clamp, rounded before a scale, a mean of logarithms."""
    value = call.tensor("self")
    before = None if value is None or call.name not in STEPS else call.maker(value)
    inner = None if before is None or before.name not in STEPS or before.name == call.name else before.tensor("self")
    if before is None or inner is None or not isinstance(call.result, torch.Tensor):
        return
    if not inner.is_floating_point():
        return

    def exchanged() -> torch.Tensor:
        made: torch.Tensor = before.again(self=call.again(self=inner))
        if made.shape != call.result.shape:
            raise ValueError("the steps cannot be exchanged")
        return made

    phrase = f"`{call.name}` is made before `{before.name}`, not after it"
    yield alternative(phrase, Cause.WRONG_DEFAULT, exchanged, weight=0.6)
