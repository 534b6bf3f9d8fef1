"""Defects at the ends of a format and of a size: comparisons with NaN, infinities, subnormal numbers, nothing."""

from __future__ import annotations

import math

import torch

from opsdebug_ci.catalogue.arithmetic import row_max, row_sum, widen
from opsdebug_ci.catalogue.elementwise import FLOATS
from opsdebug_ci.catalogue.planted.originals import ABSOLUTE, LEAK, LEAKY, wide
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.products import blocked_product, matmul
from opsdebug_ci.catalogue.reductions import logsumexp, mean
from opsdebug_ci.catalogue.softmaxes import shifted, softmax

SMALL = {"B": 1, "S": 12, "H": 24}


def _wrong_nan_compare(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x >= 0, x, torch.where(x < 0, LEAK * x, 0.0))


def _right_nan_compare(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x >= 0, x, LEAK * x)


def _logsumexp(x: torch.Tensor, peak: torch.Tensor) -> torch.Tensor:
    return (torch.log(row_sum(torch.exp(x - peak))) + peak).squeeze(-1)


def _wrong_nothing_seen(x: torch.Tensor) -> torch.Tensor:
    if x.shape[-1] == 0:
        return x.new_full(x.shape[:-1], -math.inf)
    peak = row_max(x)
    return _logsumexp(x, torch.where(peak == math.inf, torch.zeros_like(peak), peak))


def _right_nothing_seen(x: torch.Tensor) -> torch.Tensor:
    if x.shape[-1] == 0:
        return x.new_full(x.shape[:-1], -math.inf)
    peak = row_max(x)
    return _logsumexp(x, torch.where(peak.isinf(), torch.zeros_like(peak), peak))


def _wrong_unshifted(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(x)
    return e / row_sum(e)


def _right_unshifted(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(shifted(x))
    return e / row_sum(e)


def _wrong_zero_kept(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x < 0, -x, x)


def _right_zero_kept(x: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.signbit(x), -x, x)


def _wrong_flush(x: torch.Tensor) -> torch.Tensor:
    size = x.abs()
    return torch.where(size < torch.finfo(x.dtype).smallest_normal, 0.0, size)


def _right_flush(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, 0.0, x.abs())


def _wrong_empty_mean(x: torch.Tensor) -> torch.Tensor:
    return (row_sum(widen(x)).squeeze(-1) / max(x.shape[-1], 1)).to(x.dtype)


def _right_empty_mean(x: torch.Tensor) -> torch.Tensor:
    return (row_sum(widen(x)).squeeze(-1) / x.shape[-1]).to(x.dtype)


def _wrong_empty_inner(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
    return out.copy_(blocked_product(a, b)) if a.shape[1] else out


def _right_empty_inner(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
    return out.copy_(blocked_product(a, b))


PLANTED = [
    plant(LEAKY, "nan_compare", wrong=_wrong_nan_compare, right=_right_nan_compare, dims=SMALL),
    plant(
        logsumexp,
        "nothing_seen",
        wrong=wide(_wrong_nothing_seen),
        right=wide(_right_nothing_seen),
        dtypes=("float32",),
        dims=SMALL,
    ),
    plant(
        softmax,
        "unshifted",
        wrong=wide(_wrong_unshifted),
        right=wide(_right_unshifted),
        dtypes=FLOATS,
        dims=SMALL,
    ),
    plant(ABSOLUTE, "zero_kept", wrong=_wrong_zero_kept, right=_right_zero_kept, dims=SMALL),
    plant(ABSOLUTE, "flush", wrong=_wrong_flush, right=_right_flush, dims=SMALL),
    plant(mean, "empty_mean", wrong=_wrong_empty_mean, right=_right_empty_mean, dims=SMALL),
    plant(
        matmul,
        "empty_inner",
        wrong=_wrong_empty_inner,
        right=_right_empty_inner,
        dtypes=FLOATS,
        dims={"M": 12, "K": 20, "N": 16},
    ),
]
