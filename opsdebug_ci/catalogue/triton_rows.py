"""Triton kernels that hold whole rows in a program: triton_softmax, triton_layer_norm, triton_rms_norm.

Any strides; lanes beyond the row are masked, and in the variance masked again after the mean is subtracted.
"""

# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false, disallow-incomplete-defs=false
# ruff: noqa: PLR0913, PLR0917, N803 - kernels take every stride, and Triton spells constants in capitals
from __future__ import annotations

from typing import Any

import torch
import triton.language as tl

from opsdebug_ci import Unsupported
from opsdebug_ci.catalogue.elementwise import FLOATS
from opsdebug_ci.catalogue.normalisation import LAYER_EPS, RMS_EPS, layer_norm_bias, rms_norm
from opsdebug_ci.catalogue.sibling import sibling
from opsdebug_ci.catalogue.softmaxes import softmax
from opsdebug_ci.catalogue.triton_elementwise import DIMS, tile_offsets
from opsdebug_ci.catalogue.triton_runtime import DEVICES, jit, tile

LONGEST_ROW = 16384
"""A row must fit one program."""


@jit
def softmax_kernel(
    x, out, rows, per_batch, columns,
    xb, xs, xh, ob, os, oh,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Softmax of whole rows, with the maximum subtracted first."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    value = tl.load(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask=mask, other=float("-inf")).to(tl.float32)
    e = tl.where(mask, tl.exp(value - tl.max(value, axis=1)[:, None]), 0.0)
    tl.store(out + tile_offsets(r, c, per_batch, ob, os, oh), e / tl.sum(e, axis=1)[:, None], mask=mask)


@jit
def layer_norm_kernel(
    x, out, weight, bias, rows, per_batch, columns, eps,
    xb, xs, xh, ob, os, oh, wh, bh,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Layer norm of whole rows; the variance is taken around the mean."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    inside = (c < columns)[None, :]
    mask = (r < rows)[:, None] & inside
    value = tl.load(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=1) / columns
    centred = tl.where(mask, value - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / columns + eps)
    gain = tl.load(weight + c[None, :] * wh, mask=inside, other=0.0).to(tl.float32)
    shift = tl.load(bias + c[None, :] * bh, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + tile_offsets(r, c, per_batch, ob, os, oh), centred * scale[:, None] * gain + shift, mask=mask)


@jit
def rms_norm_kernel(
    x, out, weight, rows, per_batch, columns, eps,
    xb, xs, xh, ob, os, oh, wh,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """RMS norm of whole rows."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    inside = (c < columns)[None, :]
    mask = (r < rows)[:, None] & inside
    value = tl.load(x + tile_offsets(r, c, per_batch, xb, xs, xh), mask=mask, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(value * value, axis=1) / columns + eps)
    gain = tl.load(weight + c[None, :] * wh, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + tile_offsets(r, c, per_batch, ob, os, oh), value * scale[:, None] * gain, mask=mask)


def launch_rows(kernel: Any, x: torch.Tensor, vectors: tuple[torch.Tensor, ...], *numbers: float) -> torch.Tensor:
    """Run `kernel` over the rows of x (B x S x H) with vectors of length H; returns a new contiguous tensor."""
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    batch, per_batch, columns = x.shape
    rows = batch * per_batch
    if columns > LONGEST_ROW:
        raise Unsupported(f"a row of {columns} does not fit one program; at most {LONGEST_ROW}")
    if out.numel() == 0:
        return out
    height, width = tile(rows, columns, LONGEST_ROW)
    strides = [step for tensor in (x, out, *vectors) for step in tensor.stride()]
    kernel[(-(-rows // height),)](
        x, out, *vectors, rows, per_batch, columns, *numbers, *strides, ROWS=height, COLUMNS=width
    )
    return out


def _softmax(x: torch.Tensor) -> torch.Tensor:
    """exp(x - max) / sum, a row in one program."""
    return launch_rows(softmax_kernel, x, ())


def _layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Layer norm times weight plus bias, a row in one program."""
    return launch_rows(layer_norm_kernel, x, (weight, bias), LAYER_EPS)


def _rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """RMS norm times weight, a row in one program."""
    return launch_rows(rms_norm_kernel, x, (weight,), RMS_EPS)


triton_softmax = sibling(softmax, "triton_softmax", _softmax, dtypes=FLOATS, dims=DIMS, devices=DEVICES)
triton_layer_norm = sibling(layer_norm_bias, "triton_layer_norm", _layer_norm, dims=DIMS, devices=DEVICES)
triton_rms_norm = sibling(rms_norm, "triton_rms_norm", _rms_norm, dims=DIMS, devices=DEVICES)

OPERATORS = [triton_softmax, triton_layer_norm, triton_rms_norm]
