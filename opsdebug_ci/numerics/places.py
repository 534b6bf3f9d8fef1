"""Where elements of a block meet a condition.

Decides with which library masks are made and searched: on a processor numpy, whose comparisons are several times as
fast as torch's and whose search skips what is False; elsewhere torch. Deliberately knows nothing of what is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch


def array_of(values: torch.Tensor) -> Any:
    """The values to compare: numpy's view of a tensor on a processor, else the tensor, which has the same operators.

    Args:
        values: any dtype numpy knows, any shape, without gradient.
    """
    return values.numpy() if values.device.type == "cpu" else values


def places_of(mask: Any) -> torch.Tensor:
    """Where a flat mask, made of what `array_of` returned, is True: ascending, int64."""
    if isinstance(mask, torch.Tensor):
        return mask.nonzero().flatten()
    return torch.from_numpy(np.flatnonzero(mask))


def count_of(mask: Any) -> int:
    """How many elements of such a mask are True."""
    return int(torch.count_nonzero(mask)) if isinstance(mask, torch.Tensor) else int(np.count_nonzero(mask))


def indices_of(positions: torch.Tensor, shape: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """The index, axis by axis, of each flat C-order position, int64: torch.unravel_index loads five hundred modules."""
    index: list[torch.Tensor] = []
    for size in reversed(shape):
        index.insert(0, positions % size)
        positions = torch.div(positions, size, rounding_mode="floor")
    return tuple(index)
