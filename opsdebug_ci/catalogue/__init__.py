"""The built-in operators: torch, Triton and C kernels, each with every reference, its cost and its contract.

`OPERATORS` holds those that can run here; `UNAVAILABLE` says of each other one why it cannot.
"""

from __future__ import annotations

from opsdebug_ci import Operator
from opsdebug_ci.catalogue import (
    activations,
    attention,
    compiled,
    elementwise,
    indexing,
    normalisation,
    products,
    reductions,
    softmaxes,
    spatial,
    triton_operators,
)

_MODULES = (
    elementwise,
    activations,
    softmaxes,
    normalisation,
    reductions,
    products,
    attention,
    spatial,
    indexing,
    triton_operators,
    compiled,
)

OPERATORS: list[Operator] = [item for module in _MODULES for item in module.OPERATORS]
"""Every built-in operator that can run on this machine."""

UNAVAILABLE: dict[str, str] = {**triton_operators.UNAVAILABLE, **compiled.UNAVAILABLE}
"""Name of each built-in operator that cannot run here -> the reason, in a sentence."""
