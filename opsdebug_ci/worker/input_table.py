"""What the arguments of a launch are, down to the last bit: plain values, views, and the storages under them.

Decides the identity of inputs. The unit is the storage, so views of one storage stay views of one, and bytes between
elements count. Bytes are hashed where they lie, once, and never converted, so that the payload of a NaN counts too.
Deliberately stops at objects it cannot spell: those are named by their type, and only the case can make them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from opsdebug_ci.bundle.extents import ITEM_BYTES, item_bytes
from opsdebug_ci.model.bundle import InputTable, InputValue, StorageEntry, TensorEntry, ValueKind
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.placement import ALIGNMENT

SCALAR = "[()]"
"""Behind the dtype of a numpy scalar, which is no array."""

LONGEST_TEXT = 4096
"""Characters of a plain value that is kept; longer ones are opaque."""

TOO_LONG = "9" * (LONGEST_TEXT + 1)
"""Stands for whole numbers that Python itself may refuse to spell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldInputs:
    """Arguments and the storages under them; alive, so it never leaves the worker."""

    table: InputTable
    """What they are."""

    storages: tuple[torch.Tensor, ...]
    """Bytes of every storage on the host: uint8, one axis, in the table's order."""


def table_of(arguments: Arguments) -> InputTable:
    """What `arguments` are; equal digests mean equal bits. Writes nothing."""
    return held_inputs(arguments).table


def held_inputs(arguments: Arguments) -> HeldInputs:
    """The table of `arguments`, with the bytes of their storages."""
    collector = _Collector()
    values = tuple(collector.value(value) for value in arguments.values)
    hosts = tuple(storage.detach().cpu() for storage in collector.storages)
    entries = tuple(map(_entry, collector.storages, hosts))
    table = InputTable(
        names=arguments.names,
        by_keyword=arguments.by_keyword,
        values=values,
        tensors=tuple(collector.tensors),
        storages=entries,
    )
    return HeldInputs(table=table, storages=hosts)


class _Collector:
    """Tensors and storages in the order in which they are met."""

    def __init__(self) -> None:
        self.tensors: list[TensorEntry] = []
        self.storages: list[torch.Tensor] = []  # the bytes of each; kept, so that no identity is used again
        self._positions: dict[int, int] = {}

    def value(self, value: Any) -> InputValue:
        """One argument, or one item of it."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value)
        if type(value) in (list, tuple):
            kind = ValueKind.LIST if type(value) is list else ValueKind.TUPLE
            return InputValue(kind=kind, items=tuple(self.value(item) for item in value))
        if type(value) is dict:
            keys = tuple(_plain(key) for key in value)
            return InputValue(kind=ValueKind.DICT, items=tuple(self.value(item) for item in value.values()), keys=keys)
        return _plain(value)

    def _tensor(self, tensor: torch.Tensor) -> InputValue:
        name = str(tensor.dtype).removeprefix("torch.")
        if tensor.layout is not torch.strided or tensor.is_meta or tensor.is_nested or name not in ITEM_BYTES:
            text = f"{type(tensor).__name__} {tensor.layout} {name} {tuple(tensor.shape)}"
            return InputValue(kind=ValueKind.OPAQUE, text=text)
        plain = tensor.detach().resolve_conj().resolve_neg()
        entry = TensorEntry(
            storage=self._storage(plain.untyped_storage()),
            dtype=name,
            shape=tuple(plain.shape),
            stride=tuple(plain.stride()),
            offset=int(plain.storage_offset()),
            requires_grad=tensor.requires_grad,
        )
        return self._keep(ValueKind.TENSOR, entry, "")

    def _array(self, value: np.ndarray[Any, Any] | np.generic) -> InputValue:
        """Arrays are kept each for itself, densely, in their own order of axes."""
        size = item_bytes(value.dtype.str)
        if size is None or value.dtype.hasobject or type(value) not in (np.ndarray, value.dtype.type):
            return InputValue(kind=ValueKind.OPAQUE, text=f"{type(value).__name__} {value.dtype}")
        dense = np.array(value, order="K", copy=True)
        outermost_first = sorted(range(dense.ndim), key=lambda axis: -dense.strides[axis])
        flat = dense.transpose(outermost_first).reshape(-1).view(np.uint8)
        entry = TensorEntry(
            storage=self._storage(torch.from_numpy(flat).untyped_storage()),
            dtype=dense.dtype.str,
            shape=dense.shape,
            stride=tuple(step // size for step in dense.strides),
            offset=0,
        )
        return self._keep(ValueKind.ARRAY, entry, dense.dtype.str + (SCALAR if isinstance(value, np.generic) else ""))

    def _keep(self, kind: ValueKind, entry: TensorEntry, text: str) -> InputValue:
        self.tensors.append(entry)
        return InputValue(kind=kind, text=text, tensor=len(self.tensors) - 1)

    def _storage(self, storage: torch.UntypedStorage) -> int:
        key = int(storage._cdata)
        if key not in self._positions:
            self._positions[key] = len(self.storages)
            self.storages.append(torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage))
        return self._positions[key]


def _entry(storage: torch.Tensor, host: torch.Tensor) -> StorageEntry:
    return StorageEntry(
        sha256=hashlib.sha256(memory_of(host)).hexdigest(),
        size_bytes=host.numel(),
        device=str(storage.device),
        alignment=storage.data_ptr() % ALIGNMENT,
    )


def memory_of(host: torch.Tensor) -> memoryview:
    """The bytes of a uint8 tensor on the host, where they lie."""
    return host.numpy().data.cast("B")


def _plain(value: object) -> InputValue:
    """A value without tensors."""
    spelled = _spelled(value)
    if spelled is None:
        return InputValue(kind=ValueKind.OPAQUE, text=f"{type(value).__module__}.{type(value).__qualname__}"[:200])
    return InputValue(kind=spelled[0], text=spelled[1])


def _spelled(value: object) -> tuple[ValueKind, str] | None:
    spelling = _SPELLINGS.get(type(value))
    if spelling is None:
        return None
    kind, spell = spelling
    text = spell(value)
    return (kind, text) if len(text) <= LONGEST_TEXT and not _has_surrogates(text) else None


def _has_surrogates(text: str) -> bool:
    """Halves of characters, which no strict reader of JSON takes."""
    return any("\ud800" <= character <= "\udfff" for character in text)


_SPELLINGS: dict[type, tuple[ValueKind, Callable[[Any], str]]] = {
    type(None): (ValueKind.NONE, lambda _: ""),
    bool: (ValueKind.BOOL, lambda value: str(value).lower()),
    int: (ValueKind.INT, lambda value: str(value) if value.bit_length() <= 3 * LONGEST_TEXT else TOO_LONG),
    float: (ValueKind.FLOAT, float.hex),
    complex: (ValueKind.COMPLEX, lambda value: f"{value.real.hex()} {value.imag.hex()}"),
    str: (ValueKind.STR, str),
    torch.dtype: (ValueKind.DTYPE, lambda value: str(value).removeprefix("torch.")),
}
"""How plain values are spelled. Types are compared exactly: a subclass may behave in another way."""


def opaque_or_withheld(values: Sequence[InputValue]) -> bool:
    """Whether some value, however deep, is not spelled out."""
    return any(
        value.kind in (ValueKind.OPAQUE, ValueKind.WITHHELD) or opaque_or_withheld((*value.items, *value.keys))
        for value in values
    )
