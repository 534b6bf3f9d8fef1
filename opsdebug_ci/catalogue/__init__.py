"""The built-in operators: torch, Triton and C kernels, each with every reference, its cost and its contract.

`OPERATORS` holds those that can run here; `UNAVAILABLE` says of each other one why it cannot.
"""

from __future__ import annotations

from opsdebug_ci import Operator
from opsdebug_ci.catalogue import (
    activations,
    attention,
    elementwise,
    indexing,
    normalisation,
    products,
    reductions,
    softmaxes,
    spatial,
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
)

OPERATORS: list[Operator] = [item for module in _MODULES for item in module.OPERATORS]
"""Every built-in operator that can run on this machine."""
