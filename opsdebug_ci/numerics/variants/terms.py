"""Terms and factors of a formula that are left out, and two steps in the wrong order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
STEPS |= {"masked_fill"}
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
    return alternative(phrase, Cause.WRONG_DEFAULT, result, weight=0.5)


MOST_STEPS = 4
"""Steps of a chain past which one is moved."""


def order(call: Call) -> Iterator[Alternative]:
    """This step made before some that come before it, or one of those after it: scaled after a clamp, rounded before a
    scale, a mean of logarithms."""
    if not isinstance(call.result, torch.Tensor):
        return
    chain, shape = [call, *_before(call)], call.result.shape
    for count in range(1, len(chain)):
        first, between = chain[count], chain[count - 1 : 0 : -1]
        if between or first.name != call.name:
            phrase = f"`{call.name}` is made before `{first.name}`, not after it"
            yield _moved(phrase, [call, first, *between], first, shape)
        if between:
            phrase = f"`{first.name}` is made after `{call.name}`, not before `{between[0].name}`"
            yield _moved(phrase, [*between, call, first], first, shape)


def _before(call: Call) -> Iterator[Call]:
    """The steps its main operand went through, the last one first."""
    for _ in range(MOST_STEPS):
        value = call.tensor("self") if call.name in STEPS else None
        before = None if value is None else call.maker(value)
        inner = None if before is None or before.name not in STEPS else before.tensor("self")
        if before is None or inner is None or not inner.is_floating_point():
            return
        yield before
        call = before


def _moved(phrase: str, steps: Sequence[Call], first: Call, shape: torch.Size) -> Alternative:
    """The steps in this order, on what the `first` of the chain was made of."""

    def exchanged() -> torch.Tensor:
        value = first.values["self"]
        for step in steps:
            value = step.again(self=value)
        if not isinstance(value, torch.Tensor) or value.shape != shape:
            raise ValueError("the steps cannot be exchanged")
        return value

    return alternative(phrase, Cause.WRONG_DEFAULT, exchanged, weight=0.6)
