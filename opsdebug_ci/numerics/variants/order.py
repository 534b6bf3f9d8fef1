"""Two steps in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative
from opsdebug_ci.numerics.variants.reductions import REDUCTIONS, SCANS
from opsdebug_ci.numerics.variants.terms import UNARY

STEPS = REDUCTIONS | SCANS | UNARY | frozenset("add sub mul div neg relu round floor ceil trunc".split())  # noqa: SIM905 - a word list
STEPS |= frozenset({"clamp", "clamp_min", "clamp_max", "expm1", "log2", "exp2", "gelu", "silu", "softplus", "sign"})
"""Calls of one main operand."""


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
