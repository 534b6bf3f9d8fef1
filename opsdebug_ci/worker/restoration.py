"""Inputs of an earlier run, bit for bit, or a refusal.

Decides when inputs are those that were kept: every storage by its sha256, all of them together by their digest. There
is no third way: what cannot be loaded or made again exactly is never replaced by anything like it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from opsdebug_ci.bundle.extents import misfit
from opsdebug_ci.errors import InputsError
from opsdebug_ci.model.bundle import InputTable, InputValue, StorageEntry, StoredInputs, TensorEntry, ValueKind
from opsdebug_ci.model.case import Case
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.worker.arguments import private_arguments
from opsdebug_ci.worker.input_table import SCALAR, held_inputs, opaque_or_withheld
from opsdebug_ci.worker.placement import placed

NEXT_STEP = "make a new bundle with `opsdebug run`; what made these inputs has changed"
"""What to do about inputs that are others."""


def rebuilt(operator: Operator, case: Case, stored: StoredInputs) -> Arguments:
    """The arguments that `stored` describes, at the addresses modulo 512 where they were.

    They are loaded from its directory; without one, or where a value is spelled nowhere, they are made from the case.

    Raises:
        InputsError: they are not exactly those of the table.
        Unsupported: the operator's callable says that the case is outside its domain.
    """
    table = stored.table
    _check_views(table)
    if stored.directory is not None and not opaque_or_withheld(table.values):
        return _assembled(case, table, [_loaded(Path(stored.directory), entry) for entry in table.storages])
    made = private_arguments(operator, case)
    held = held_inputs(made)
    values = tuple(map(_as_far_as_told, held.table.values, table.values))
    got = replace(held.table, values=values) if len(values) == len(table.values) else held.table
    if got.digest != table.digest:
        raise InputsError(
            f"inputs are not those of the bundle: got digest {got.digest[:16]}, wanted {table.digest[:16]}"
            f" ({_difference(got, table)})",
            next_step=NEXT_STEP,
        )
    return made if opaque_or_withheld(table.values) else _assembled(case, table, list(held.storages))


def _check_views(table: InputTable) -> None:
    for position, entry in enumerate(table.tensors):
        problem = misfit(entry, table.storages)
        if problem:
            raise InputsError(f"tensor {position} of the bundle: {problem}", next_step="the bundle is damaged")


def _loaded(directory: Path, entry: StorageEntry) -> torch.Tensor:
    """The bytes of a storage, from the file named by their sha256."""
    path = directory / entry.sha256
    try:
        data = bytearray(path.read_bytes())
    except OSError as error:
        raise InputsError(
            f"inputs are not those of the bundle: storage {entry.sha256[:16]} is missing: {error.strerror}",
            next_step="replay the bundle itself",
        ) from error
    got = hashlib.sha256(data).hexdigest()
    if got != entry.sha256 or len(data) != entry.size_bytes:
        raise InputsError(
            f"inputs are not those of the bundle: got {len(data)} bytes with sha256 {got[:16]}, wanted "
            f"{entry.size_bytes} with {entry.sha256[:16]}",
            next_step="replay the bundle itself",
        )
    return torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def _as_far_as_told(made: InputValue, told: InputValue) -> InputValue:
    """`made` with those values hidden that are withheld in `told`."""
    if told.kind is ValueKind.WITHHELD:
        return told
    if len(made.items) != len(told.items) or len(made.keys) != len(told.keys):
        return made
    return replace(
        made,
        items=tuple(map(_as_far_as_told, made.items, told.items)),
        keys=tuple(map(_as_far_as_told, made.keys, told.keys)),
    )


def _difference(got: InputTable, wanted: InputTable) -> str:
    """The first thing that differs, in words."""
    if got.names != wanted.names:
        return f"arguments {', '.join(got.names)}; wanted {', '.join(wanted.names)}"
    if got.by_keyword != wanted.by_keyword:
        ways = ("by position", "by keyword")
        return f"arguments are given {ways[got.by_keyword]}; wanted {ways[wanted.by_keyword]}"
    for name, mine, theirs in zip(got.names, got.values, wanted.values, strict=False):
        if mine != theirs:
            return f"argument `{name}` is another value"
    if len(got.tensors) == len(wanted.tensors) and got.tensors != wanted.tensors:
        return "a tensor has another dtype, shape, stride or offset"
    changed = sum(mine.sha256 != theirs.sha256 for mine, theirs in zip(got.storages, wanted.storages, strict=False))
    return f"{changed} of {len(wanted.storages)} storages hold other bytes"


def _assembled(case: Case, table: InputTable, data: list[torch.Tensor]) -> Arguments:
    """Arguments over fresh storages that hold `data`."""
    hosts = [placed(bytes_, entry.alignment) for bytes_, entry in zip(data, table.storages, strict=True)]
    storages = [
        host.untyped_storage() if entry.device == "cpu" else host.to(torch.device(case.device)).untyped_storage()
        for host, entry in zip(hosts, table.storages, strict=True)
    ]
    tensors = [_view(entry, storages[entry.storage]) for entry in table.tensors]
    values = tuple(_restored(value, tensors) for value in table.values)
    return Arguments(names=table.names, values=values, by_keyword=table.by_keyword)


def _view(entry: TensorEntry, storage: torch.UntypedStorage) -> Any:
    """The tensor, or the array, that an entry describes."""
    dtype = getattr(torch, entry.dtype, None)
    if isinstance(dtype, torch.dtype):
        view = torch.empty(0, dtype=dtype, device=storage.device)
        return view.set_(storage, entry.offset, entry.shape, entry.stride).requires_grad_(entry.requires_grad)
    try:
        array_dtype = np.dtype(entry.dtype)
    except TypeError as error:
        raise InputsError(
            f"inputs are not those of the bundle: this machine has no dtype {entry.dtype!r}: {error}",
            next_step="replay it with the torch and numpy of the bundle, which `opsdebug replay` shows",
        ) from error
    size = array_dtype.itemsize
    memory = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
    strides = tuple(step * size for step in entry.stride)
    return np.ndarray(entry.shape, array_dtype, buffer=memory.data, offset=entry.offset * size, strides=strides)


def _restored(value: InputValue, tensors: list[Any]) -> Any:
    items = [_restored(item, tensors) for item in value.items]
    if value.kind in (ValueKind.TENSOR, ValueKind.ARRAY):
        assert value.tensor is not None  # noqa: S101 - narrowing; both kinds have one
        found = tensors[value.tensor]
        return found[()] if value.text.endswith(SCALAR) else found
    if value.kind is ValueKind.DICT:
        return dict(zip((_restored(key, tensors) for key in value.keys), items, strict=True))
    if value.kind in (ValueKind.LIST, ValueKind.TUPLE):
        return items if value.kind is ValueKind.LIST else tuple(items)
    return _PLAIN[value.kind](value.text)


def _dtype(text: str) -> torch.dtype:
    found = getattr(torch, text, None)
    if not isinstance(found, torch.dtype):
        raise InputsError(
            f"inputs are not those of the bundle: this torch has no dtype {text!r}",
            next_step="replay it with the torch of the bundle, which `opsdebug replay` shows",
        )
    return found


def _complex(text: str) -> complex:
    real, imaginary = map(float.fromhex, text.split())
    return complex(real, imaginary)


_PLAIN: dict[ValueKind, Any] = {
    ValueKind.NONE: lambda _: None,
    ValueKind.BOOL: lambda text: text == "true",
    ValueKind.INT: int,
    ValueKind.FLOAT: float.fromhex,
    ValueKind.COMPLEX: _complex,
    ValueKind.STR: str,
    ValueKind.DTYPE: _dtype,
}
"""How a plain value is read from its spelling."""
