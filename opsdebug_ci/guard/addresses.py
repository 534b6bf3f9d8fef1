"""Other values at the addresses of earlier ones, as a training loop's allocator puts them there.

Decides what is made to look unchanged: the address, and either the tensor's version or the tensor object itself.
An operator that tells its inputs apart by less than their values then meets values it does not know. One that holds on
to tensors weakly, or to a tensor and its version, is told of either change and stays right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opsdebug_ci.guard.nesting import has_bytes, map_leaves
from opsdebug_ci.guard.storages import clone_values


class SameAddresses:
    """One set of storages that takes up the values of several sets of arguments of one structure.

    Tensors without strides, and everything else, are copied as for any launch.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._held = clone_values(values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The tensors that hold the storages now."""
        return self._held

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether `values` has tensors at the same places, of the same dtype, sizes, strides and storage size."""
        ours, theirs = [list(map(_form, _tensors(each))) for each in (self._held, values)]
        return bool(ours) and ours == theirs

    def renewed(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """`values` as new tensors, of the version new tensors have, at the old addresses. The old ones are let go."""
        storages = [tensor.untyped_storage() for tensor in _tensors(self._held)]
        self._held = ()
        held = iter(storages)

        def renew(value: Any) -> Any:
            if not _is_held(value):
                return clone_values((value,))[0]
            storage = next(held)
            storage.copy_(value.untyped_storage())
            fresh = torch.empty(0, dtype=value.dtype, device=value.device)
            return fresh.set_(storage, value.storage_offset(), value.shape, value.stride())

        self._held = tuple(map_leaves(value, renew) for value in values)
        return self._held

    def overwritten(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """`values` written into the old tensors, whose versions rise as after any operation in place."""
        for old, new in zip(_tensors(self._held), _tensors(values), strict=True):
            old.untyped_storage().copy_(new.untyped_storage())
            old.detach().unsqueeze(0)[:0].zero_()  # writes nothing and counts as a write
        held = iter(list(_tensors(self._held)))

        def replaced(value: Any) -> Any:
            return next(held) if _is_held(value) else clone_values((value,))[0]

        self._held = tuple(map_leaves(value, replaced) for value in values)
        return self._held


def _is_held(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and has_bytes(value)


def _tensors(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    """The strided tensors inside `values`, in the order `map_leaves` meets them."""
    found: list[torch.Tensor] = []

    def keep(value: Any) -> Any:
        if _is_held(value):
            found.append(value)
        return value

    for value in values:
        map_leaves(value, keep)
    return iter(found)


def _form(tensor: torch.Tensor) -> tuple[object, ...]:
    size_bytes = tensor.untyped_storage().nbytes()
    return tensor.dtype, tensor.device, tensor.shape, tensor.stride(), tensor.storage_offset(), size_bytes
