"""Arguments as storages: copied whole before a launch, compared byte for byte after it.

Decides what counts as an undeclared write: any byte of any argument's storage that changed and is not an element of an
argument the contract lets the operator write. The unit is the storage, so views of one storage stay views of one.
Does not look inside storages that an argument does not reach, and sees nothing beyond their ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from opsdebug_ci.guard.nesting import has_bytes, map_leaves, strided_tensors
from opsdebug_ci.model.memory import MemoryReading
from opsdebug_ci.model.vocabulary import Side


def clone_values(values: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of all tensors with their sizes, strides, offsets and mutual aliasing; other values as they are.

    Tensors and arrays inside lists, tuples and dicts are copied too. Tensors without strides go through the
    framework's own copy.
    """
    copies: dict[int, torch.UntypedStorage] = {}

    def clone(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.copy(order="K")
        if not isinstance(value, torch.Tensor):
            return value
        if not has_bytes(value):
            return value.detach().clone()
        storage = value.untyped_storage()
        key = storage._cdata
        if key not in copies:
            copies[key] = storage.clone()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        copy = torch.empty(0, dtype=value.dtype, device=value.device)
        return copy.set_(copies[key], value.storage_offset(), value.shape, value.stride())

    return tuple(map_leaves(value, clone) for value in values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Watched:
    """One tensor argument as it was, whatever the operator makes of the tensor object."""

    name: str
    """Its place among the arguments."""

    written: bool
    """The contract lets the operator write its elements."""

    storage: torch.UntypedStorage
    """The storage it had."""

    view: torch.Tensor
    """Its elements there."""

    @property
    def key(self) -> int:
        return int(self.storage._cdata)

    @property
    def start(self) -> int:
        """Byte of its first element."""
        return int(self.view.storage_offset()) * self.view.element_size()


class Snapshot:
    """The bytes of every argument's storage at one moment."""

    def __init__(self, names: Sequence[str], values: Sequence[Any], written: frozenset[str]) -> None:
        self._watched = [
            _watch(place, tensor, name in written)
            for name, value in zip(names, values, strict=True)
            for place, tensor in strided_tensors(name, value)
        ]
        self._before = {watched.key: _bytes(watched.storage).clone() for watched in self._watched}

    def changes(self) -> tuple[MemoryReading, ...]:
        """Undeclared writes since the snapshot, one per argument and side.

        A byte of a storage that several arguments share is reported for one of them: for the first it is an element
        of, else for the first that is written, else for the first.
        """
        readings: list[MemoryReading] = []
        for key, before in self._before.items():
            sharing = [watched for watched in self._watched if watched.key == key]
            changed = _changed(before, _bytes(sharing[0].storage))
            if bool(changed.any()):
                readings += _readings(sharing, changed)
        return tuple(readings)


def _watch(name: str, tensor: torch.Tensor, written: bool) -> _Watched:
    plain = tensor.detach()
    storage = plain.untyped_storage()
    view = torch.empty(0, dtype=plain.dtype, device=plain.device)
    view.set_(storage, plain.storage_offset(), plain.shape, plain.stride())
    return _Watched(name=name, written=written, storage=storage, view=view)


def _changed(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """True for every byte of `before` that is another or gone."""
    changed = torch.ones(before.numel(), dtype=torch.bool, device=before.device)
    kept = min(before.numel(), after.numel())
    changed[:kept] = before[:kept] != after[:kept]
    return changed


def _readings(sharing: list[_Watched], changed: torch.Tensor) -> list[MemoryReading]:
    for watched in sharing:
        if watched.written:
            changed &= ~_mask(watched, changed.numel())
    readings = []
    for watched in sharing:
        inside = changed & _mask(watched, changed.numel())
        changed &= ~inside
        readings += _reading(watched, inside, inside=True)
    owner = next((watched for watched in sharing if watched.written), sharing[0])
    return readings + _reading(owner, changed, inside=False)


def _reading(watched: _Watched, changed: torch.Tensor, *, inside: bool) -> list[MemoryReading]:
    count = int(changed.sum())
    if not count:
        return []
    first = int(changed.to(torch.uint8).argmax()) - watched.start
    return [
        MemoryReading(
            argument=watched.name, side=Side.INSIDE if inside else Side.GAP, bytes_changed=count, first_offset=first
        )
    ]


def _bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _mask(watched: _Watched, size_bytes: int) -> torch.Tensor:
    """True for every byte of the storage that an element of the view occupies: offset + sum of index * stride."""
    view, size = watched.view, watched.view.element_size()
    elements = torch.zeros(size_bytes // size, dtype=torch.bool, device=view.device)
    if view.numel():
        positions = torch.full((1,) * view.ndim, int(view.storage_offset()), device=view.device)
        for axis, (length, stride) in enumerate(zip(view.shape, view.stride(), strict=True)):
            shape = [-1 if position == axis else 1 for position in range(view.ndim)]
            positions = positions + (torch.arange(length, device=view.device) * stride).reshape(shape)
        elements[positions.flatten()] = True
    mask = torch.zeros(size_bytes, dtype=torch.bool, device=view.device)
    mask[: elements.numel() * size] = elements.repeat_interleave(size)
    return mask
