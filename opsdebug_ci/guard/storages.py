"""Arguments as storages: copied whole before a launch, compared byte for byte after it.

Decides what counts as an undeclared write: any byte of any argument's storage, or of the zones laid around it, that
changed and is not an element of an argument the contract lets the operator write. The unit is the storage, so views of
one storage stay views of one. Does not look inside storages that an argument does not reach, and sees nothing beyond
the zones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from opsdebug_ci.guard.arena import Arena, in_units, same_bytes
from opsdebug_ci.guard.location import Key, Where, at
from opsdebug_ci.guard.nesting import copied_generator, has_bytes, map_leaves
from opsdebug_ci.guard.readings import Window, undeclared
from opsdebug_ci.guard.territory import Place, Territory, territories
from opsdebug_ci.model.memory import MemoryReading
from opsdebug_ci.model.vocabulary import Side


def clone_values(values: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of all tensors with their sizes, strides, offsets and mutual aliasing; other values as they are.

    Tensors and arrays inside lists, tuples and dicts are copied too, and generators of random numbers. Tensors without
    strides go through the framework's own copy.
    """
    copies: dict[int, torch.UntypedStorage] = {}

    def clone(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.copy(order="K")
        if not isinstance(value, torch.Tensor):
            return copied_generator(value)
        if not has_bytes(value):
            return value.detach().clone()
        storage = value.untyped_storage()
        key = storage._cdata
        if key not in copies:
            copies[key] = storage.clone()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        copy = torch.empty(0, dtype=value.dtype, device=value.device)
        return copy.set_(copies[key], value.storage_offset(), value.shape, value.stride())

    return tuple(map_leaves(value, clone) for value in values)


class Snapshot:
    """The bytes of every argument's storage, and of the zones around it, at one moment."""

    def __init__(
        self,
        names: Sequence[str],
        values: Sequence[Any],
        written: frozenset[str],
        arenas: Mapping[int, Arena] | None = None,
        room: dict[int, torch.Tensor] | None = None,
    ) -> None:
        """Remember `values`; `arenas` by the address of the storage they hold; `room` to keep bytes in, used again."""
        self._territories = territories(names, values, written)
        self._arenas = arenas or {}
        room = {} if room is None else room
        self._before = [
            self._remembered(territory, room, position) for position, territory in enumerate(self._territories)
        ]

    def changes(
        self, known: Sequence[Place] = (), located: Mapping[Key, Where] | None = None
    ) -> tuple[MemoryReading, ...]:
        """Undeclared writes since the snapshot, one per argument and side.

        A byte of a storage that several arguments share is reported for one of them: for the first it is an element
        of, else for the first that is written, else for the first. `known` are tensors whose elements may have been
        copied where they do not belong.
        """
        readings: list[MemoryReading] = []
        for territory, remembered in zip(self._territories, self._before, strict=True):
            after = self._window(territory)
            before = self._whole(territory, remembered)
            if not self._as_declared(territory, before, after):
                arena = self._arena(territory)
                window = Window(before=before, after=after, zone=0 if arena is None else arena.zone)
                address = territory.storage.data_ptr()
                readings += [at(reading, address, located) for reading in undeclared(territory, window, known)]
        return tuple(readings)

    def damaged(self) -> set[Key]:
        """Storages in or around which undeclared bytes have changed; not told of gaps in what may be written."""
        found: set[Key] = set()
        for territory, remembered in zip(self._territories, self._before, strict=True):
            before = self._whole(territory, remembered)
            arena, address = self._arena(territory), territory.storage.data_ptr()
            zone = 0 if arena is None else arena.zone
            if any(place.written for place in territory.places) or not same_bytes(before, self._window(territory)):
                parts = {Side.HEAD: slice(zone), Side.TAIL: slice(before.numel() - zone, None)}
                if not any(place.written for place in territory.places):
                    parts[Side.INSIDE] = slice(zone, before.numel() - zone)
                after = self._window(territory)
                found |= {(address, side) for side, part in parts.items() if not same_bytes(before[part], after[part])}
        return found

    def _remembered(self, territory: Territory, room: dict[int, torch.Tensor], position: int) -> torch.Tensor:
        """A copy of the window; of the zones alone, on end, where all between them may be written."""
        window, arena = self._window(territory), self._arena(territory)
        if territory.all_written:
            zone = 0 if arena is None else arena.zone
            return torch.cat([window[:zone], window[window.numel() - zone :]])
        if position not in room or room[position].numel() != window.numel():
            room[position] = torch.empty_like(window)
        return room[position].copy_(window)

    def _whole(self, territory: Territory, remembered: torch.Tensor) -> torch.Tensor:
        """What was remembered as a window; bytes that may be written are taken as they are now."""
        if not territory.all_written:
            return remembered
        arena, window = self._arena(territory), self._window(territory)
        if arena is None:
            return window
        if same_bytes(remembered[: arena.zone], arena.head) and same_bytes(remembered[arena.zone :], arena.tail):
            return window
        return torch.cat([remembered[: arena.zone], arena.payload, remembered[arena.zone :]])

    def _as_declared(self, territory: Territory, before: torch.Tensor, after: torch.Tensor) -> bool:
        """Whether nothing changed but what may, as far as a glance tells."""
        arena = self._arena(territory)
        if before is after or ((arena is None or arena.declared is None) and same_bytes(before, after)):
            return True
        if arena is None or arena.declared is None:
            return False
        ends = (slice(arena.zone), slice(arena.zone + arena.size, None))
        was = before[arena.zone : arena.zone + arena.size]
        inside = in_units(was, arena.unit) != in_units(arena.payload, arena.unit)
        return all(same_bytes(before[end], after[end]) for end in ends) and not bool((inside > arena.declared).any())

    def _arena(self, territory: Territory) -> Arena | None:
        return self._arenas.get(territory.storage.data_ptr())

    def _window(self, territory: Territory) -> torch.Tensor:
        arena = self._arena(territory)
        if arena is not None:
            return arena.window
        return torch.empty(0, dtype=torch.uint8, device=territory.storage.device).set_(territory.storage)
