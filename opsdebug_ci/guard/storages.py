"""Arguments as storages: copied whole before a launch, compared byte for byte after it.

Decides what counts as an undeclared write: any byte of any argument's storage that changed and is not an element of an
argument the contract lets the operator write. The unit is the storage, so views of one storage stay views of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opsdebug_ci.model.observation import MemoryReading


def clone_values(values: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of all tensors with their sizes, strides, offsets and mutual aliasing; other values as they are."""
    copies: dict[int, torch.UntypedStorage] = {}

    def clone(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        storage = value.untyped_storage()
        key = storage._cdata
        if key not in copies:
            copies[key] = storage.clone()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        copy = torch.empty(0, dtype=value.dtype, device=value.device)
        return copy.set_(copies[key], value.storage_offset(), value.shape, value.stride())

    return tuple(clone(value) for value in values)


class Snapshot:
    """The bytes of every argument's storage at one moment."""

    def __init__(self, names: Sequence[str], values: Sequence[Any], written: frozenset[str]) -> None:
        self._tensors = [(name, v) for name, v in zip(names, values, strict=True) if isinstance(v, torch.Tensor)]
        self._written = written
        self._before = {name: _bytes(tensor).clone() for name, tensor in self._tensors}

    def changes(self) -> tuple[MemoryReading, ...]:
        """Undeclared writes since the snapshot, one per argument and side; a shared storage is reported once."""
        readings: list[MemoryReading] = []
        seen: set[int] = set()
        for name, tensor in self._tensors:
            if (key := tensor.untyped_storage()._cdata) in seen:
                continue
            seen.add(key)
            changed = _bytes(tensor) != self._before[name]
            if bool(changed.any()):
                readings += self._readings(name, tensor, changed)
        return tuple(readings)

    def _readings(self, name: str, tensor: torch.Tensor, changed: torch.Tensor) -> list[MemoryReading]:
        sharing = [t for n, t in self._tensors if n in self._written and _same_storage(t, tensor)]
        for written in sharing:
            changed &= ~_mask(written)
        own = _mask(tensor)
        readings = [(True, changed & own), (False, changed & ~own)]
        start = int(tensor.storage_offset()) * tensor.element_size()
        return [
            MemoryReading(
                argument=name,
                inside=inside,
                bytes_changed=int(part.sum()),
                first_offset=int(part.nonzero()[0]) - start,
            )
            for inside, part in readings
            if bool(part.any())
        ]


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    view = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return view.set_(tensor.untyped_storage())


def _mask(tensor: torch.Tensor) -> torch.Tensor:
    """True for every byte of the storage that an element of this view occupies."""
    storage = tensor.untyped_storage()
    size = tensor.element_size()
    elements = torch.zeros(storage.nbytes() // size, dtype=torch.bool, device=tensor.device)
    if tensor.numel():
        positions = torch.full((1,) * tensor.ndim, int(tensor.storage_offset()), device=tensor.device)
        for axis, (length, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            shape = [-1 if position == axis else 1 for position in range(tensor.ndim)]
            positions = positions + (torch.arange(length, device=tensor.device) * stride).reshape(shape)
        elements[positions.flatten()] = True
    mask = torch.zeros(storage.nbytes(), dtype=torch.bool, device=tensor.device)
    mask[: elements.numel() * size] = elements.repeat_interleave(size)
    return mask


def _same_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)
