"""Activations: gelu (both kinds), silu, swiglu, gelu_add_residual.

Every kernel avoids the cancellation of the textbook formula for negative arguments, so that small results keep their
relative accuracy: erfc for `1 + erf`, and the square of exp(-|t|/2) for the logistic function.
At -inf each formula is -inf * 0, a NaN, in the framework and here alike.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from opsdebug_ci import Contract, operator, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE
from opsdebug_ci.catalogue.normal_tail import erfc

SQRT_HALF = math.sqrt(0.5)
TANH_SCALE = math.sqrt(2.0 / math.pi)
TANH_CUBIC = 0.044715
"""Constants of the tanh form (Hendrycks & Gimpel, arXiv:1606.08415, section 2)."""

FLUSHES = Contract(allow=("ftz",))
"""Far out in the tail a subnormal factor is multiplied up again, so results there are good to the smallest normal."""

_each_erfc = np.frompyfunc(math.erfc, 1, 1)


def gelu_wide(x: torch.Tensor) -> torch.Tensor:
    """x * Phi(x) = x/2 * erfc(-x / sqrt(2)), in the dtype of `x`."""
    return 0.5 * x * torch.erfc(x * -SQRT_HALF)


def logistic_times(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """x / (1 + exp(-t)). With h = exp(-|t|/2) nothing overflows, and x*h*h is rounded to subnormal only once."""
    h = torch.exp(-0.5 * t.abs())
    return torch.where(t < 0, x * h * h, x) / (1.0 + h * h)


def gelu_naive(x: Array) -> Array:
    """x/2 * erfc(-x / sqrt(2)), one `math.erfc` per element."""
    tail: Array = np.asarray(_each_erfc(x * -SQRT_HALF), dtype=np.float64)
    return 0.5 * x * tail


@operator(kind="transcendental", dtypes=FLOATS, devices=("cpu", "cuda"), contract=FLUSHES, x=tensor(SHAPE))
def gelu(x: torch.Tensor) -> torch.Tensor:
    """x * Phi(x)."""
    return gelu_wide(widen(x)).to(x.dtype)


@gelu.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x)


gelu.reference("naive")(in_float64(gelu_naive))


@gelu.reference("precise")
@in_float64
def _(x: Array) -> Array:
    return 0.5 * x * erfc(x * -SQRT_HALF)


gelu.cost(flops(4, SHAPE))


@operator(kind="transcendental", dtypes=FLOATS, devices=("cpu", "cuda"), contract=FLUSHES, x=tensor(SHAPE))
def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    """x/2 * (1 + tanh(t)) = x / (1 + exp(-2t)), t = sqrt(2/pi) * (x + 0.044715 x**3)."""
    wide = widen(x)
    return logistic_times(wide, 2.0 * TANH_SCALE * wide * (1.0 + TANH_CUBIC * wide * wide)).to(x.dtype)


@gelu_tanh.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


@gelu_tanh.reference("naive")
@in_float64
def _(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(TANH_SCALE * (x + TANH_CUBIC * x**3)))


@gelu_tanh.reference("precise")
@in_extended
def _(x: Array) -> Array:
    return x / (1.0 + np.exp(-2.0 * TANH_SCALE * (x + TANH_CUBIC * x**3)))


gelu_tanh.cost(flops(9, SHAPE))


@operator(kind="transcendental", dtypes=FLOATS, devices=("cpu", "cuda"), contract=FLUSHES, x=tensor(SHAPE))
def silu(x: torch.Tensor) -> torch.Tensor:
    """x / (1 + exp(-x))."""
    wide = widen(x)
    return logistic_times(wide, wide).to(x.dtype)


@silu.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(x)


@silu.reference("naive")
@in_float64
def _(x: Array) -> Array:
    return x / (1.0 + np.exp(-x))


@silu.reference("precise")
@in_extended
def _(x: Array) -> Array:
    """x * exp(x) / (1 + exp(x)) for negative x, the textbook formula otherwise."""
    e = np.exp(-np.abs(x))
    return np.where(x < 0, x * e, x) / (1.0 + e)


silu.cost(flops(4, SHAPE))


@operator(
    kind="transcendental",
    dtypes=FLOATS,
    devices=("cpu", "cuda"),
    contract=FLUSHES,
    gate=tensor(SHAPE),
    up=tensor(SHAPE),
)
def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up (Shazeer, arXiv:2002.05202, eq. 6)."""
    wide = widen(gate)
    return (logistic_times(wide, wide) * widen(up)).to(gate.dtype)


@swiglu.reference("torch")
def _(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(gate) * up


@swiglu.reference("naive")
@in_float64
def _(gate: Array, up: Array) -> Array:
    return gate / (1.0 + np.exp(-gate)) * up


@swiglu.reference("precise")
@in_extended
def _(gate: Array, up: Array) -> Array:
    e = np.exp(-np.abs(gate))
    return up * (np.where(gate < 0, gate * e, gate) / (1.0 + e))


swiglu.cost(flops(5, SHAPE))


@operator(
    kind="transcendental",
    dtypes=FLOATS,
    devices=("cpu", "cuda"),
    contract=FLUSHES,
    x=tensor(SHAPE),
    residual=tensor(SHAPE),
)
def gelu_add_residual(x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """gelu(x) + residual."""
    return (gelu_wide(widen(x)) + widen(residual)).to(x.dtype)


@gelu_add_residual.reference("torch")
def _(x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x) + residual


@gelu_add_residual.reference("naive")
@in_float64
def _(x: Array, residual: Array) -> Array:
    return gelu_naive(x) + residual


@gelu_add_residual.reference("precise")
@in_float64
def _(x: Array, residual: Array) -> Array:
    return residual + 0.5 * x * erfc(x * -SQRT_HALF)


gelu_add_residual.cost(flops(5, SHAPE))

OPERATORS = [gelu, gelu_tanh, silu, swiglu, gelu_add_residual]
