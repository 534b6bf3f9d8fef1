"""Shapes, strides, offsets and storages: of arguments after every step of a run, and of marks of two runs.

Decides what counts as another layout. Deliberately no verdict: a layout of one's own is no defect, but it is where one
that is ignored first shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import torch

from opsdebug_ci.model.checkpoint import listening
from opsdebug_ci.model.memory import LayoutChange
from opsdebug_ci.trace.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """How a tensor lies in memory."""

    shape: tuple[int, ...]
    """Sizes."""

    stride: tuple[int, ...]
    """Elements from one entry to the next on each axis, 0 where an axis has one entry."""

    offset: int
    """Elements before its first one."""

    storage: int
    """Identity of its storage; means something as long as that lives."""

    elements: int
    """Elements its storage has room for."""


def geometry(tensor: torch.Tensor) -> Geometry:
    """How `tensor` lies in memory."""
    storage = tensor.untyped_storage()
    axes = zip(tensor.shape, tensor.stride(), strict=True)
    return Geometry(
        shape=tuple(tensor.shape),
        stride=tuple(stride if size > 1 else 0 for size, stride in axes),
        offset=int(tensor.storage_offset()),
        storage=storage._cdata,
        elements=storage.nbytes() // tensor.element_size(),
    )


def unlike(
    name: str, before: Geometry, after: Geometry, *, step: str | None, place: str | None = None
) -> Iterator[LayoutChange]:
    """What differs. Storages are told apart by identity where a step is named, by size between two runs."""
    if step is None:
        storages = (f"{before.elements:,} elements", f"{after.elements:,} elements")
    else:
        storages = ("its own", "its own" if before.storage == after.storage else "another")
    pairs = {
        "shape": (str(list(before.shape)), str(list(after.shape))),
        "stride": (str(before.stride), str(after.stride)),
        "offset": (str(before.offset), str(after.offset)),
        "storage": storages,
    }
    for field, (was, now) in pairs.items():
        if was != now:
            yield LayoutChange(tensor=name, field=field, before=was, after=now, step=step, place=place)


@final
class LayoutWatch:
    """Looks after every step whether an argument of the operator still lies in memory as it did."""

    def __init__(self) -> None:
        self.changes: list[LayoutChange] = []
        self._known: dict[str, tuple[torch.Tensor, Geometry]] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the checkpoints of this block."""
        with listening(lambda name, _: self._look(name)):
            yield

    def given(self, arguments: Mapping[str, Any]) -> None:
        """The arguments to look after."""
        plain = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
        self._known = {n: (v, geometry(v)) for n, v in plain.items() if v.layout is torch.strided and not v.is_meta}

    def before(self, name: str, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Nothing: the step before left them as they are."""

    def after(self, name: str, node: Node, remembered: None, made: list[Any]) -> None:
        """Look after a call that may have changed one."""
        del remembered, made
        if node.written or node.custom:
            self._look(name)

    def launching(self, tensors: list[torch.Tensor]) -> None:
        """Nothing, as before a call."""

    def launched(self, name: str, remembered: None, tensors: list[torch.Tensor]) -> None:
        """Look after a launch."""
        del remembered, tensors
        self._look(name)

    def returned(self, outputs: Mapping[str, torch.Tensor]) -> None:
        """Look once more: `x.data = y` is no step."""
        del outputs
        self._look("the last step")
        self._known = {}

    def _look(self, step: str) -> None:
        for name, (tensor, before) in self._known.items():
            now = geometry(tensor)
            if now != before:
                self.changes += unlike(name, before, now, step=step)
                self._known[name] = (tensor, now)
