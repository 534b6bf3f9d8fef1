"""Softmax and log-softmax over the last axis.

A row that holds NaN or +inf, or nothing but -inf, is NaN throughout; an empty row stays empty.
"""

from __future__ import annotations

import numpy as np
import torch

from opsdebug_ci import Contract, operator, tensor
from opsdebug_ci.catalogue.arithmetic import row_max, row_sum, widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE

FLUSHES = Contract(allow=("ftz",))
"""A subnormal exponential has few bits left before it is divided, so such results, and what they
weigh, are good to the smallest normal."""


def shifted(x: torch.Tensor) -> torch.Tensor:
    """x minus its row's maximum; empty rows stay empty."""
    return x - row_max(x) if x.shape[-1] else x


@operator(kind="softmax", dtypes=(*FLOATS, "float64"), devices=("cpu", "cuda"), contract=FLUSHES, x=tensor(SHAPE))
def softmax(x: torch.Tensor) -> torch.Tensor:
    """exp(x - max) / sum(exp(x - max))."""
    e = torch.exp(shifted(widen(x)))
    return (e / row_sum(e)).to(x.dtype)


@softmax.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.softmax(x, dim=-1)


def softmax_rows(x: Array) -> Array:
    """Softmax of the last axis, in the precision of `x`."""
    e: Array = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    share: Array = e / np.sum(e, axis=-1, keepdims=True)
    return share


softmax.reference("naive")(in_float64(softmax_rows))


@softmax.reference("precise")
@in_extended
def _(x: Array) -> Array:
    """exp of the log-softmax: the other order of division and exponential."""
    return np.exp(log_softmax_rows(x))


softmax.cost(flops(5, SHAPE))


@operator(kind="log_softmax", dtypes=FLOATS, devices=("cpu", "cuda"), x=tensor(SHAPE))
def log_softmax(x: torch.Tensor) -> torch.Tensor:
    """(x - max) - log(sum(exp(x - max)))."""
    z = shifted(widen(x))
    return (z - torch.log(row_sum(torch.exp(z)))).to(x.dtype)


@log_softmax.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.log_softmax(x, dim=-1)


def log_softmax_rows(x: Array) -> Array:
    """Log-softmax of the last axis, in the precision of `x`."""
    z: Array = x - np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    logarithm: Array = z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))
    return logarithm


log_softmax.reference("naive")(in_float64(log_softmax_rows))
log_softmax.reference("precise")(in_extended(log_softmax_rows))
log_softmax.cost(flops(5, SHAPE))

OPERATORS = [softmax, log_softmax]
