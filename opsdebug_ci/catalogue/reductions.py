"""Reductions and a scan over the last axis: sum, mean, logsumexp, cumsum.

Sums start from +0, so a row of -0 sums to +0. Empty rows: sum 0, mean NaN, logsumexp -inf, cumsum empty.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from opsdebug_ci import operator, tensor
from opsdebug_ci.catalogue.arithmetic import row_max, row_sum, widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE


def running_sum(x: Array) -> Array:
    """Sum of the last axis, first element first."""
    total = np.zeros(x.shape[:-1])
    for j in range(x.shape[-1]):
        total = total + x[..., j]
    return total


def exact_sum(x: Array) -> Array:
    """Sum of the last axis rounded once (`math.fsum`); rows with opposite infinities are NaN."""
    rows = x.reshape(-1, x.shape[-1]) if x.size else np.zeros((math.prod(x.shape[:-1]), 0))
    return np.array([_exact_row_sum(row) for row in rows], dtype=np.float64).reshape(x.shape[:-1])


def _exact_row_sum(row: Array) -> float:
    if not np.isfinite(row).all():
        return float(np.sum(row))
    return math.fsum(row.tolist())


@operator("sum", kind="reduction", dtypes=FLOATS, devices=("cpu", "cuda"), x=tensor(SHAPE))
def total(x: torch.Tensor) -> torch.Tensor:
    """Sum of each row."""
    return row_sum(widen(x)).squeeze(-1).to(x.dtype)


@total.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return x.sum(dim=-1)


total.reference("naive")(in_float64(running_sum))
total.reference("precise")(in_float64(exact_sum))
total.cost(flops(1, SHAPE))


@operator(kind="reduction", dtypes=FLOATS, devices=("cpu", "cuda"), x=tensor(SHAPE))
def mean(x: torch.Tensor) -> torch.Tensor:
    """Mean of each row."""
    return (row_sum(widen(x)).squeeze(-1) / x.shape[-1]).to(x.dtype)


@mean.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return x.mean(dim=-1)


@mean.reference("naive")
@in_float64
def _(x: Array) -> Array:
    return np.divide(running_sum(x), x.shape[-1])


@mean.reference("precise")
@in_float64
def _(x: Array) -> Array:
    return np.divide(exact_sum(x), x.shape[-1])


mean.cost(flops(1, SHAPE))


@operator(kind="reduction", dtypes=FLOATS, devices=("cpu", "cuda"), x=tensor(SHAPE))
def logsumexp(x: torch.Tensor) -> torch.Tensor:
    """max + log(sum(exp(x - max))); an infinite maximum is not subtracted."""
    wide = widen(x)
    if x.shape[-1] == 0:
        return x.new_full(x.shape[:-1], -math.inf)
    peak = row_max(wide)
    peak = torch.where(torch.isinf(peak), torch.zeros_like(peak), peak)
    return (torch.log(row_sum(torch.exp(wide - peak))) + peak).squeeze(-1).to(x.dtype)


@logsumexp.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.logsumexp(x, dim=-1)


@logsumexp.reference("naive")
@in_float64
def _(x: Array) -> Array:
    peak = np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    peak = np.where(np.isinf(peak), 0.0, peak)
    logarithm: Array = np.log(running_sum(np.exp(x - peak))) + peak[..., 0]
    return logarithm


@logsumexp.reference("precise")
@in_extended
def _(x: Array) -> Array:
    """log(exp(a) + exp(b)) folded over the row."""
    folded: Array = np.logaddexp.reduce(x, axis=-1, initial=-np.inf)
    return folded


logsumexp.cost(flops(4, SHAPE))


@operator(kind="scan", dtypes=FLOATS, devices=("cpu", "cuda"), x=tensor(SHAPE))
def cumsum(x: torch.Tensor) -> torch.Tensor:
    """Inclusive prefix sums in ceil(log2(n)) shifted additions (Hillis & Steele, CACM 29(12), 1986, p. 1173)."""
    prefix = widen(x) + 0.0
    step = 1
    while step < x.shape[-1]:
        prefix = torch.cat([prefix[..., :step], prefix[..., step:] + prefix[..., :-step]], dim=-1)
        step *= 2
    return prefix.to(x.dtype)


@cumsum.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x, dim=-1)


@cumsum.reference("naive")
@in_float64
def _(x: Array) -> Array:
    prefix = np.empty(x.shape)
    total = np.zeros(x.shape[:-1])
    for j in range(x.shape[-1]):
        total = total + x[..., j]
        prefix[..., j] = total
    return prefix


@cumsum.reference("precise")
@in_extended
def _(x: Array) -> Array:
    return np.cumsum(x, axis=-1) + 0.0


cumsum.cost(flops(1, SHAPE))

OPERATORS = [total, mean, logsumexp, cumsum]
