"""Device functions shared by the Triton kernels: addresses of a strided tile, loads and stores in float32.

bfloat16 travels as int16 and is converted here, rounding to nearest even on every device.
"""

# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false, disallow-incomplete-defs=false
from __future__ import annotations

import triton.language as tl

from opsdebug_ci.catalogue.triton_runtime import jit


@jit
def tile_offsets(rows, columns, per_batch, stride_batch, stride_row, stride_column):
    """Element offsets of rows x columns, where row r is row r % per_batch of batch r // per_batch."""
    wide = rows.to(tl.int64)
    row_offsets = (wide // per_batch) * stride_batch + (wide % per_batch) * stride_row
    return row_offsets[:, None] + columns.to(tl.int64)[None, :] * stride_column


@jit
def load_wide(pointers, mask, other):
    """Values in float32; `other` where masked out."""
    if pointers.dtype.element_ty == tl.int16:
        raw = tl.load(pointers, mask=mask, other=0).to(tl.int32) << 16
        return tl.where(mask, raw.to(tl.float32, bitcast=True), other)
    return tl.load(pointers, mask=mask, other=other).to(tl.float32)


@jit
def store_rounded(pointers, value, mask):
    """Round float32 `value` to the element type, to nearest even, and store it; NaN stays NaN."""
    if pointers.dtype.element_ty == tl.int16:
        raw = value.to(tl.int32, bitcast=True)
        rounded = (raw + 0x7FFF + ((raw >> 16) & 1)) >> 16
        tl.store(pointers, tl.where(value != value, 0x7FC0, rounded).to(tl.int16), mask=mask)  # noqa: PLR0124 - only NaN differs from itself
    else:
        tl.store(pointers, value.to(pointers.dtype.element_ty), mask=mask)
