"""Products of onnxruntime's CPU provider: matrix products, convolution, attention."""

from __future__ import annotations

import math

import numpy as np
import torch
from onnx_node import run
from textbook import Array, textbook

from opsdebug_ci import Contract, Operator, operator, tensor

FLOATS = ("float32", "float16")


@operator(kind="matmul", dtypes=FLOATS, dims={"B": 2, "M": 7, "K": 24, "N": 9}, a=tensor("B M K"), b=tensor("K N"))
def ort_matmul(a, b):
    return run("MatMul", a, b)


@ort_matmul.reference("torch")
def _(a, b):
    return torch.matmul(a, b)


ort_matmul.reference("naive")(textbook(lambda a, b: np.einsum("bmk,kn->bmn", a, b)))


@operator(kind="matmul", dtypes=FLOATS, dims={"M": 7, "K": 24, "N": 9}, a=tensor("M K"), b=tensor("N K"), c=tensor("N"))
def ort_gemm(a, b, c):
    return run("Gemm", a, b, c, transB=1, alpha=0.5, beta=2.0)


@ort_gemm.reference("torch")
def _(a, b, c):
    return torch.addmm(c, a, b.T, beta=2.0, alpha=0.5)


ort_gemm.reference("naive")(textbook(lambda a, b, c: 0.5 * np.einsum("mk,nk->mn", a, b) + 2.0 * c))


@operator(
    kind="matmul",
    dtypes=FLOATS,
    dims={"N": 2, "C": 3, "Y": 9, "X": 11, "O": 4},
    x=tensor("N C Y X"),
    weight=tensor("O C 3 3"),
    bias=tensor("O"),
)
def ort_conv(x, weight, bias):
    return run("Conv", x, weight, bias, kernel_shape=(3, 3), pads=(1, 1, 1, 1), strides=(2, 1))


@ort_conv.requires
def _(case):
    """No channels: onnxruntime and the textbook return the bias, the framework returns no channels either."""
    return case.dims["C"] > 0 or "the framework's convolution of no channels is not a reference"


@ort_conv.reference("torch")
def _(x, weight, bias):
    return torch.nn.functional.conv2d(x, weight, bias, stride=(2, 1), padding=1)


@ort_conv.reference("naive")
@textbook
def _(x: Array, weight: Array, bias: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2]
    return np.einsum("ncyxij,ocij->noyx", windows, weight) + bias[:, None, None]


def sees_keys(case):
    """Softmax over no keys, and the default scale 1/sqrt(0), are undefined."""
    return (case.dims["T"] > 0 and case.dims["D"] > 0) or "attention to no keys, or in no dimension, is undefined"


def scores_fit(case):
    """The ONNX definition forms the scores in the type of the inputs: in float16 they overflow at 65520."""
    overflows = case.dtype == "float16" and case.inputs in ("large", "index_coded")
    return "the scores of such values overflow float16, by definition" if overflows else sees_keys(case)


def attend(q, k, v):
    return run("Attention", q, k, v)


def attention_torch(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


@textbook
def attention_naive(q: Array, k: Array, v: Array) -> Array:
    scores = np.einsum("basd,batd->bast", q, k) / math.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return np.einsum("bast,batd->basd", weights / weights.sum(axis=-1, keepdims=True), v)


HEADS = {
    "q": tensor("B A S D", values="finite"),
    "k": tensor("B A T D", values="finite"),
    "v": tensor("B A T D", values="finite"),
}

ort_attention = Operator(
    "ort_attention",
    attend,
    HEADS,
    {"torch": attention_torch, "naive": attention_naive},
    kind="attention",
    dims={"B": 2, "A": 2, "S": 6, "T": 10, "D": 8},
    requires=sees_keys,
)

ort_attention_half = Operator(
    "ort_attention_half",
    attend,
    HEADS,
    {"torch": attention_torch, "naive": attention_naive},
    kind="attention",
    dtypes=("float16",),
    dims={"B": 2, "A": 2, "S": 6, "T": 10, "D": 8},
    contract=Contract(accumulate="float16"),
    requires=scores_fit,
)
