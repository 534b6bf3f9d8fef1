"""One storage between two zones: bytes that belong to nobody, close enough to be hit by mistake.

Decides how far the zones reach and where the storage lies: at an address that is the original's modulo 512, so that
no code meets another alignment than it would. The storage begins and ends with its bytes: what asks for its size, or
for an offset, gets the answers it would get without us. It cannot be resized.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch.utils.dlpack import from_dlpack

from opsdebug_ci.guard.patterns import Fill, Palette, paint

ALIGNMENT = 512
"""Addresses are kept modulo this: what device allocators promise, and more than any kernel asks for."""

LEAST_ZONE = 4 * 1024
"""Bytes of the narrowest zone: a page."""

MOST_ZONE = 1024 * 1024
"""Bytes of the widest."""

_WORD = 8
"""Bytes compared at once."""


def zone_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes a zone around these views of one storage needs.

    A kernel that lacks a mask on rows goes on by row strides, so two of the largest must fit, within limits.
    """
    reach = max((_widest_stride(tensor) * tensor.element_size() for tensor in tensors), default=0)
    return -(-min(max(LEAST_ZONE, 2 * reach), MOST_ZONE) // ALIGNMENT) * ALIGNMENT


def can_guard(device: torch.device) -> bool:
    """Whether storages can be placed inside others there."""
    return device.type in ("cpu", "cuda")


class Arena:
    """uint8[zone | size | zone] of one allocation, the middle of which is a storage of its own."""

    def __init__(self, size: int, zone: int, device: torch.device, residue: int = 0) -> None:
        """Room for `size` > 0 bytes, `zone` on either side, at an address that is `residue` modulo ALIGNMENT."""
        self.size = size
        self.zone = zone
        whole = torch.empty(2 * zone + size + ALIGNMENT + _WORD, dtype=torch.uint8, device=device)
        start = (residue - whole.data_ptr() - zone) % ALIGNMENT
        self.window = whole[start : start + 2 * zone + size]
        """Zones and storage, as bytes."""
        # NOTE: exchanged with itself, because a tensor made that way owns exactly its bytes and keeps the rest alive.
        self.storage = from_dlpack(self.payload).untyped_storage()
        """The middle as a storage."""
        self.declared: torch.Tensor | None = None
        """bool[size / unit]: what may be written; None: not known here."""
        self.unit = 1
        """Bytes each entry of `declared` is about."""

    @property
    def head(self) -> torch.Tensor:
        """The zone before the storage."""
        return self.window[: self.zone]

    @property
    def payload(self) -> torch.Tensor:
        """The bytes of the storage."""
        return self.window[self.zone : self.zone + self.size]

    @property
    def tail(self) -> torch.Tensor:
        """The zone behind the storage."""
        return self.window[self.zone + self.size :]

    def view(self, dtype: torch.dtype, shape: Sequence[int], stride: Sequence[int], offset: int) -> torch.Tensor:
        """A tensor in the storage."""
        bare = torch.empty(0, dtype=dtype, device=self.window.device)
        return bare.set_(self.storage, offset, tuple(shape), tuple(stride))

    def paint_zones(self, palette: Palette, head: Fill, tail: Fill, key: int) -> None:
        """Fill both zones; another `key` gives another pattern."""
        turn = key * ALIGNMENT * 31  # a multiple of every element's size, odd in units of the alignment
        paint(self.head, palette, head, turn)
        paint(self.tail, palette, tail, turn + self.zone + self.size)


def in_units(window: torch.Tensor, unit: int) -> torch.Tensor:
    """uint8[n] as whole numbers of `unit` bytes, which are worked on as fast as so many bytes; n is a multiple."""
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    return window.view(words[unit]) if unit in words else window


def same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two uint8[n] hold the same; word by word where both begin at one, which is five times as fast."""
    if one.numel() != other.numel():
        return False
    whole = one.numel() // _WORD * _WORD
    if not whole or (one.data_ptr() | other.data_ptr()) % _WORD:
        return torch.equal(one, other)
    words = torch.equal(one[:whole].view(torch.int64), other[:whole].view(torch.int64))
    return words and (whole == one.numel() or torch.equal(one[whole:], other[whole:]))


def _widest_stride(tensor: torch.Tensor) -> int:
    return max((abs(stride) for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1), default=1)
