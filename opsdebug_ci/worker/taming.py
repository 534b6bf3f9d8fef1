"""Taming inputs: values that a processor may be slow on, replaced by an everyday one.

Decides which these are: NaN, infinities, zeros and subnormal numbers. Whether they were what made an operator slow is
for those who compare the times.
"""

from __future__ import annotations

from typing import Any

import torch

from opsdebug_ci.guard.nesting import has_bytes, map_leaves
from opsdebug_ci.operators import Arguments

EVERYDAY = 1.0
"""What they become: normal in every format."""

FORMATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
"""Formats the framework can compare numbers in."""


def tame(arguments: Arguments) -> int:
    """Replace such values of all floating tensors where they lie; how many elements there were.

    Args:
        arguments: private to the caller. Views see it if the memory behind them changes.
    """
    tamed = 0

    def visit(value: Any) -> Any:
        nonlocal tamed
        if isinstance(value, torch.Tensor) and has_bytes(value) and value.dtype in FORMATS:
            tamed += _tame(value)
        return value

    for value in arguments.values:
        map_leaves(value, visit)
    return tamed


def _tame(tensor: torch.Tensor) -> int:
    wild = int(_wild(tensor).sum())
    if wild:
        # The whole storage: an expanded tensor cannot be written in place.
        size = tensor.untyped_storage().nbytes() // tensor.element_size()
        flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(tensor.untyped_storage(), 0, (size,), (1,))
        flat.masked_fill_(_wild(flat), EVERYDAY)
    return wild


def _wild(values: torch.Tensor) -> torch.Tensor:
    return ~(values.abs() >= torch.finfo(values.dtype).tiny) | torch.isinf(values)
