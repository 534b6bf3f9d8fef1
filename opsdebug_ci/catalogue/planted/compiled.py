"""Defects in C loops, called through ctypes; without a compiler there are none, and `UNAVAILABLE` says why."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch

from opsdebug_ci import tensor
from opsdebug_ci.catalogue.compiled import POINTER, SIZE
from opsdebug_ci.catalogue.compiler import load
from opsdebug_ci.catalogue.elementwise import SHAPE, add
from opsdebug_ci.catalogue.planted.originals import ABSOLUTE
from opsdebug_ci.catalogue.planted.placement import OWN_ELEMENTS
from opsdebug_ci.catalogue.planted.value import Planted, plant
from opsdebug_ci.catalogue.reductions import mean, total
from opsdebug_ci.errors import EnvironmentLimitError

NAMES = ("c_tail", "c_stride", "c_index", "c_read")
"""Defects of this module, known without a compiler."""

Unary = Callable[[torch.Tensor], torch.Tensor]


def _row_function(library: ctypes.CDLL, name: str, last: Callable[[int], int]) -> Unary:
    """`name(x, out, rows, columns, last(columns))` over packed rows."""
    kernel = getattr(library, name)
    kernel.argtypes, kernel.restype = [POINTER] * 2 + [SIZE] * 3, None

    def call(x: torch.Tensor) -> torch.Tensor:
        packed = x.contiguous()
        out = torch.empty(x.shape[:-1], dtype=x.dtype)
        kernel(packed.data_ptr(), out.data_ptr(), out.numel(), x.shape[-1], last(x.shape[-1]))
        return out

    return call


def _magnitudes(library: ctypes.CDLL, column_stride: Callable[[torch.Tensor], int]) -> Unary:
    kernel = library.magnitudes
    kernel.argtypes, kernel.restype = [POINTER] * 2 + [SIZE] * 6, None

    def call(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty(x.shape, dtype=x.dtype)
        kernel(x.data_ptr(), out.data_ptr(), *x.shape, *x.stride()[:2], column_stride(x))
        return out

    return call


def _added(library: ctypes.CDLL, bits: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    kernel = library.add
    kernel.argtypes, kernel.restype = [POINTER] * 3 + [SIZE] * 2, None

    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        left, right = x.contiguous(), y.contiguous()
        out = torch.zeros(x.shape, dtype=x.dtype)
        kernel(left.data_ptr(), right.data_ptr(), out.data_ptr(), out.numel(), bits)
        return out

    return call


def _planted(library: ctypes.CDLL) -> list[Planted]:
    floats = ("float32",)
    return [
        plant(
            total,
            "c_tail",
            wrong=_row_function(library, "row_sums", lambda columns: 0),  # noqa: ARG005 - the rest is left out
            right=_row_function(library, "row_sums", lambda columns: 1),  # noqa: ARG005 - as above
            dtypes=floats,
            dims={"B": 1, "S": 12, "H": 45},
        ),
        plant(
            ABSOLUTE,
            "c_stride",
            wrong=_magnitudes(library, lambda x: 1),  # noqa: ARG005 - whatever the stride is
            right=_magnitudes(library, lambda x: x.stride(2)),
            inputs={"x": tensor(SHAPE, layouts=OWN_ELEMENTS)},
            dtypes=floats,
            dims={"B": 1, "S": 12, "H": 24},
        ),
        plant(
            add,
            "c_index",
            wrong=_added(library, bits=16),
            right=_added(library, bits=64),
            dtypes=floats,
            dims={"B": 2, "S": 150, "H": 128},
        ),
        plant(
            mean,
            "c_read",
            wrong=_row_function(library, "means", lambda columns: columns + 1),
            right=_row_function(library, "means", lambda columns: columns),
            dtypes=floats,
            dims={"B": 1, "S": 12, "H": 30},
        ),
    ]


def plant_all() -> tuple[list[Planted], dict[str, str]]:
    """Every defect when a compiler is there; otherwise the reason, for each of them."""
    try:
        return _planted(load("planted")), {}
    except EnvironmentLimitError as error:
        return [], {name: str(error) for name in NAMES}


PLANTED, UNAVAILABLE = plant_all()
