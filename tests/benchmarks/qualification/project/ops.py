"""The functions of `kernels`, declared."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from kernels import FUNCTIONS, KERNELS, arguments_of

from opsdebug_ci import Operator


def inputs(name: str, seed: int, dims: Mapping[str, int], dtype: object) -> tuple[torch.Tensor, ...]:
    """The arguments every other rule times as well; they have no dims to vary."""
    return arguments_of(name, seed)


OPERATORS = [
    Operator(name, kernel, partial(inputs, name), {"torch": FUNCTIONS[name]}) for name, kernel in KERNELS.items()
]
"""Each is its own reference: nothing here is about values."""
