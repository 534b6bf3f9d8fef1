"""Defects of precision: what is summed, multiplied or returned in the wrong format, or by a formula too coarse."""

from __future__ import annotations

import math

import torch

from opsdebug_ci.catalogue.activations import gelu, gelu_wide, logistic_times, silu
from opsdebug_ci.catalogue.arithmetic import row_sum, widen
from opsdebug_ci.catalogue.elementwise import add
from opsdebug_ci.catalogue.normalisation import RMS_EPS, rms_norm
from opsdebug_ci.catalogue.planted.originals import ROUND, wide
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.products import blocked_product, matmul, matmul_add_bias
from opsdebug_ci.catalogue.reductions import mean, total
from opsdebug_ci.catalogue.softmaxes import shifted, softmax

SPLIT = 16
"""Columns of one partial product."""

FEW_ROWS = 8
"""Up to so many rows a launch splits its sums, so that there is work for every core."""


def _serial_mean(x: torch.Tensor, accumulator: torch.dtype) -> torch.Tensor:
    result = x.new_zeros(x.shape[:-1], dtype=accumulator)
    for column in range(x.shape[-1]):
        result = result + x[..., column].to(accumulator)
    return (result.to(torch.float32) / x.shape[-1]).to(x.dtype)


def _wrong_bfloat_mean(x: torch.Tensor) -> torch.Tensor:
    return _serial_mean(x, torch.bfloat16)


def _right_bfloat_mean(x: torch.Tensor) -> torch.Tensor:
    return _serial_mean(x, torch.float32)


def _split_product(a: torch.Tensor, b: torch.Tensor, partial: torch.dtype) -> torch.Tensor:
    left, right = widen(a), widen(b)
    result = left.new_zeros((a.shape[0], b.shape[1]))
    for start in range(0, a.shape[1], SPLIT):
        result += (left[:, start : start + SPLIT] @ right[start : start + SPLIT]).to(partial).to(result.dtype)
    return result.to(a.dtype)


def _wrong_split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _split_product(a, b, torch.bfloat16)


def _right_split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _split_product(a, b, torch.float32)


def _wrong_narrow_operands(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.to(torch.bfloat16).to(torch.float32) @ b.to(torch.bfloat16).to(torch.float32)


def _right_narrow_operands(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.to(torch.float64).to(torch.float32) @ b.to(torch.float64).to(torch.float32)


def _rms(x: torch.Tensor, weight: torch.Tensor, squares: torch.dtype) -> torch.Tensor:
    wide_x = widen(x)
    mean_square = row_sum((wide_x * wide_x).to(squares)).to(torch.float32) / max(x.shape[-1], 1)
    return (wide_x * torch.rsqrt(mean_square + RMS_EPS) * widen(weight)).to(x.dtype)


def _wrong_half_square(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return _rms(x, weight, torch.float16)


def _right_half_square(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return _rms(x, weight, torch.float32)


def _batch_sum(x: torch.Tensor, partial: torch.dtype) -> torch.Tensor:
    """Sum of each row; where rows are few, of four parts of it, kept in `partial`."""
    if x.shape[0] * x.shape[1] > FEW_ROWS:
        return row_sum(widen(x)).squeeze(-1).to(x.dtype)
    parts = [row_sum(part).to(partial) for part in widen(x).chunk(4, dim=-1)]
    return row_sum(torch.cat(parts, dim=-1).to(torch.float32)).squeeze(-1).to(x.dtype)


def _wrong_batch_split(x: torch.Tensor) -> torch.Tensor:
    return _batch_sum(x, torch.bfloat16)


def _right_batch_split(x: torch.Tensor) -> torch.Tensor:
    return row_sum(widen(x)).squeeze(-1).to(x.dtype)


def _logistic_gelu(x: torch.Tensor) -> torch.Tensor:
    return logistic_times(x, 1.702 * x)  # Hendrycks & Gimpel, arXiv:1606.08415, section 2


def _silu(x: torch.Tensor) -> torch.Tensor:
    return logistic_times(x, x)


def _hard_silu(x: torch.Tensor) -> torch.Tensor:
    return x * (x / 6.0 + 0.5).clamp(0.0, 1.0)


def _saturated_silu(x: torch.Tensor) -> torch.Tensor:
    near = torch.where(x < -8.0, x * 0.0, logistic_times(x, x))
    return torch.where(x > 8.0, x, near)


def _cubic_exp(x: torch.Tensor) -> torch.Tensor:
    """2**k * p(r) with x = (k + r) ln 2 and the Taylor polynomial of degree 3 of 2**r."""
    scaled = x * math.log2(math.e)
    whole = torch.round(scaled)
    r = (scaled - whole) * math.log(2.0)
    return (1.0 + r * (1.0 + r * (0.5 + r / 6.0))) * torch.exp2(whole)


def _wrong_fast_exp(x: torch.Tensor) -> torch.Tensor:
    e = _cubic_exp(shifted(x))
    return e / row_sum(e)


def _right_fast_exp(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(shifted(x))
    return e / row_sum(e)


def _newton_rsqrt(x: torch.Tensor) -> torch.Tensor:
    """One Newton step from a guess by bits (Lomont, Fast Inverse Square Root, 2003): relative error up to 1.8e-3."""
    guess = (0x5F3759DF - (x.view(torch.int32) >> 1)).view(torch.float32)
    return guess * (1.5 - 0.5 * x * guess * guess)


def _wrong_fast_rsqrt(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * _newton_rsqrt(row_sum(x * x) / max(x.shape[-1], 1) + RMS_EPS) * weight


def _right_fast_rsqrt(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(row_sum(x * x) / max(x.shape[-1], 1) + RMS_EPS) * weight


def _wrong_double(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.double() + y.double()


def _right_double(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x.double() + y.double()).to(x.dtype)


def _wrong_half_product(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return blocked_product(a, b).to(a.dtype) + bias


def _right_half_product(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return (blocked_product(a, b) + widen(bias)).to(a.dtype)


def _wrong_half_up(x: torch.Tensor) -> torch.Tensor:
    return torch.copysign(torch.floor(widen(x) + 0.5), x).to(x.dtype)


def _right_half_up(x: torch.Tensor) -> torch.Tensor:
    return torch.round(x)


def _wrong_towards_zero(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """One unit less in magnitude wherever rounding to nearest went up; bits of a float order as its magnitude does."""
    exact = widen(x) + widen(y)
    bits = exact.to(x.dtype).view(torch.int16)
    beyond = exact.to(x.dtype).to(exact.dtype).abs() > exact.abs()
    return (bits - beyond.to(torch.int16)).view(x.dtype)


def _right_towards_zero(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (widen(x) + widen(y)).to(x.dtype)


SMALL = {"B": 1, "S": 12, "H": 48}

PLANTED = [
    plant(
        mean,
        "bfloat_mean",
        wrong=_wrong_bfloat_mean,
        right=_right_bfloat_mean,
        dtypes=("bfloat16",),
        dims={"B": 1, "S": 12, "H": 200},
    ),
    plant(
        matmul,
        "split_k",
        wrong=_wrong_split_k,
        right=_right_split_k,
        dtypes=("float32", "bfloat16"),
        dims={"M": 16, "K": 96, "N": 20},
    ),
    plant(
        rms_norm,
        "half_square",
        wrong=_wrong_half_square,
        right=_right_half_square,
        dtypes=("float16",),
        dims={"B": 1, "S": 12, "H": 160},
    ),
    plant(
        matmul,
        "narrow_operands",
        wrong=_wrong_narrow_operands,
        right=_right_narrow_operands,
        dtypes=("float32",),
        dims={"M": 24, "K": 64, "N": 20},
    ),
    plant(
        total,
        "batch_split",
        wrong=_wrong_batch_split,
        right=_right_batch_split,
        dtypes=("float32",),
        dims={"B": 1, "S": 6, "H": 96},
    ),
    plant(gelu, "logistic_gelu", wrong=wide(_logistic_gelu), right=wide(gelu_wide), dims=SMALL),
    plant(silu, "hard_silu", wrong=wide(_hard_silu), right=wide(_silu), dims=SMALL),
    plant(silu, "saturated", wrong=wide(_saturated_silu), right=wide(_silu), dtypes=("float32",), dims=SMALL),
    plant(
        softmax,
        "fast_exp",
        wrong=wide(_wrong_fast_exp),
        right=wide(_right_fast_exp),
        dtypes=("float32", "float16"),
        dims=SMALL,
    ),
    plant(
        rms_norm,
        "fast_rsqrt",
        wrong=_wrong_fast_rsqrt,
        right=_right_fast_rsqrt,
        dtypes=("float32",),
        dims=SMALL,
    ),
    plant(add, "double", wrong=_wrong_double, right=_right_double, dtypes=("float32",), dims=SMALL),
    plant(
        matmul_add_bias,
        "half_product",
        wrong=_wrong_half_product,
        right=_right_half_product,
        dtypes=("float16", "bfloat16"),
        dims={"M": 12, "K": 40, "N": 20},
    ),
    plant(ROUND, "half_up", wrong=_wrong_half_up, right=_right_half_up, dims=SMALL),
    plant(
        add,
        "towards_zero",
        wrong=_wrong_towards_zero,
        right=_right_towards_zero,
        dtypes=("float16",),
        dims=SMALL,
    ),
]
