"""Copies of all arguments of a launch, every storage between zones of its own.

Decides what lies where: the elements as they were made, in zones and gaps what the launch asks for. Views of one
storage stay views of one, at the sizes, strides, offsets and alignment they had. Tensors without strides, empty
storages and arrays that do not lie side by side are copied without zones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from opsdebug_ci.guard.arena import ALIGNMENT, Arena, can_guard, in_units, zone_bytes
from opsdebug_ci.guard.layouts import Layouts
from opsdebug_ci.guard.location import Key, Where
from opsdebug_ci.guard.nesting import has_bytes, is_plain_memory, map_leaves
from opsdebug_ci.guard.patterns import Fill, Palette, paint, palette_of
from opsdebug_ci.guard.storages import Snapshot, clone_values
from opsdebug_ci.guard.territory import Place, Territory, territories
from opsdebug_ci.model.memory import LayoutChange, MemoryReading
from opsdebug_ci.model.vocabulary import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneFills:
    """What surrounds the arguments of one launch."""

    guards: Fill = Fill.PATTERN
    """Heads and tails."""

    gaps: Fill = Fill.ORIGINAL
    """Bytes inside a storage that are no element; those of a storage that may be written never stay as they were."""

    single: tuple[str, Side, Fill] | None = None
    """One argument's one side that holds something else."""

    def of(self, name: str, side: Side) -> Fill:
        """What holds on one side of an argument's storage."""
        if self.single is not None and self.single[:2] == (name, side):
            return self.single[2]
        return self.gaps if side is Side.GAP else self.guards


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Plot:
    """One storage of the pristine arguments, and what its copies need."""

    territory: Territory
    """The storage."""

    palette: Palette
    """How fills are spelled around it."""

    zone: int
    """Bytes of either zone."""

    gap: torch.Tensor | None
    """bool[size / unit], on the storage's device: bytes in no element; None: there are none."""

    declared: torch.Tensor | None
    """bool[size / unit]: bytes that may be written, where some may and not all."""

    unit: int
    """Bytes each entry is about: an element, where all places agree on what that is."""


class Grounds:
    """The arguments of a case, to be laid out anew for every launch."""

    def __init__(self, names: Sequence[str], values: Sequence[Any], written: frozenset[str]) -> None:
        """Args: names and pristine values in call order, and which of them the contract lets the operator write."""
        self._names = names
        self._values = values
        self._written = written
        self._room: dict[int, torch.Tensor] = {}
        self._plots = [_plot(territory) for territory in territories(names, values, written) if _fits(territory)]

    @property
    def zone_bytes(self) -> int:
        """Bytes watched on either side of every storage; 0 where none can be."""
        return min((plot.zone for plot in self._plots), default=0)

    @property
    def sides(self) -> tuple[tuple[str, Side], ...]:
        """Every zone and gap: whose, and where."""
        return tuple(
            (plot.territory.owner.name, side)
            for plot in self._plots
            for side in (Side.TAIL, Side.HEAD, *([] if plot.gap is None else [Side.GAP]))
        )

    @property
    def has_gaps(self) -> bool:
        """Some storage has bytes in no element."""
        return any(plot.gap is not None for plot in self._plots)

    @property
    def places(self) -> tuple[Place, ...]:
        """Every tensor among the arguments, pristine."""
        return tuple(place for plot in self._plots for place in plot.territory.places)

    def plain(self) -> Laid:
        """Copies without zones, which can be resized."""
        return Laid(
            names=self._names, values=clone_values(self._values), written=self._written, arenas={}, room=self._room
        )

    def laid(self, fills: ZoneFills) -> Laid:
        """Copies between zones."""
        arenas = {plot.territory.storage.data_ptr(): _settled(plot, fills, key) for key, plot in enumerate(self._plots)}

        def place(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and has_bytes(value):
                arena = arenas.get(value.untyped_storage().data_ptr())
                if arena is not None:
                    return arena.view(value.dtype, value.shape, value.stride(), int(value.storage_offset()))
            if type(value) is np.ndarray and is_plain_memory(value):
                arena = arenas.get(value.__array_interface__["data"][0])
                if arena is not None:
                    memory = arena.payload.numpy()
                    return np.ndarray(value.shape, value.dtype, memory, 0, value.strides)
            return clone_values((value,))[0]

        values = tuple(map_leaves(value, place) for value in self._values)
        held = {arena.storage.data_ptr(): arena for arena in arenas.values()}
        return Laid(names=self._names, values=values, written=self._written, arenas=held, room=self._room)


class Laid:
    """One launch's copies of the arguments."""

    def __init__(
        self,
        *,
        names: Sequence[str],
        values: tuple[Any, ...],
        written: frozenset[str],
        arenas: Mapping[int, Arena],
        room: dict[int, torch.Tensor],
    ) -> None:
        self.values = values
        """In call order."""
        self._layouts = Layouts(names, values, written)
        self._snapshot: Snapshot | None = None
        self._named = (names, written)
        self._arenas = arenas
        self._room = room

    def remember(self) -> None:
        """Take what is there now as what has to be there after the launch."""
        names, written = self._named
        self._snapshot = Snapshot(names, self.values, written, self._arenas, self._room)

    def changes(
        self, known: Sequence[Place] = (), located: Mapping[Key, Where] | None = None
    ) -> tuple[MemoryReading, ...]:
        """Undeclared writes since `remember`; `known` and `located` as in `Snapshot.changes`."""
        return () if self._snapshot is None else self._snapshot.changes(known, located)

    def damaged(self) -> set[Key]:
        """Where undeclared bytes have changed since `remember`."""
        return set() if self._snapshot is None else self._snapshot.damaged()

    def layout_changes(self) -> tuple[LayoutChange, ...]:
        """Undeclared changes of sizes, strides, offsets, storages and dtypes."""
        return self._layouts.changes()


def _fits(territory: Territory) -> bool:
    return territory.storage.nbytes() > 0 and can_guard(territory.storage.device)


def _plot(territory: Territory) -> _Plot:
    views = [place.view for place in territory.places]
    size = territory.storage.nbytes()
    written = any(place.written for place in territory.places)
    palette = palette_of(views[0], written=written)
    zone = zone_bytes(views)
    whole = any(view.is_contiguous() and view.numel() * view.element_size() == size for view in views)
    gap = None if whole else ~territory.owned(size)
    unit = _unit(territory, size)
    partly = written and not territory.all_written
    return _Plot(
        territory=territory,
        palette=palette,
        zone=zone,
        gap=gap[::unit].clone() if gap is not None and bool(gap.any()) else None,
        declared=territory.owned(size, written_only=True)[::unit].clone() if partly else None,
        unit=unit,
    )


def _unit(territory: Territory, size: int) -> int:
    sizes = {place.view.element_size() for place in territory.places}
    unit = sizes.pop()
    fits = not sizes and unit in (2, 4, 8) and size % unit == 0 and territory.storage.data_ptr() % unit == 0
    return unit if fits else 1


def _settled(plot: _Plot, fills: ZoneFills, key: int) -> Arena:
    storage = plot.territory.storage
    owner = plot.territory.owner
    arena = Arena(storage.nbytes(), plot.zone, storage.device, storage.data_ptr() % ALIGNMENT)
    head, tail, gap = (fills.of(owner.name, side) for side in (Side.HEAD, Side.TAIL, Side.GAP))
    arena.paint_zones(plot.palette, head, tail, key)
    arena.storage.copy_(storage)
    arena.declared, arena.unit = plot.declared, plot.unit
    if owner.written and gap is Fill.ORIGINAL:
        gap = fills.guards
    if plot.gap is not None and gap is not Fill.ORIGINAL:
        painted = torch.empty_like(arena.payload)
        paint(painted, plot.palette, gap, key)
        payload = in_units(arena.payload, plot.unit)
        torch.where(plot.gap, in_units(painted, plot.unit), payload, out=payload)
    return arena
