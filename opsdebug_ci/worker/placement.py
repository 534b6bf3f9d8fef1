"""Where copies of storages lie: at addresses that are the same modulo 512 in every process.

Decides the address of what an allocator would put anywhere, so that a case has the same alignment in every run, and a
replay the one its failure had. Device allocators align to it by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from opsdebug_ci.guard.nesting import copied_generator, has_bytes, map_leaves

ALIGNMENT = 512
"""Bytes modulo which an address may matter to a kernel: what device allocators align to."""


def placed(data: torch.Tensor, alignment: int = 0) -> torch.Tensor:
    """A copy of host bytes in a storage of exactly their size whose address is `alignment` modulo `ALIGNMENT`.

    Args:
        data: uint8, one axis, on the host.
        alignment: 0 to `ALIGNMENT` - 1.
    """
    room = torch.empty(data.numel() + ALIGNMENT, dtype=torch.uint8)
    start = (alignment - room.data_ptr()) % ALIGNMENT
    window = torch.from_numpy(room.numpy()[start : start + data.numel()])
    window.copy_(data)
    return window


def settled(values: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of all tensors and arrays, as `clone_values` makes them, at addresses that are 0 modulo `ALIGNMENT`."""
    copies: dict[int, torch.UntypedStorage] = {}

    def settle(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.copy(order="K")
        if not isinstance(value, torch.Tensor):
            return copied_generator(value)
        plain = value.detach().resolve_conj().resolve_neg()
        if not has_bytes(plain):
            return plain.clone()
        storage = plain.untyped_storage()
        key = int(storage._cdata)
        if key not in copies:
            copies[key] = _copy(storage)
        copy = torch.empty(0, dtype=plain.dtype, device=plain.device)
        return copy.set_(copies[key], plain.storage_offset(), plain.shape, plain.stride())

    return tuple(map_leaves(value, settle) for value in values)


def _copy(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    data = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    return (placed(data) if storage.device.type == "cpu" else data.clone()).untyped_storage()
