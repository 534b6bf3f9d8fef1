"""What lies around memory that is not an operator's own: bytes nobody would write, or numbers nobody would read unseen.

Decides the fills. A pattern and its complement differ in every byte, so a write of one value is seen under at least one
of them, whatever the value. NaN, half the largest number and its negative show what is read: sums follow the first,
maxima the second, minima the third. Around integers that may be indices lie the values next to those the tensor holds:
a minimum, a maximum or a union follows them too, and an index read by mistake leads into the zone beside its table and
does not end the process before it is seen. Nothing here is read by a correct operator.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum

import numpy as np
import torch

PERIOD = 1_048_573
"""Length of the pattern in bytes: a prime, so that no stride of a power of two meets equal bytes."""

_KEY = 0x6F7073646562756
"""Any constant: what counts is that every process draws the same bytes."""


class Fill(Enum):
    """What zones and gaps hold."""

    ORIGINAL = "what was there"
    """Gaps only: the bytes of the argument as it was made."""
    PATTERN = "a pattern"
    COMPLEMENT = "its complement"
    NAN = "NaN"
    """Around integers the value above."""
    HIGH = "a large number"
    LOW = "a large negative number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """How fills are spelled around one storage."""

    dtype: torch.dtype
    """Of its elements."""

    beside: tuple[int, int] | None = None
    """A value below and one above those in use, where nothing farther off may be read; None: any bytes may."""


def palette_of(tensor: torch.Tensor, *, written: bool) -> Palette:
    """That of a tensor: integers an operator only reads may be indices, and a bool has but two bytes.

    -1 is below what is not negative, and has every bit; an unsigned dtype has the next power of two for a new one.
    """
    if tensor.dtype is torch.bool:
        return Palette(dtype=tensor.dtype, beside=(0, 1))
    if written or tensor.is_floating_point() or tensor.is_complex() or tensor.numel() == 0:
        return Palette(dtype=tensor.dtype)
    values, limits = tensor.detach().cpu().numpy(), torch.iinfo(tensor.dtype)
    lowest, highest = int(values.min()), int(values.max())
    below = max(limits.min, min(lowest, 0) - 1)
    above = min(limits.max, highest + 1 if limits.min < 0 else 1 << highest.bit_length())
    return Palette(dtype=tensor.dtype, beside=(below, above))


def paint(target: torch.Tensor, palette: Palette, fill: Fill, phase: int = 0) -> None:
    """Fill uint8[n] `target`, whose first byte is `phase` bytes from an element's first.

    ORIGINAL leaves it alone. Phases set apart patterns too: equal ones repeat, others do not.
    """
    if fill is Fill.ORIGINAL or target.numel() == 0:
        return
    if palette.beside is not None:
        below, above = palette.beside
        value = below if fill in (Fill.COMPLEMENT, Fill.LOW) else above
        _repeat(target, torch.tensor([value], dtype=palette.dtype).view(torch.uint8), phase)
    elif fill is Fill.PATTERN:
        target.copy_(_stream(target.numel(), phase))
    elif fill is Fill.COMPLEMENT:
        target.copy_(_stream(target.numel(), phase)).bitwise_not_()
    else:
        _repeat(target, _number(palette.dtype, fill), phase)


@functools.cache
def _period() -> torch.Tensor:
    """Two periods on end, of raw 64-bit numbers of a counter-based generator (Salmon et al., Parallel random numbers:
    as easy as 1, 2, 3, SC 2011), whose stream numpy keeps stable."""
    raw = np.random.Philox(key=_KEY).random_raw(PERIOD // 8 + 1).view(np.uint8)[:PERIOD]
    return torch.from_numpy(np.concatenate([raw, raw]))


def _stream(length: int, phase: int) -> torch.Tensor:
    start = phase % PERIOD
    if length <= PERIOD:
        return _period()[start : start + length]
    turned = _period()[start : start + PERIOD]
    return turned.repeat(-(-length // PERIOD))[:length]


@functools.cache
def _number(dtype: torch.dtype, fill: Fill) -> torch.Tensor:
    """uint8[itemsize]: NaN or half the largest finite magnitude, as `dtype` spells it."""
    if not (dtype.is_floating_point or dtype.is_complex):
        top = torch.iinfo(dtype).max // 2
        return torch.tensor([-top if fill is Fill.LOW and dtype.is_signed else top], dtype=dtype).view(torch.uint8)
    half = 0.5 * torch.finfo(dtype).max
    value = {Fill.NAN: float("nan"), Fill.HIGH: half, Fill.LOW: -half}[fill]
    wide = torch.tensor([complex(value, value)] if dtype.is_complex else [value], dtype=_widest(dtype))
    return wide.to(dtype).view(torch.uint8)


def _widest(dtype: torch.dtype) -> torch.dtype:
    return torch.complex128 if dtype.is_complex else torch.float64


def _repeat(target: torch.Tensor, element: torch.Tensor, phase: int) -> None:
    size = element.numel()
    turned = element.roll(-(phase % size)).to(target.device)
    whole = target.numel() // size * size
    target[:whole].view(-1, size).copy_(turned.expand(whole // size, size))
    target[whole:].copy_(turned[: target.numel() - whole])
