"""Checkpoints and ATen calls of one run, in order, with copies of their values.

Decides what is a step: every checkpoint, and every ATen call that computes a real tensor. Calls that only move, view or
allocate compute nothing. Deliberately compares nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.model.checkpoint import listening
from opsdebug_ci.model.dtype import DTYPE_NAMES
from opsdebug_ci.trace.layouts import Geometry, geometry
from opsdebug_ci.trace.place import place_here

NOT_STEPS = frozenset(
    {"alias", "as_strided", "clone", "contiguous", "copy_", "detach", "empty", "empty_like", "empty_strided"}
    | {"expand", "fill_", "full", "full_like", "lift_fresh", "lift_fresh_copy", "narrow", "new_empty"}
    | {"new_empty_strided", "new_full", "new_ones", "new_zeros", "ones", "ones_like", "permute", "reshape"}
    | {"select", "slice", "split", "squeeze", "t", "to", "transpose", "unbind", "unsqueeze", "view", "zero_"}
    | {"zeros", "zeros_like", "_local_scalar_dense", "_reshape_alias", "_to_copy", "_unsafe_view"}
)
"""ATen calls that move, view, cast or allocate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One step with its value. Holds a live tensor, so it never leaves the worker."""

    name: str
    """Checkpoint or ATen call; `name #2` the second time."""

    values: torch.Tensor
    """A copy."""

    geometry: Geometry | None = None
    """How the tensor itself lay in memory; None: not asked."""

    place: str | None = None
    """`file:line` in the user's code; None: not known."""


class Recorder:
    """Collects what a run shows: checkpoints while `listening`, ATen calls as an observer of a dispatch mode."""

    def __init__(self, *, calls: bool, limit: int | None = None) -> None:
        """Collect ATen calls too if `calls`; at most `limit` of each."""
        self.checkpoints: list[Mark] = []
        self.calls: list[Mark] = []
        self.refused: list[str] = []
        """Names of checkpoints whose value is no real tensor."""
        self._wanted = calls
        self._limit = limit
        self._copying = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the checkpoints of this block."""
        with listening(self._hear):
            yield

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """See one ATen call; changes nothing."""
        del args, kwargs
        name = step_name(func, result) if self._wanted and not self._copying else None
        if name is not None:
            self._keep(self.calls, name, result)
        return result

    def _hear(self, name: str, value: object) -> None:
        if _is_real(value):
            self._keep(self.checkpoints, name, value)
        else:
            self.refused.append(name)

    def _keep(self, marks: list[Mark], name: str, values: Any) -> None:
        if self._copying or (self._limit is not None and len(marks) >= self._limit):
            return
        self._copying = True  # the copy is itself an ATen call
        try:
            copied = values.detach().clone()
            marks.append(Mark(name=name, values=copied, geometry=geometry(values), place=place_here()))
        finally:
            self._copying = False


def step_name(func: Any, result: object) -> str | None:
    """Name of the step that an ATen call is; None: it is none."""
    name = str(func.overloadpacket.__name__)
    return name.removesuffix("_") if name not in NOT_STEPS and _is_real(result) else None


def numbered(marks: list[Mark]) -> dict[str, Mark]:
    """Marks by name; the second of a name is `name #2`, so that the rounds of a loop pair one by one."""
    seen: Counter[str] = Counter()
    found: dict[str, Mark] = {}
    for mark in marks:
        seen[mark.name] += 1
        found[mark.name if seen[mark.name] == 1 else f"{mark.name} #{seen[mark.name]}"] = mark
    return found


def common_start(one: list[Mark], other: list[Mark]) -> int:
    """How many steps two runs begin with alike: same names and shapes."""
    for count, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine.name != theirs.name or mine.values.shape != theirs.values.shape:
            return count
    return min(len(one), len(other))


def _is_real(value: object) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and str(value.dtype).removeprefix("torch.") in DTYPE_NAMES
        and value.layout is torch.strided
        and not value.is_meta
    )
