"""Normalisations over the last axis: layer_norm, layer_norm_bias, rms_norm.

Variance in two passes (Chan, Golub & LeVeque, Amer. Statist. 37(3), 1983, eq. 1.5 has the one-pass formula we avoid),
divided by n. A row that holds a non-finite value has a NaN mean or an infinite square, and IEEE 754 decides the rest.
"""

from __future__ import annotations

import numpy as np
import torch

from opsdebug_ci import operator, tensor
from opsdebug_ci.catalogue.arithmetic import row_sum, widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE

LAYER_EPS = 1e-5
"""Added to the variance: the framework's default."""

RMS_EPS = 1e-6
"""Added to the mean square: the value most language models use."""


def normalised(x: torch.Tensor, eps: float) -> torch.Tensor:
    """(x - mean) / sqrt(variance + eps) over the last axis, in the dtype of `x`."""
    n = max(x.shape[-1], 1)
    centred = x - row_sum(x) / n
    return centred * torch.rsqrt(row_sum(centred * centred) / n + eps)


def normalised_rows(x: Array, eps: float) -> Array:
    """(x - mean) / sqrt(variance + eps) over the last axis, in the precision of `x`."""
    n = x.shape[-1]
    mean = np.sum(x, axis=-1, keepdims=True) / n
    variance = np.sum((x - mean) ** 2, axis=-1, keepdims=True) / n
    normal: Array = (x - mean) / np.sqrt(variance + eps)
    return normal


@operator(kind="norm", dtypes=FLOATS, devices=("cpu", "cuda"), x=tensor(SHAPE))
def layer_norm(x: torch.Tensor) -> torch.Tensor:
    """Layer norm without weight and bias (Ba, Kiros & Hinton, arXiv:1607.06450, eq. 3)."""
    return normalised(widen(x), LAYER_EPS).to(x.dtype)


@layer_norm.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=LAYER_EPS)


@layer_norm.reference("naive")
@in_float64
def _(x: Array) -> Array:
    return normalised_rows(x, LAYER_EPS)


@layer_norm.reference("precise")
@in_extended
def _(x: Array) -> Array:
    return normalised_rows(x, LAYER_EPS)


layer_norm.cost(flops(6, SHAPE))


@operator(
    kind="norm",
    dtypes=FLOATS,
    devices=("cpu", "cuda"),
    x=tensor(SHAPE),
    weight=tensor("H"),
    bias=tensor("H"),
)
def layer_norm_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Layer norm times weight plus bias."""
    return (normalised(widen(x), LAYER_EPS) * widen(weight) + widen(bias)).to(x.dtype)


@layer_norm_bias.reference("torch")
def _(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps=LAYER_EPS)


@layer_norm_bias.reference("naive")
@in_float64
def _(x: Array, weight: Array, bias: Array) -> Array:
    return normalised_rows(x, LAYER_EPS) * weight + bias


@layer_norm_bias.reference("precise")
@in_extended
def _(x: Array, weight: Array, bias: Array) -> Array:
    return normalised_rows(x, LAYER_EPS) * weight + bias


layer_norm_bias.cost(flops(8, SHAPE))


@operator(kind="norm", dtypes=FLOATS, devices=("cpu", "cuda"), x=tensor(SHAPE), weight=tensor("H"))
def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x / sqrt(mean(x**2) + eps) * weight (Zhang & Sennrich, arXiv:1910.07467, eq. 4)."""
    wide = widen(x)
    mean_square = row_sum(wide * wide) / max(x.shape[-1], 1)
    return (wide * torch.rsqrt(mean_square + RMS_EPS) * widen(weight)).to(x.dtype)


@rms_norm.reference("torch")
def _(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps=RMS_EPS)


def rms_rows(x: Array, weight: Array) -> Array:
    """RMS norm of the last axis, in the precision of the arguments."""
    normal: Array = x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True) / x.shape[-1] + RMS_EPS) * weight
    return normal


rms_norm.reference("naive")(in_float64(rms_rows))
rms_norm.reference("precise")(in_extended(rms_rows))
rms_norm.cost(flops(5, SHAPE))

OPERATORS = [layer_norm, layer_norm_bias, rms_norm]
