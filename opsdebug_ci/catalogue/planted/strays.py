"""Loops in C that stray from their tensors, over any dtype and any layout of up to three axes, called through ctypes.

Decides how an element is found and read. Which access is one too many is the caller's: every function does the right
thing by default. A tensor without elements has no address in torch, so nothing strays from it. Outside a process that
may die, let them stray from guarded tensors alone.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

import torch

from opsdebug_ci.catalogue.compiler import load

AXES = 3
"""Most axes."""

FORMATS = {
    torch.float32: 0,
    torch.float64: 1,
    torch.float16: 2,
    torch.bfloat16: 3,
    torch.float8_e5m2: 4,
    torch.int32: 5,
    torch.int64: 6,
    torch.uint8: 7,
    torch.bool: 7,
}
"""What an element is read as; `enum format` of the source."""

FOLDS = {"sum": 0, "largest": 1, "smallest": 2}
"""How elements are put together; NaN never reaches `largest` and `smallest`."""

NEUTRAL = {"sum": 0.0, "largest": -float("inf"), "smallest": float("inf")}
"""What a fold begins with."""

TOUCHES = {"read": 0, "copy_back": 1, "add_nothing": 2}
"""Accesses that leave no trace."""


class View(ctypes.Structure):
    """Sizes and strides of a tensor, in elements."""

    _fields_ = (("sizes", ctypes.c_ssize_t * AXES), ("strides", ctypes.c_ssize_t * AXES))


def copy(x: torch.Tensor, out: torch.Tensor, *, done: int | None = None, dense: bool = False) -> None:
    """The first `done` elements (all, when None) of `x` into `out`; `dense`: as if `out` were contiguous."""
    view = _view(out, torch.empty(out.shape, device="meta").stride() if dense else out.stride())
    library().copied(
        x.data_ptr(), _view(x), out.data_ptr(), view, x.element_size(), x.numel() if done is None else done
    )


def copy_tiles(x: torch.Tensor, out: torch.Tensor, width: int, value: bytes) -> None:
    """`x` into `out`, each row stored as a tile `width` elements wide that ends in `value`."""
    library().tiled(x.data_ptr(), _view(x), out.data_ptr(), _view(out), x.element_size(), width, value)


def store(out: torch.Tensor, distance: int, value: bytes) -> None:
    """One store, `distance` bytes from the first element."""
    if out.data_ptr():
        library().stored(out.data_ptr(), distance, value, len(value))


def fold(x: torch.Tensor, how: str, out: torch.Tensor, *, dense: bool = False) -> None:
    """All of `x` joined to the float64 in `out`; `dense`: as if `x` were contiguous."""
    view = _view(x, torch.empty(x.shape, device="meta").stride() if dense else x.stride())
    library().folded(x.data_ptr(), view, x.element_size(), FORMATS[x.dtype], FOLDS[how], out.data_ptr())


def fold_at(x: torch.Tensor, how: str, out: torch.Tensor, distances: Sequence[int], weight: float = 1.0) -> None:
    """`weight` times what lies so many bytes from the first element of `x`, joined to the float64 in `out`."""
    if x.data_ptr():
        where = (ctypes.c_ssize_t * len(distances))(*distances)
        format_and_fold = FORMATS[x.dtype], FOLDS[how]
        library().folded_at(x.data_ptr(), where, len(distances), *format_and_fold, weight, out.data_ptr())


def touch(x: torch.Tensor, distance: int, how: str) -> None:
    """An access, one of TOUCHES, to the byte `distance` bytes from the first element."""
    if x.data_ptr():
        library().touched(x.data_ptr(), distance, TOUCHES[how])


def nudge(x: torch.Tensor, distance: int = 0) -> None:
    """The element `distance` bytes from the first one moved by one unit in its last place."""
    if x.data_ptr():
        library().nudged(x.data_ptr(), distance)


def restore_wrongly(x: torch.Tensor) -> None:
    """Every element changed and, the last one excepted, changed back."""
    library().restored(x.data_ptr(), _view(x), x.element_size())


def behind(x: torch.Tensor) -> int:
    """Distance of the first byte behind the last element in memory; 0 without elements."""
    if not x.numel():
        return 0
    last = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    return (last + 1) * x.element_size()


def element(value: float, dtype: torch.dtype) -> bytes:
    """The bytes of one element."""
    return bytes(torch.tensor([value]).to(dtype).view(torch.uint8).tolist())


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled loops. Raises EnvironmentLimitError when they cannot be compiled."""
    strays = load("strays")
    pointer, size, number, view = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.POINTER(View)
    signatures = {
        "copied": (pointer, view, pointer, view, size, size),
        "tiled": (pointer, view, pointer, view, size, size, ctypes.c_char_p),
        "stored": (pointer, size, ctypes.c_char_p, size),
        "folded": (pointer, view, size, number, number, pointer),
        "folded_at": (pointer, pointer, size, number, number, ctypes.c_double, pointer),
        "touched": (pointer, size, number),
        "nudged": (pointer, size),
        "restored": (pointer, view, size),
    }
    for name, signature in signatures.items():
        function = getattr(strays, name)
        function.argtypes, function.restype = list(signature), None
    return strays


def _view(x: torch.Tensor, strides: Sequence[int] | None = None) -> View:
    missing = AXES - x.dim()
    steps = x.stride() if strides is None else strides
    return View((1,) * missing + tuple(x.shape), (0,) * missing + tuple(steps))
