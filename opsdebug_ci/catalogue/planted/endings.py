"""Defects that end the process some other way than by an invalid address, or that ask for more memory than there is."""

from __future__ import annotations

import ctypes

import numpy as np
import torch

from opsdebug_ci.catalogue.planted.behaviour import LONGEST
from opsdebug_ci.catalogue.planted.originals import ABSOLUTE
from opsdebug_ci.catalogue.planted.value import plant

DIMS = {"B": 1, "S": 4, "H": 72}
"""Rows longer than LONGEST: the everyday case is a bad one."""

EXIT_STATUS = 7
"""What the process ends with, as a C library that calls `exit` would end it."""

HEADER_BYTES = 8
"""What the GNU C library keeps in front of a block: its size."""

BEYOND_ALL_MEMORY = 1 << 56
"""Bytes: more than an address can tell apart on today's processors."""

_LIBC = ctypes.CDLL(None)
_LIBC.malloc.argtypes, _LIBC.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
_LIBC.free.argtypes, _LIBC.free.restype = [ctypes.c_void_p], None
_LIBC._exit.argtypes, _LIBC._exit.restype = [ctypes.c_int], None

KEPT: list[int] = []
"""Blocks of `wrong_late_abort` that the next launch gives back."""


def _absolute(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().abs()


def _through_a_block(x: torch.Tensor, before: int) -> torch.Tensor:
    """Magnitudes through a block that the next launch gives back; `before` bytes ahead of it are cleared."""
    while KEPT:
        _LIBC.free(KEPT.pop())
    packed = x.contiguous()
    size = packed.numel() * packed.element_size()
    block = _LIBC.malloc(max(1, size))
    ctypes.memset(block - before, 0, before)
    ctypes.memmove(block, packed.data_ptr(), size)
    KEPT.append(block)
    result = torch.empty_like(packed)
    ctypes.memmove(result.data_ptr(), block, size)
    return result.abs()


def _wrong_late_abort(x: torch.Tensor) -> torch.Tensor:
    return _through_a_block(x, HEADER_BYTES if x.shape[-1] > LONGEST else 0)


def _right_late_abort(x: torch.Tensor) -> torch.Tensor:
    return _through_a_block(x, 0)


def _wrong_exit(x: torch.Tensor) -> torch.Tensor:
    if x.shape[-1] > LONGEST:
        _LIBC._exit(EXIT_STATUS)
    return _absolute(x)


def _with_room(x: torch.Tensor, spare_bytes: int) -> torch.Tensor:
    room = np.empty(x.numel() * x.element_size() + spare_bytes, dtype=np.uint8)
    del room
    return _absolute(x)


def _wrong_out_of_memory(x: torch.Tensor) -> torch.Tensor:
    return _with_room(x, BEYOND_ALL_MEMORY if x.shape[-1] > LONGEST else 0)


def _right_out_of_memory(x: torch.Tensor) -> torch.Tensor:
    return _with_room(x, 0)


PLANTED = [
    plant(ABSOLUTE, "late_abort", wrong=_wrong_late_abort, right=_right_late_abort, dims=DIMS),
    plant(ABSOLUTE, "exit", wrong=_wrong_exit, right=_absolute, dims=DIMS),
    plant(ABSOLUTE, "out_of_memory", wrong=_wrong_out_of_memory, right=_right_out_of_memory, dims=DIMS),
]
