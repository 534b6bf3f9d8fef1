"""Bytes that changed, put in words: which tensor, which side, how far, what was there and what is there now.

Decides to whom a byte is told: to the first tensor of whose elements it is one, else to the storage's owner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from opsdebug_ci.guard.territory import Place, Territory, mark_elements
from opsdebug_ci.model.memory import MemoryReading
from opsdebug_ci.model.vocabulary import Role, Side

SHOWN_BYTES = 16
"""Bytes shown as they were and as they are."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Window:
    """The bytes of one storage and of the zones around it, before and after."""

    before: torch.Tensor
    """uint8[zone | size | zone] as it was."""

    after: torch.Tensor
    """The same now; a storage that was resized may be shorter or longer behind."""

    zone: int
    """Bytes of either zone; 0 where none was laid."""

    @property
    def size(self) -> int:
        """Bytes of the storage as it was."""
        return self.before.numel() - 2 * self.zone

    def changed(self) -> torch.Tensor:
        """bool: every byte of `before` that is another or gone."""
        changed = torch.ones(self.before.numel(), dtype=torch.bool, device=self.before.device)
        kept = min(self.before.numel(), self.after.numel())
        changed[:kept] = self.before[:kept] != self.after[:kept]
        return changed


def undeclared(territory: Territory, window: Window, known: Sequence[Place]) -> list[MemoryReading]:
    """What changed and is no element the contract lets the operator write, a reading per tensor and side.

    Args:
        territory: the storage.
        window: its bytes.
        known: tensors whose elements may have been copied there.
    """
    changed = window.changed()
    inner = changed[window.zone : window.zone + window.size]
    inner &= ~territory.owned(window.size, written_only=True)
    found = []
    for place in territory.places:
        mine = torch.zeros_like(inner)
        mark_elements(mine, place.view)
        mine &= inner
        inner &= ~mine
        found += describe(place, mine, Side.INSIDE, window, known)
    owner = territory.owner
    sides = {
        Side.GAP: inner,
        Side.HEAD: changed[: window.zone],
        Side.TAIL: changed[window.zone + window.size :],
    }
    for side, mask in sides.items():
        found += describe(owner, mask, side, window, known)
    return found


def describe(
    place: Place, mask: torch.Tensor, side: Side, window: Window, known: Sequence[Place], role: Role | None = None
) -> list[MemoryReading]:
    """One reading of the bytes of one side in `mask`, which covers that side; none where nothing is set.

    Args:
        place: whom they are told of.
        mask: bool, over the storage or over a zone.
        side: which of them.
        window: bytes before and after.
        known: tensors whose elements may have been copied there.
        role: what the tensor is; None: as the contract says.
    """
    count = int(mask.sum())
    if not count:
        return []
    origin = {Side.HEAD: 0, Side.TAIL: window.zone + window.size}.get(side, window.zone)
    where = mask.nonzero().flatten().cpu()
    first, last = int(where[0]), int(where[-1])
    nearest, farthest = _distances(side, first, last, mask.numel())
    shown = where[:SHOWN_BYTES] + origin
    return [
        MemoryReading(
            argument=place.name,
            side=side,
            bytes_changed=count,
            first_offset=origin + first - window.zone - place.start,
            role=role or (Role.OUTPUT if place.written else Role.INPUT),
            nearest_bytes=nearest,
            farthest_bytes=farthest,
            wanted_hex=_hex(window.before, shown),
            found_hex=_hex(window.after, shown),
            value=_value(place, window, origin + (last if side is Side.HEAD else first), known),
        )
    ]


def _distances(side: Side, first: int, last: int, length: int) -> tuple[int, int]:
    if side is Side.HEAD:
        return length - last, length - first
    return (first + 1, last + 1) if side is Side.TAIL else (0, 0)


def _hex(window: torch.Tensor, positions: torch.Tensor) -> str:
    there = positions[positions < window.numel()].to(window.device)
    return bytes(window[there].tolist()).hex()


def _value(place: Place, window: Window, position: int, known: Sequence[Place]) -> str | None:
    """The element that the byte at `position` of the window is part of, as the tensor's dtype reads it."""
    size = place.view.element_size()
    start = window.zone + (position - window.zone - place.start) // size * size + place.start
    if start < 0 or start + size > window.after.numel():
        return None
    return spelled(window.after[start : start + size], place.view.dtype, known)


def spelled(element: torch.Tensor, dtype: torch.dtype, known: Sequence[Place]) -> str:
    """uint8[itemsize] as a number; with the element of a known tensor that has just these bits, if one has."""
    number = element.cpu().clone().view(dtype)
    try:
        value = number.item()
    except NotImplementedError:  # a format without conversion to numbers; what a lost device raises is none of it
        return bytes(element.tolist()).hex()
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    text = f"{value:.9g}" if isinstance(value, float) else str(value)
    twin = _twin(element, dtype, known) if value and abs(value) != 1 else None
    return f"{text}, {twin}" if twin else text


def _twin(element: torch.Tensor, dtype: torch.dtype, known: Sequence[Place]) -> str | None:
    """`element [2, 3] of `x`` when exactly one element of all the tensors has these bits."""
    found = []
    for place in known:
        if place.view.dtype is dtype and place.view.numel():
            packed = torch.empty(place.view.numel(), dtype=dtype, device=place.view.device)
            flat = packed.copy_(place.view.flatten()).view(torch.uint8).reshape(place.view.numel(), -1)
            alike = (flat == element).all(dim=1).nonzero().flatten()
            found += [(place, int(position)) for position in alike[:2]]
    if len(found) != 1:
        return None
    place, position = found[0]
    index = []
    for length in reversed(place.view.shape):
        index.append(position % length)
        position //= length
    return f"element [{', '.join(map(str, reversed(index)))}] of `{place.name}`"
