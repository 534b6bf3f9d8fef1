"""Freshly allocated memory filled with a known byte, so that an element nobody wrote shows.

Decides the two fills. An output that follows the fill was never written, or was computed from memory never written.
`soil_heap` reaches the memory of an allocator that hands out again what it got back last, as numpy's and the caching
ones of devices do, so that no result of a reference lies there to be found. What torch's dispatcher allocates is
filled elsewhere (`allocations`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from opsdebug_ci.guard.nesting import has_bytes

FILL_A = 0xFF
"""NaN in every float format with a NaN, -1 in signed integers."""

FILL_B = 0x55
"""A large ordinary number in every float format: also seen by operators that ignore NaN."""

SOILED_BLOCKS = 4
"""Blocks of every size that are soiled: an operator may need some of that size before its output."""

SOILED_BYTES = 1 << 20
"""Largest block soiled: larger ones come fresh from the system, which hands them out zeroed."""


def byte_for(dtype: torch.dtype, byte: int) -> int:
    """The byte that memory of `dtype` is filled with: for bool, which has but two, the highest bit of `byte`.

    FILL_A and FILL_B differ in that bit and not in the lowest.
    """
    return byte >> 7 if dtype is torch.bool else byte


def soil_heap(sizes_bytes: Iterable[int], byte: int, device: torch.device) -> None:
    """Leave freed blocks of these sizes, filled with `byte`, where the next allocation of such a size finds them.

    Args:
        sizes_bytes: sizes of the outputs to come; those above SOILED_BYTES are left out.
        byte: the fill.
        device: whose allocator; on the CPU, numpy's alone: the framework's aligned blocks come in no such order.
    """
    for size in sizes_bytes:
        if 0 < size <= SOILED_BYTES:
            blocks: list[object]
            if device.type == "cpu":
                blocks = [np.full(size, byte, dtype=np.uint8) for _ in range(SOILED_BLOCKS)]
            else:
                blocks = [torch.full((size,), byte, dtype=torch.uint8, device=device) for _ in range(SOILED_BLOCKS)]
            del blocks


def fill_bytes(tensor: torch.Tensor, byte: int) -> None:
    """Set every element of `tensor` to the value whose bytes are all `byte` (bool: `byte_for`).

    Works for any dtype and for any layout with strides; elements outside the view are left alone. Others are too.
    """
    if not has_bytes(tensor):
        return
    once = tensor.detach()
    for axis, stride in enumerate(once.stride()):
        if stride == 0 and once.shape[axis] > 1:
            once = once.narrow(axis, 0, 1)  # an expanded axis is one element; torch refuses to write it n times
    if once.dtype is torch.bool:
        once.fill_(bool(byte_for(once.dtype, byte)))
        return
    pattern = torch.full((once.element_size(),), byte, dtype=torch.uint8).view(once.dtype).to(once.device)
    once.copy_(pattern.expand(once.shape) if once.ndim else pattern[0])
