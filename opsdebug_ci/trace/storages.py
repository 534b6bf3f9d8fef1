"""What is known of the memory behind the tensors of a run.

Decides whose fault unhealthy values in an argument of a step are: a step's that was seen to write them, or of memory
that no step wrote, or that changed between two steps.
"""

from __future__ import annotations

from enum import Enum
from typing import final

import torch
from torch.multiprocessing.reductions import StorageWeakRef


class Known(Enum):
    """What is known of a storage."""

    FRESH = "memory that no step wrote"
    """Allocated, and no whole result lies in it yet."""

    HEALTHY = "memory that changed between two steps"
    """A step left all of it healthy."""

    SICK = "memory with known unhealthy values"
    """Unhealthy values in it are known."""


@final
class Storages:
    """What is known of every storage that is still alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, Known]] = {}
        self._dtypes: dict[int, torch.dtype] = {}

    def of(self, tensor: torch.Tensor) -> Known | None:
        """What is known of a tensor's storage; None: nothing."""
        found = self._known.get(tensor.untyped_storage()._cdata)
        return None if found is None else found[1]

    def as_written(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor of integers as the floats its storage was last seen to hold, where they are as wide.

        Kernels may be handed the bits of a format they convert themselves.
        """
        dtype = self._dtypes.get(tensor.untyped_storage()._cdata)
        if dtype is None or tensor.is_floating_point() or dtype.itemsize != tensor.dtype.itemsize:
            return tensor
        return tensor.view(dtype)

    def note(self, tensor: torch.Tensor, known: Known) -> None:
        """Remember it."""
        storage = tensor.untyped_storage()
        self._dtypes[storage._cdata] = tensor.dtype
        # The weak reference keeps the storage's address from being given to another one, not its memory.
        self._known[storage._cdata] = (StorageWeakRef(storage), known)  # type: ignore[no-untyped-call]  # torch leaves it untyped

    def note_result(self, tensor: torch.Tensor, *, sick: bool) -> None:
        """Remember what a step left in `tensor`."""
        if sick:
            self.note(tensor, Known.SICK)
        elif tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes():
            self.note(tensor, Known.HEALTHY)
