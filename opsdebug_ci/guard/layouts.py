"""Sizes, strides, offsets, storages and dtypes of tensor objects before and after a launch.

Decides what is compared. An argument the contract lets the operator write may come back with other sizes: resizing
`out` is the framework's own convention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opsdebug_ci.guard.nesting import has_bytes, map_leaves
from opsdebug_ci.model.memory import LayoutChange


class Layouts:
    """How tensors lie at one moment."""

    def __init__(self, names: Sequence[str], values: Sequence[Any], written: frozenset[str]) -> None:
        """Remember every tensor inside `values` that the contract does not let the operator write."""
        self._before = [
            (name, tensor, layout_of(tensor))
            for name, value in zip(names, values, strict=True)
            if name not in written
            for tensor in _tensors(value)
        ]

    def changes(self) -> tuple[LayoutChange, ...]:
        """One per tensor and field that is another now."""
        return tuple(
            LayoutChange(tensor=name, field=field, before=was, after=is_now)
            for name, tensor, before in self._before
            for (field, was), is_now in zip(before.items(), layout_of(tensor).values(), strict=True)
            if was != is_now
        )


def layout_of(tensor: torch.Tensor) -> dict[str, str]:
    """`shape`, `stride`, `offset`, `dtype` and `storage`, in words."""
    storage = tensor.untyped_storage()
    return {
        "shape": str(tuple(tensor.shape)),
        "stride": str(tensor.stride()),
        "offset": str(tensor.storage_offset()),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "storage": f"{storage.nbytes()} bytes at {storage.data_ptr():#x}",
    }


def _tensors(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []

    def keep(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and has_bytes(leaf):
            found.append(leaf)
        return leaf

    map_leaves(value, keep)
    return found
