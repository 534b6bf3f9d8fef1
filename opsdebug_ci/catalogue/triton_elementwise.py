"""Triton kernels with one tile per program: triton_add, triton_gelu. Any strides; tails are masked."""

# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false, disallow-incomplete-defs=false
# ruff: noqa: PLR0913, PLR0917, N803 - kernels take every stride, and Triton spells constants in capitals
from __future__ import annotations

from typing import Any

import torch
import triton.language as tl

from opsdebug_ci.catalogue.activations import gelu
from opsdebug_ci.catalogue.elementwise import FLOATS, add
from opsdebug_ci.catalogue.sibling import sibling
from opsdebug_ci.catalogue.triton_runtime import DEVICES, jit, tile

DIMS = {"B": 1, "S": 8, "H": 64}
"""Small by default: the interpreter takes milliseconds per program."""

WIDEST = 256
"""Columns one program covers at most."""


@jit
def tile_offsets(rows, columns, per_batch, stride_batch, stride_row, stride_column):
    """Element offsets of rows x columns, where row r is row r % per_batch of batch r // per_batch."""
    wide = rows.to(tl.int64)
    row_offsets = (wide // per_batch) * stride_batch + (wide % per_batch) * stride_row
    return row_offsets[:, None] + columns.to(tl.int64)[None, :] * stride_column


@jit
def add_kernel(
    x, y, out, rows, per_batch, columns,
    xb, xs, xh, yb, ys, yh, ob, os, oh,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """x + y, one tile per program."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    left = tl.load(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask=mask, other=0.0).to(tl.float32)
    right = tl.load(y + tile_offsets(r, c, per_batch, yb, ys, yh), mask=mask, other=0.0).to(tl.float32)
    tl.store(out + tile_offsets(r, c, per_batch, ob, os, oh), left + right, mask=mask)


@jit
def gelu_kernel(
    x, out, rows, per_batch, columns,
    xb, xs, xh, ob, os, oh,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """GELU by erf, one tile per program."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    value = tl.load(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask=mask, other=0.0).to(tl.float32)
    result = 0.5 * value * (1.0 + tl.math.erf(value * 0.7071067811865476))
    tl.store(out + tile_offsets(r, c, per_batch, ob, os, oh), result, mask=mask)


def launch(kernel: Any, *tensors: torch.Tensor) -> torch.Tensor:
    """Run `kernel` over tensors of one shape B x S x H; returns a new contiguous tensor of that shape."""
    out = torch.empty(tensors[0].shape, dtype=tensors[0].dtype, device=tensors[0].device)
    batch, per_batch, columns = out.shape
    rows = batch * per_batch
    if out.numel() == 0:
        return out
    height, width = tile(rows, columns, WIDEST)
    grid = (-(-rows // height), -(-columns // width))
    strides = [step for tensor in (*tensors, out) for step in tensor.stride()]
    kernel[grid](*tensors, out, rows, per_batch, columns, *strides, ROWS=height, COLUMNS=width)
    return out


def _add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x + y."""
    return launch(add_kernel, x, y)


def _gelu(x: torch.Tensor) -> torch.Tensor:
    """x/2 * (1 + erf(x / sqrt(2)))."""
    return launch(gelu_kernel, x)


triton_add = sibling(add, "triton_add", _add, dtypes=FLOATS, dims=DIMS, devices=DEVICES)
triton_gelu = sibling(gelu, "triton_gelu", _gelu, dims=DIMS, devices=DEVICES)

OPERATORS = [triton_add, triton_gelu]
