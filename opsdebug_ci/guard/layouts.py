"""Sizes, strides, offsets, storages and dtypes of tensor objects before and after a launch; items of lists and dicts.

Decides what is compared. An argument the contract lets the operator write may come back with other sizes: resizing
`out` is the framework's own convention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opsdebug_ci.guard.nesting import containers, has_bytes, map_leaves
from opsdebug_ci.model.memory import LayoutChange

SHOWN_KEYS = 8
"""Keys shown of a list or dict."""


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
        self._items_before = [
            (place, container, _items(container))
            for name, value in zip(names, values, strict=True)
            if name not in written
            for place, container in containers(name, value)
        ]

    def changes(self) -> tuple[LayoutChange, ...]:
        """One per tensor and field, and per list or dict, that is another now."""
        return (*self._turned(), *self._exchanged())

    def _exchanged(self) -> Iterator[LayoutChange]:
        for place, container, before in self._items_before:
            now = _items(container)
            if list(now) != list(before):
                yield LayoutChange(tensor=place, field="content", before=_keys(before), after=_keys(now))
                continue
            for key, item in before.items():
                if not _same(item, now[key]):
                    was, is_now = (type(each).__name__ for each in (item, now[key]))
                    yield LayoutChange(
                        tensor=f"{place}[{key!r}]", field="object", before=f"one `{was}`", after=f"another `{is_now}`"
                    )

    def _turned(self) -> tuple[LayoutChange, ...]:
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


def _same(item: Any, other: Any) -> bool:
    """One object; of plain numbers and text, an equal one of one type."""
    plain = type(item) is type(other) and isinstance(item, (bool, int, float, complex, str, bytes))
    return item is other or (plain and bool(item == other))


def _items(container: list[Any] | dict[Any, Any]) -> dict[Any, Any]:
    return dict(container) if isinstance(container, dict) else dict(enumerate(container))


def _keys(items: dict[Any, Any]) -> str:
    """`3 items: 0, 1, 2`."""
    shown = ", ".join(repr(key) for key in list(items)[:SHOWN_KEYS])
    more = ", ..." if len(items) > SHOWN_KEYS else ""
    return f"{len(items)} items: {shown}{more}" if items else "empty"


def _tensors(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []

    def keep(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and has_bytes(leaf):
            found.append(leaf)
        return leaf

    map_leaves(value, keep)
    return found
