"""Defects in Triton kernels: what masked lanes hold, and where a mask ends.

Import only where Triton can run (`triton_defects` looks first).
"""

# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false, disallow-incomplete-defs=false
# ruff: noqa: PLR0913, PLR0917, N803 - kernels take every stride, and Triton spells constants in capitals
from __future__ import annotations

import math

import torch
import triton.language as tl

from opsdebug_ci.catalogue.elementwise import FLOATS
from opsdebug_ci.catalogue.planted.originals import ABSOLUTE
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.softmaxes import softmax
from opsdebug_ci.catalogue.triton_rows import launch_rows
from opsdebug_ci.catalogue.triton_runtime import DEVICES, jit
from opsdebug_ci.catalogue.triton_tiles import load_wide, store_rounded, tile_offsets

BLOCK = 16
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
    value = load_wide(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask, fill)
    e = tl.exp(value - tl.max(value, axis=1)[:, None])
    store_rounded(out + tile_offsets(r, c, per_batch, ob, os, oh), e / tl.sum(e, axis=1)[:, None], mask)


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
    value = load_wide(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask, 0.0)
    store_rounded(out + tile_offsets(r, c, per_batch, ob, os, oh), tl.abs(value), mask)


def _wrong_pad(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(filled_softmax_kernel, x, (), 0.0)


def _right_pad(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(filled_softmax_kernel, x, (), -math.inf)


def _wrong_tail(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(block_absolute_kernel, x, (), BLOCK)


def _right_tail(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(block_absolute_kernel, x, (), 1)


PLANTED = [
    plant(softmax, "triton_pad", wrong=_wrong_pad, right=_right_pad, dtypes=FLOATS, dims=DIMS, devices=DEVICES),
    plant(ABSOLUTE, "triton_tail", wrong=_wrong_tail, right=_right_tail, dtypes=FLOATS, dims=DIMS, devices=DEVICES),
]
