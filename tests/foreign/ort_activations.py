"""Elementwise operators of onnxruntime's CPU provider.

The ONNX specification says nothing of NaN: IEEE 754 decides, so it propagates.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from onnx_node import run
from textbook import Array, textbook

from opsdebug_ci import Operator, operator, tensor

FLOATS = ("float32", "float16")
DIMS = {"B": 2, "S": 6, "H": 24}

each_erf = np.vectorize(math.erf, otypes=[np.float64])
each_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def sigmoid_naive(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def gelu_naive(x: Array) -> Array:
    return 0.5 * x * each_erfc(-x / math.sqrt(2.0))


def gelu_tanh_naive(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


@operator(kind="transcendental", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_gelu(x):
    return run("Gelu", x)


@ort_gelu.reference("torch")
def _(x):
    return torch.nn.functional.gelu(x)


ort_gelu.reference("naive")(textbook(gelu_naive))


@operator(kind="transcendental", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_gelu_tanh(x):
    return run("Gelu", x, approximate="tanh")


@ort_gelu_tanh.reference("torch")
def _(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


ort_gelu_tanh.reference("naive")(textbook(gelu_tanh_naive))


@operator(kind="transcendental", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"), bias=tensor("H"))
def ort_bias_gelu(x, bias):
    return run("BiasGelu", x, bias, domain="com.microsoft")


@ort_bias_gelu.reference("torch")
def _(x, bias):
    return torch.nn.functional.gelu(x + bias)


ort_bias_gelu.reference("naive")(textbook(lambda x, bias: gelu_naive(x + bias)))


@operator(kind="transcendental", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"), bias=tensor("H"))
def ort_fast_gelu(x, bias):
    return run("FastGelu", x, bias, domain="com.microsoft")


@ort_fast_gelu.reference("torch")
def _(x, bias):
    return torch.nn.functional.gelu(x.float() + bias.float(), approximate="tanh").to(x.dtype)


ort_fast_gelu.reference("naive")(textbook(lambda x, bias: gelu_tanh_naive(x + bias)))


@operator(kind="transcendental", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_quick_gelu(x):
    return run("QuickGelu", x, domain="com.microsoft", alpha=1.0)


@ort_quick_gelu.reference("torch")
def _(x):
    return torch.nn.functional.silu(x)


ort_quick_gelu.reference("naive")(textbook(lambda x: x / (1.0 + np.exp(-x))))


@operator(kind="transcendental", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_erf(x):
    return run("Erf", x)


@ort_erf.reference("torch")
def _(x):
    return torch.erf(x)


ort_erf.reference("naive")(textbook(each_erf))


@operator(kind="transcendental", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_sigmoid(x):
    return run("Sigmoid", x)


@ort_sigmoid.reference("torch")
def _(x):
    return torch.sigmoid(x)


ort_sigmoid.reference("naive")(textbook(sigmoid_naive))


@operator(kind="elementwise", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"), low=-1.0, high=1.5)
def ort_clip(x, low, high):
    return run("Clip", x, torch.tensor(low, dtype=x.dtype), torch.tensor(high, dtype=x.dtype))


@ort_clip.reference("torch")
def _(x, low, high):
    return torch.clamp(x, low, high)


ort_clip.reference("naive")(textbook(lambda x, low, high: np.minimum(np.maximum(x, low), high)))

OPERATORS: list[Operator] = [
    ort_gelu,
    ort_gelu_tanh,
    ort_bias_gelu,
    ort_fast_gelu,
    ort_quick_gelu,
    ort_erf,
    ort_sigmoid,
    ort_clip,
]
