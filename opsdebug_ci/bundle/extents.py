"""Which bytes of its storage a view reaches, from its numbers alone.

Decides what a number format weighs and whether a view stays inside its storage, before anybody makes a tensor of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from opsdebug_ci.model.bundle import StorageEntry, TensorEntry

ITEM_BYTES: dict[str, int] = {
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), 1),
    **dict.fromkeys(("uint16", "int16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("uint32", "int32", "float32", "complex32"), 4),
    **dict.fromkeys(("uint64", "int64", "float64", "complex64"), 8),
    "complex128": 16,
}
"""Bytes of one element, by the framework's spelling."""

_ARRAY_DTYPE = re.compile(r"[<>|][biufcSUmM](?P<bytes>[1-9]\d{0,5})(?P<unit>\[\w{1,9}\])?")
"""numpy's `dtype.str` of plain elements; of text, `bytes` counts characters of four bytes."""


def item_bytes(dtype: str) -> int | None:
    """Bytes of one element of a tensor's or an array's dtype; None: no such dtype can be kept."""
    known = ITEM_BYTES.get(dtype)
    if known is not None:
        return known
    match = _ARRAY_DTYPE.fullmatch(dtype)
    return None if match is None else int(match["bytes"]) * (4 if dtype[1] == "U" else 1)


def span(shape: Sequence[int], stride: Sequence[int]) -> int:
    """Elements from the first to the last one of a view, both included; 0 when it has none."""
    if not math.prod(shape):
        return 0
    return 1 + sum(step * (size - 1) for size, step in zip(shape, stride, strict=True))


def misfit(entry: TensorEntry, storages: Sequence[StorageEntry]) -> str | None:
    """Why a view cannot be one of these storages; None when it can."""
    size = item_bytes(entry.dtype)
    if size is None:
        return f"`dtype` is {entry.dtype[:40]!r}; wanted one of {', '.join(ITEM_BYTES)} or a plain array's"
    if len(entry.shape) != len(entry.stride):
        return f"`shape` has {len(entry.shape)} sizes and `stride` {len(entry.stride)}; wanted equally many"
    if min((entry.storage, entry.offset, *entry.shape, *entry.stride)) < 0:
        return "a size, stride, offset or storage is negative; wanted whole numbers from 0"
    if entry.storage >= len(storages):
        return f"`storage` is {entry.storage}; wanted one of the {len(storages)} storages"
    room = storages[entry.storage].size_bytes
    reached = (entry.offset + span(entry.shape, entry.stride)) * size
    return f"it reaches byte {reached} of a storage of {room}; wanted a view inside it" if reached > room else None
