"""Operators that round once per output: add, mul_add."""

from __future__ import annotations

import torch

from opsdebug_ci import operator, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops

FLOATS = ("float32", "float16", "bfloat16")
"""The dtypes kernels are usually written for."""

SHAPE = "B S H"


@operator(kind="elementwise", dtypes=(*FLOATS, "float64"), devices=("cpu", "cuda"), x=tensor(SHAPE), y=tensor(SHAPE))
def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x + y."""
    return (widen(x) + widen(y)).to(x.dtype)


@add.reference("torch")
def _(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.add(x, y)


@add.reference("naive")
@in_float64
def _(x: Array, y: Array) -> Array:
    return x + y


@add.reference("precise")
@in_extended
def _(x: Array, y: Array) -> Array:
    """x - (-y): the same sum by the other instruction, in wider registers."""
    return x - (-y)


add.cost(flops(1, SHAPE))


@operator(
    kind="elementwise",
    dtypes=FLOATS,
    devices=("cpu", "cuda"),
    x=tensor(SHAPE),
    y=tensor(SHAPE),
    z=tensor(SHAPE),
)
def mul_add(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """x * y + z, in two roundings of the compute dtype."""
    return (widen(x) * widen(y) + widen(z)).to(x.dtype)


@mul_add.reference("torch")
def _(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    return x * y + z


@mul_add.reference("naive")
@in_float64
def _(x: Array, y: Array, z: Array) -> Array:
    return x * y + z


@mul_add.reference("precise")
@in_extended
def _(x: Array, y: Array, z: Array) -> Array:
    return z + y * x


mul_add.cost(flops(2, SHAPE))

OPERATORS = [add, mul_add]
