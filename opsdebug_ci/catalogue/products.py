"""Matrix products and convolution: matmul, matmul_add_bias, conv2d.

An empty inner dimension gives zeros. Convolution takes finite values only: whether a zero of the padding meets an
infinite weight (and makes a NaN) differs between correct algorithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view

from opsdebug_ci import operator, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS

BLOCK_K = 32
"""Inner tile: partial products of this length are added to one accumulator."""

KERNEL = 3
"""Convolution window; stride 1 and one zero of padding, so that the image keeps its size."""


def blocked_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b in the compute dtype, one tile of the inner dimension after the other."""
    left, right = widen(a), widen(b)
    total = left.new_zeros((a.shape[0], b.shape[1]))
    for start in range(0, a.shape[1], BLOCK_K):
        total += left[:, start : start + BLOCK_K] @ right[start : start + BLOCK_K]
    return total


def product_rows(a: Array, b: Array) -> Array:
    """Sum of a[m, k] * b[k, n] over k, term by term, in the precision of the arguments."""
    product: Array = np.einsum("mk,kn->mn", a, b)
    return product


def product_columns(a: Array, b: Array) -> Array:
    """The same sum as rank-one updates: last k first."""
    total = np.zeros((a.shape[0], b.shape[1]), dtype=a.dtype)
    for k in reversed(range(a.shape[1])):
        total += a[:, k, None] * b[None, k]
    return total


@operator(
    kind="matmul",
    dtypes=(*FLOATS, "float64"),
    dims={"M": 48, "K": 96, "N": 48},
    devices=("cpu", "cuda"),
    a=tensor("M K"),
    b=tensor("K N"),
)
def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b."""
    return blocked_product(a, b).to(a.dtype)


@matmul.reference("torch")
def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.matmul(a, b)


matmul.reference("naive")(in_float64(product_rows))
matmul.reference("precise")(in_extended(product_columns))
matmul.cost(flops(2, "M K N"))


@operator(
    kind="matmul",
    dtypes=FLOATS,
    dims={"M": 48, "K": 96, "N": 48},
    devices=("cpu", "cuda"),
    a=tensor("M K"),
    b=tensor("K N"),
    bias=tensor("N"),
)
def matmul_add_bias(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """a @ b + bias, the bias added before rounding to the output dtype."""
    return (blocked_product(a, b) + widen(bias)).to(a.dtype)


@matmul_add_bias.reference("torch")
def _(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.addmm(bias, a, b)


@matmul_add_bias.reference("naive")
@in_float64
def _(a: Array, b: Array, bias: Array) -> Array:
    return product_rows(a, b) + bias


@matmul_add_bias.reference("precise")
@in_extended
def _(a: Array, b: Array, bias: Array) -> Array:
    return bias + product_columns(a, b)


matmul_add_bias.cost(flops(2, "M K N"))


@operator(
    kind="matmul",
    dtypes=FLOATS,
    dims={"N": 1, "C": 3, "O": 4, "Y": 10, "X": 12},
    devices=("cpu", "cuda"),
    x=tensor("N C Y X", values="finite"),
    weight=tensor(f"O C {KERNEL} {KERNEL}", values="finite"),
    bias=tensor("O", values="finite"),
)
def conv2d(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Cross-correlation with a 3x3 window: nine shifted products over the channels, added up."""
    padded = torch.nn.functional.pad(widen(x), (1, 1, 1, 1))
    window = widen(weight)
    rows, columns = x.shape[2:]
    total = widen(bias)[:, None, None].repeat(x.shape[0], 1, rows, columns)
    for i in range(KERNEL):
        for j in range(KERNEL):
            total += torch.einsum("ncyx,oc->noyx", padded[:, :, i : i + rows, j : j + columns], window[:, :, i, j])
    return total.to(x.dtype)


@conv2d.requires
def _(case: Any) -> bool | str:
    empty = [name for name in ("C", "O", "Y", "X") if case.dims[name] == 0]
    return not empty or f"a convolution without {', '.join(empty)} is undefined in the framework"


@conv2d.reference("torch")
def _(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv2d(x, weight, bias, padding=1)


def _padded(x: Array) -> Array:
    return np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))


@conv2d.reference("naive")
@in_float64
def _(x: Array, weight: Array, bias: Array) -> Array:
    padded = _padded(x)
    result = np.empty((x.shape[0], weight.shape[0], *x.shape[2:]))
    for y in range(x.shape[2]):
        patch = sliding_window_view(padded[:, :, y : y + KERNEL], KERNEL, axis=3)
        result[:, :, y] = np.einsum("ncixj,ocij->nox", patch, weight) + bias[:, None]
    return result


@conv2d.reference("precise")
@in_extended
def _(x: Array, weight: Array, bias: Array) -> Array:
    patches = sliding_window_view(_padded(x), (KERNEL, KERNEL), axis=(2, 3))
    result: Array = np.einsum("ocij,ncyxij->noyx", weight, patches) + bias[:, None, None]
    return result


conv2d.cost(flops(2 * KERNEL**2, "N C O Y X"))

OPERATORS = [matmul, matmul_add_bias, conv2d]
