"""Operators over one axis of onnxruntime's CPU provider: softmaxes, normalisations, reductions, a scan."""

from __future__ import annotations

import numpy as np
import torch
from onnx_node import run
from textbook import Array, textbook

from opsdebug_ci import operator, tensor

FLOATS = ("float32", "float16")
DIMS = {"B": 2, "S": 6, "H": 24}
EPS = 1e-5


def has_elements(case):
    """ONNX leaves the mean over nothing undefined (ReduceMean, and the bodies of the normalisations)."""
    return case.dims["H"] > 0 or "the mean over an empty set of values is undefined"


@operator(kind="softmax", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_softmax(x):
    return run("Softmax", x, axis=-1)


@ort_softmax.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@ort_softmax.reference("naive")
@textbook
def _(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=-1, keepdims=True)


@operator(kind="log_softmax", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_log_softmax(x):
    return run("LogSoftmax", x, axis=-1)


@ort_log_softmax.reference("torch")
def _(x):
    return torch.log_softmax(x, dim=-1)


@ort_log_softmax.reference("naive")
@textbook
def _(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def layer_norm_naive(x: Array, weight: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPS) * weight + bias


@operator(kind="norm", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"), weight=tensor("H"), bias=tensor("H"))
def ort_layer_norm(x, weight, bias):
    return run("LayerNormalization", x, weight, bias, epsilon=EPS)


ort_layer_norm.requires(has_elements)


@ort_layer_norm.reference("torch")
def _(x, weight, bias):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps=EPS)


ort_layer_norm.reference("naive")(textbook(layer_norm_naive))


@operator(
    kind="norm", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"), skip=tensor("B S H"), weight=tensor("H"), bias=tensor("H")
)
def ort_skip_layer_norm(x, skip, weight, bias):
    return run("SkipLayerNormalization", x, skip, weight, bias, domain="com.microsoft", epsilon=EPS)


ort_skip_layer_norm.requires(has_elements)


@ort_skip_layer_norm.reference("torch")
def _(x, skip, weight, bias):
    return torch.nn.functional.layer_norm(x + skip, x.shape[-1:], weight, bias, eps=EPS)


@ort_skip_layer_norm.reference("naive")
@textbook
def _(x, skip, weight, bias):
    return layer_norm_naive(x + skip, weight, bias)


@operator(kind="norm", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"), weight=tensor("H"))
def ort_rms_norm(x, weight):
    return run("RMSNormalization", x, weight, epsilon=EPS)


ort_rms_norm.requires(has_elements)


@ort_rms_norm.reference("torch")
def _(x, weight):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps=EPS)


@ort_rms_norm.reference("naive")
@textbook
def _(x: Array, weight: Array) -> Array:
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + EPS) * weight


@operator(kind="reduction", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_reduce_sum(x):
    return run("ReduceSum", x, torch.tensor([-1]), keepdims=0)


@ort_reduce_sum.reference("torch")
def _(x):
    return x.sum(dim=-1)


ort_reduce_sum.reference("naive")(textbook(lambda x: x.sum(axis=-1)))


@operator(kind="reduction", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_reduce_mean(x):
    return run("ReduceMean", x, torch.tensor([-1]), keepdims=0)


ort_reduce_mean.requires(has_elements)


@ort_reduce_mean.reference("torch")
def _(x):
    return x.mean(dim=-1)


@operator(kind="reduction", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_reduce_log_sum_exp(x):
    return run("ReduceLogSumExp", x, torch.tensor([-1]), keepdims=0)


@ort_reduce_log_sum_exp.reference("torch")
def _(x):
    return torch.logsumexp(x, dim=-1)


@operator(kind="scan", dtypes=FLOATS, dims=DIMS, x=tensor("B S H"))
def ort_cumsum(x):
    return run("CumSum", x, torch.tensor(-1))


@ort_cumsum.reference("torch")
def _(x):
    return torch.cumsum(x, dim=-1)


@ort_cumsum.reference("naive")
@textbook
def _(x: Array) -> Array:
    result, total = np.empty(x.shape), np.zeros(x.shape[:-1])
    for j in range(x.shape[-1]):
        total = total + x[..., j]
        result[..., j] = total
    return result
