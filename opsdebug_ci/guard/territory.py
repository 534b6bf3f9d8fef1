"""Which bytes of a storage belong to elements of which tensor.

The unit is the storage: all tensors that are views of one share its bytes, and what is in none of them is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.guard.nesting import strided_tensors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """One tensor as it was, whatever becomes of the tensor object."""

    name: str
    """Its place among the arguments, e.g. `xs[0]`."""

    written: bool
    """The contract lets the operator write its elements."""

    view: torch.Tensor
    """Its elements in the storage it had."""

    @property
    def start(self) -> int:
        """Byte of its first element."""
        return int(self.view.storage_offset()) * self.view.element_size()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Territory:
    """One storage and the tensors in it."""

    storage: torch.UntypedStorage
    """The storage they had."""

    places: tuple[Place, ...]
    """In the order of the arguments."""

    @property
    def owner(self) -> Place:
        """Whom bytes between elements are told of: the first that may be written, else the first."""
        return next((place for place in self.places if place.written), self.places[0])

    @property
    def all_written(self) -> bool:
        """Every byte of it is an element of one place that may be written."""
        return any(place.written and _fills(place.view, self.storage.nbytes()) for place in self.places)

    def owned(self, size_bytes: int, *, written_only: bool = False) -> torch.Tensor:
        """bool[size_bytes]: an element of some place, or of one that may be written, lies in the byte."""
        mask = torch.zeros(size_bytes, dtype=torch.bool, device=self.storage.device)
        for place in self.places:
            if place.written or not written_only:
                mark_elements(mask, place.view)
        return mask


def territories(names: Sequence[str], values: Sequence[Any], written: frozenset[str]) -> tuple[Territory, ...]:
    """The storages of all tensors and arrays inside `values`, each once, in order."""
    found: dict[int, tuple[torch.UntypedStorage, list[Place]]] = {}
    for name, tensor, may_write in _tensors(names, values, written):
        place = Place(name=name, written=may_write, view=_bare(tensor))
        storage = place.view.untyped_storage()
        found.setdefault(storage._cdata, (storage, []))[1].append(place)
    return tuple(Territory(storage=storage, places=tuple(places)) for storage, places in found.values())


def mark_elements(mask: torch.Tensor, view: torch.Tensor) -> None:
    """Set every byte of bool[bytes of the storage] in which an element of `view` lies: offset + sum of index * stride.

    A mask shorter than the view's reach is one of a storage that shrank: what it no longer has is not marked.
    """
    size = view.element_size()
    if view.numel() == 0:
        return
    shape, stride = zip(*_once(view), strict=True) if view.ndim else ((), ())
    first = int(view.storage_offset())
    reach = first + 1 + sum((length - 1) * step for length, step in zip(shape, stride, strict=True))
    elements = mask if size == 1 else torch.zeros(reach, dtype=torch.bool, device=mask.device)
    if size == 1 and mask.numel() < reach:
        elements = torch.zeros(reach, dtype=torch.bool, device=mask.device)
    elements.as_strided(shape, stride, first).fill_(True)
    if elements is not mask:
        kept = min(mask.numel(), reach * size)
        mask[:kept] |= elements.repeat_interleave(size)[:kept]


def _fills(view: torch.Tensor, size_bytes: int) -> bool:
    """Whether the elements lie side by side, in any order, from the first byte of the storage to its last."""
    if view.numel() * view.element_size() != size_bytes or not view.numel():
        return False
    expected = 1
    for stride, length in sorted(zip(view.stride(), view.shape, strict=True)):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def _once(view: torch.Tensor) -> list[tuple[int, int]]:
    """Lengths and strides, with every expanded axis taken once: torch refuses to write one element several times."""
    return [(1 if stride == 0 else length, stride) for length, stride in zip(view.shape, view.stride(), strict=True)]


def _tensors(
    names: Sequence[str], values: Sequence[Any], written: frozenset[str]
) -> Iterator[tuple[str, torch.Tensor, bool]]:
    for name, value in zip(names, values, strict=True):
        for place, tensor in strided_tensors(name, value):
            yield place, tensor, name in written


def _bare(tensor: torch.Tensor) -> torch.Tensor:
    """The same elements as a tensor object of our own, which no operator can turn or resize."""
    plain = tensor.detach()
    view = torch.empty(0, dtype=plain.dtype, device=plain.device)
    return view.set_(plain.untyped_storage(), plain.storage_offset(), plain.shape, plain.stride())
