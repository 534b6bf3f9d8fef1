"""Defects of an address: a stride that is assumed, an offset that is lost, an index too narrow for its tensor."""

from __future__ import annotations

import torch

from opsdebug_ci import tensor
from opsdebug_ci.catalogue.activations import logistic_times, silu
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.elementwise import SHAPE, add
from opsdebug_ci.catalogue.indexing import gather, random_positions
from opsdebug_ci.catalogue.planted.originals import ABSOLUTE
from opsdebug_ci.catalogue.planted.placement import OWN_ELEMENTS
from opsdebug_ci.catalogue.planted.value import plant


def _silu(x: torch.Tensor) -> torch.Tensor:
    wide = widen(x)
    return logistic_times(wide, wide).to(x.dtype)


def _addressed(x: torch.Tensor, strides: tuple[int, ...], offset: int) -> torch.Tensor:
    """Elements of the storage of `x` at these strides; places beyond its end are taken modulo its size."""
    place = torch.full((1,) * x.ndim, offset)
    for axis, (size, step) in enumerate(zip(x.shape, strides, strict=True)):
        shape = [-1 if position == axis else 1 for position in range(x.ndim)]
        place = place + (torch.arange(size) * step).reshape(shape)
    storage = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    return storage[place % max(storage.numel(), 1)]


def _wrong_packed_rows(x: torch.Tensor) -> torch.Tensor:
    rows = x.shape[2] * x.stride(2)
    return _silu(_addressed(x, (x.shape[1] * rows, rows, x.stride(2)), int(x.storage_offset())))


def _right_packed_rows(x: torch.Tensor) -> torch.Tensor:
    return _silu(_addressed(x, x.stride(), int(x.storage_offset())))


def _wrong_borrowed_stride(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    other = _addressed(y, x.stride(), int(y.storage_offset()))
    return (widen(x) + widen(other)).to(x.dtype)


def _right_borrowed_stride(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    other = _addressed(y, y.stride(), int(y.storage_offset()))
    return (widen(x) + widen(other)).to(x.dtype)


def _wrong_lost_offset(x: torch.Tensor) -> torch.Tensor:
    return _addressed(x, x.stride(), 0).abs()


def _right_lost_offset(x: torch.Tensor) -> torch.Tensor:
    return _addressed(x, x.stride(), int(x.storage_offset())).abs()


def _gathered(x: torch.Tensor, index: torch.Tensor, width: torch.dtype) -> torch.Tensor:
    """x[b, s, index[b, s, k]] through row offsets computed in `width`; negative ones count from the end."""
    rows = torch.arange(x.shape[0] * x.shape[1], dtype=width) * x.shape[2]
    place = rows.to(torch.int64).reshape(x.shape[0], x.shape[1], 1) + index
    return x.reshape(-1)[place % max(x.numel(), 1)]


def _wrong_narrow_rows(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return _gathered(x, index, torch.int16)


def _right_narrow_rows(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return _gathered(x, index, torch.int64)


def _wrong_narrow_wrap(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    place = torch.arange(x.numel()) & 0x7FFF
    return (widen(x).reshape(-1)[place] + widen(y).reshape(-1)[place]).reshape(x.shape).to(x.dtype)


def _right_narrow_wrap(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    place = torch.arange(x.numel()) & 0x7FFFFFFF
    return (widen(x).reshape(-1)[place] + widen(y).reshape(-1)[place]).reshape(x.shape).to(x.dtype)


PLANTED = [
    plant(
        silu,
        "packed_rows",
        wrong=_wrong_packed_rows,
        right=_right_packed_rows,
        inputs={"x": tensor(SHAPE, layouts=("contiguous", "strided", "offset", "padded"))},
        dims={"B": 1, "S": 12, "H": 20},
    ),
    plant(
        add,
        "borrowed_stride",
        wrong=_wrong_borrowed_stride,
        right=_right_borrowed_stride,
        inputs={
            "x": tensor(SHAPE, layouts=(*OWN_ELEMENTS, "mixed")),
            "y": tensor(SHAPE, layouts=("contiguous", "mixed")),
        },
        dtypes=("float32", "float16"),
        dims={"B": 1, "S": 14, "H": 20},
    ),
    plant(
        ABSOLUTE,
        "lost_offset",
        wrong=_wrong_lost_offset,
        right=_right_lost_offset,
        inputs={"x": tensor(SHAPE, layouts=OWN_ELEMENTS)},
        dims={"B": 1, "S": 12, "H": 24},
    ),
    plant(
        gather,
        "narrow_rows",
        wrong=_wrong_narrow_rows,
        right=_right_narrow_rows,
        inputs={"x": tensor("B S H"), "index": tensor("B S K", dtype="int64", values=random_positions)},
        dtypes=("float32",),
        dims={"B": 1, "S": 400, "H": 96, "K": 8},
    ),
    plant(
        add,
        "narrow_wrap",
        wrong=_wrong_narrow_wrap,
        right=_right_narrow_wrap,
        dtypes=("float32", "bfloat16"),
        dims={"B": 2, "S": 150, "H": 128},
    ),
]
