"""Copying arguments to a device with their storage: strides, offsets, gaps and shared storage survive.

Decides nothing about values. A plain `.to(device)` would pack a strided view and so test another layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from opsdebug_ci.errors import InputsError


def to_device(values: Mapping[str, Any], device: str | torch.device) -> dict[str, Any]:
    """Copies of `values` on `device`: tensors also inside lists, tuples and dicts, everything else as it is.

    The whole storage is copied, so gap elements arrive too, and tensors that share one share its copy. Always a copy,
    also on the device the tensor is on: whoever wrote to the result has not touched the original. Sparse and other
    tensors without strides go through the framework's own copy.

    Raises:
        InputsError: a tensor has no memory to copy (device `meta`).
    """
    copies: dict[int, torch.UntypedStorage] = {}
    to = torch.device(device)
    return {
        name: tree_map_only(torch.Tensor, lambda tensor: _moved_tensor(tensor, to, copies), value)
        for name, value in values.items()
    }


def _moved_tensor(tensor: torch.Tensor, device: torch.device, copies: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    if tensor.is_meta:
        raise InputsError(
            f"an argument of shape {tuple(tensor.shape)} is a tensor without memory (device meta); wanted values",
            next_step="make it on the CPU; it is moved to the case's device",
        )
    plain = tensor.detach().resolve_conj().resolve_neg()
    if plain.layout is not torch.strided or plain.is_quantized or plain.is_nested:
        return plain.to(device, copy=True).requires_grad_(tensor.requires_grad)
    storage = plain.untyped_storage()
    if storage.data_ptr() not in copies or not storage.nbytes():
        source = torch.empty(0, dtype=torch.uint8, device=plain.device).set_(storage)
        copies[storage.data_ptr()] = source.to(device, copy=True).untyped_storage()
    moved = torch.empty(0, dtype=plain.dtype, device=device)
    moved.set_(copies[storage.data_ptr()], plain.storage_offset(), plain.shape, plain.stride())
    return moved.requires_grad_(tensor.requires_grad)
