"""Defects in Triton kernels: what masked lanes hold, where a mask ends, and where there is none.

Import only where Triton can run (`triton_defects` looks first).
"""

# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false, disallow-incomplete-defs=false
# ruff: noqa: PLR0913, PLR0917, N803 - kernels take every stride, and Triton spells constants in capitals
from __future__ import annotations

import math
from collections.abc import Callable

import torch
import triton.language as tl

from opsdebug_ci import tensor
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE
from opsdebug_ci.catalogue.planted.edges import ADD_INTO
from opsdebug_ci.catalogue.planted.originals import ABSOLUTE
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.reductions import total
from opsdebug_ci.catalogue.softmaxes import softmax
from opsdebug_ci.catalogue.triton_elementwise import tile_offsets
from opsdebug_ci.catalogue.triton_rows import LONGEST_ROW, launch_rows
from opsdebug_ci.catalogue.triton_runtime import DEVICES, jit, power_of_two

BLOCK = 16

FLAT_BLOCK = 1024
"""Elements of one program over packed memory."""

DIMS = {"B": 1, "S": 8, "H": 45}
"""Small, with a tail: the interpreter takes milliseconds per program."""


@jit
def filled_softmax_kernel(
    x, out, rows, per_batch, columns, fill,
    xb, xs, xh, ob, os, oh,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Softmax of whole rows; masked lanes hold `fill`."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    value = tl.load(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask=mask, other=fill).to(tl.float32)
    e = tl.exp(value - tl.max(value, axis=1)[:, None])
    tl.store(out + tile_offsets(r, c, per_batch, ob, os, oh), e / tl.sum(e, axis=1)[:, None], mask=mask)


@jit
def block_absolute_kernel(
    x, out, rows, per_batch, columns, block,
    xb, xs, xh, ob, os, oh,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Magnitudes, stored as far as whole blocks of `block` columns reach."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    mask = (r < rows)[:, None] & (c < columns // block * block)[None, :]
    value = tl.load(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask=mask, other=0.0).to(tl.float32)
    tl.store(out + tile_offsets(r, c, per_batch, ob, os, oh), tl.abs(value), mask=mask)


@jit
def flat_add_kernel(x, y, out, count, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    """x + y of packed float32 tensors; without a mask the last block is stored whole."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside, other=0.0) + tl.load(y + at, mask=inside, other=0.0)
    if MASKED:
        tl.store(out + at, value, mask=inside)
    else:
        tl.store(out + at, value)


@jit
def row_sum_kernel(x, out, columns, MASKED: tl.constexpr, COLUMNS: tl.constexpr):
    """Sum of a packed float32 row; without a mask, lanes behind it are loaded and then multiplied by 0."""
    c = tl.arange(0, COLUMNS)
    inside = c < columns
    if MASKED:
        value = tl.load(x + tl.program_id(0) * columns + c, mask=inside, other=0.0)
    else:
        value = tl.load(x + tl.program_id(0) * columns + c)
    tl.store(out + tl.program_id(0), tl.sum(value * inside.to(tl.float32), axis=0))


def _flat_add(masked: bool) -> Callable[..., None]:
    def call(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
        count = out.numel()
        if count:
            flat_add_kernel[(-(-count // FLAT_BLOCK),)](x, y, out, count, MASKED=masked, BLOCK=FLAT_BLOCK)

    return call


def _row_sums(masked: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    def call(x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(x.shape[:-1], dtype=x.dtype, device=x.device)
        if x.numel():
            width = power_of_two(x.shape[-1], LONGEST_ROW)
            row_sum_kernel[(out.numel(),)](x, out, x.shape[-1], MASKED=masked, COLUMNS=width)
        return out

    return call


def _wrong_pad(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(filled_softmax_kernel, x, (), 0.0)


def _right_pad(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(filled_softmax_kernel, x, (), -math.inf)


def _wrong_tail(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(block_absolute_kernel, x, (), BLOCK)


def _right_tail(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(block_absolute_kernel, x, (), 1)


PACKED = ("contiguous",)
INTO = {name: tensor(SHAPE, layouts=PACKED) for name in ("x", "y", "out")}
SINGLE = ("float32",)

PLANTED = [
    plant(softmax, "triton_pad", wrong=_wrong_pad, right=_right_pad, dtypes=FLOATS, dims=DIMS, devices=DEVICES),
    plant(ABSOLUTE, "triton_tail", wrong=_wrong_tail, right=_right_tail, dtypes=FLOATS, dims=DIMS, devices=DEVICES),
    plant(
        ADD_INTO,
        "triton_store",
        wrong=_flat_add(masked=False),
        right=_flat_add(masked=True),
        inputs=INTO,
        dtypes=SINGLE,
        dims=DIMS,
        devices=DEVICES,
    ),
    plant(
        total,
        "triton_load",
        wrong=_row_sums(masked=False),
        right=_row_sums(masked=True),
        inputs={"x": tensor(SHAPE, layouts=PACKED)},
        dtypes=SINGLE,
        dims=DIMS,
        devices=DEVICES,
    ),
]
