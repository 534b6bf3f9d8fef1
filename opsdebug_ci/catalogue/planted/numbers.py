"""Defects of a number: a constant, a sign, a scale, a precision, a rounding, a dtype."""

from __future__ import annotations

import math

import torch

from opsdebug_ci import Operator, tensor
from opsdebug_ci.catalogue.activations import gelu, gelu_wide, logistic_times, silu
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.attention import attention
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE, add
from opsdebug_ci.catalogue.normalisation import LAYER_EPS, layer_norm, normalised
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.reductions import total


def _wrong_eps(x: torch.Tensor) -> torch.Tensor:
    return normalised(widen(x), LAYER_EPS / 10).to(x.dtype)


def _right_eps(x: torch.Tensor) -> torch.Tensor:
    return normalised(widen(x), LAYER_EPS).to(x.dtype)


def _wrong_sign(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (widen(y) - widen(x)).to(x.dtype)


def _right_sign(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (widen(x) - widen(y)).to(x.dtype)


def _difference(x: Array, y: Array) -> Array:
    return x - y


SUBTRACT = Operator(
    "subtract",
    _right_sign,
    {"x": tensor(SHAPE), "y": tensor(SHAPE)},
    {"torch": torch.sub, "naive": in_float64(_difference), "precise": in_extended(_difference)},
    kind="elementwise",
    dtypes=FLOATS,
    cost=add.cost_function,
)
"""x - y; what both twins of `sign` are declared like."""


def _scaled_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float) -> torch.Tensor:
    scores = widen(q) @ widen(k).transpose(-1, -2) * scale
    return (torch.softmax(scores, dim=-1) @ widen(v)).to(q.dtype)


def _wrong_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return _scaled_attention(q, k, v, 1.0 / max(q.shape[-1], 1))


def _right_scale(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return _scaled_attention(q, k, v, 1.0 / math.sqrt(max(q.shape[-1], 1)))


def _serial_sum(x: torch.Tensor, accumulator: torch.dtype) -> torch.Tensor:
    result = x.new_zeros(x.shape[:-1], dtype=accumulator)
    for column in range(x.shape[-1]):
        result = result + x[..., column].to(accumulator)
    return result.to(x.dtype)


def _wrong_accumulator(x: torch.Tensor) -> torch.Tensor:
    return _serial_sum(x, x.dtype)


def _right_accumulator(x: torch.Tensor) -> torch.Tensor:
    return _serial_sum(x, torch.float32)


def _wrong_gelu(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(widen(x), approximate="tanh").to(x.dtype)


def _right_gelu(x: torch.Tensor) -> torch.Tensor:
    return gelu_wide(widen(x)).to(x.dtype)


def _wrong_dtype(x: torch.Tensor) -> torch.Tensor:
    wide = widen(x)
    return logistic_times(wide, wide)


def _right_dtype(x: torch.Tensor) -> torch.Tensor:
    wide = widen(x)
    return logistic_times(wide, wide).to(x.dtype)


def _wrong_rounding(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    bits = (widen(x) + widen(y)).view(torch.int32)
    return (bits & ~0xFFFF).view(torch.float32).to(x.dtype)


def _right_rounding(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (widen(x) + widen(y)).to(x.dtype)


PLANTED = [
    plant(
        layer_norm,
        "eps",
        wrong=_wrong_eps,
        right=_right_eps,
        dtypes=("float32",),
        dims={"B": 1, "S": 16, "H": 64},
    ),
    plant(
        SUBTRACT,
        "sign",
        wrong=_wrong_sign,
        right=_right_sign,
        dims={"B": 1, "S": 16, "H": 64},
    ),
    plant(
        attention,
        "scale",
        wrong=_wrong_scale,
        right=_right_scale,
    ),
    plant(
        total,
        "accumulator",
        wrong=_wrong_accumulator,
        right=_right_accumulator,
        dtypes=("float16",),
        dims={"B": 1, "S": 16, "H": 256},
    ),
    plant(
        gelu,
        "gelu",
        wrong=_wrong_gelu,
        right=_right_gelu,
        dtypes=("float32", "float16"),
        dims={"B": 1, "S": 16, "H": 64},
    ),
    plant(
        silu,
        "dtype",
        wrong=_wrong_dtype,
        right=_right_dtype,
        dtypes=("float16", "bfloat16"),
        dims={"B": 1, "S": 16, "H": 64},
    ),
    plant(
        add,
        "rounding",
        wrong=_wrong_rounding,
        right=_right_rounding,
        dtypes=("bfloat16",),
        dims={"B": 1, "S": 16, "H": 64},
    ),
]
