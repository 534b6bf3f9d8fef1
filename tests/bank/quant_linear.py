"""Linear layers on quantised weights: weight-only int8 and int4, and int8 with activations quantised on the fly."""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor


def scales_per(*names):
    def make(seed, dims, args):
        return 0.002 + 0.02 * np.random.default_rng(seed + 1).random([dims[name] for name in names])

    return make


# y = x @ (w * scale).T + bias with int8 weights and a scale per output channel.


def int8_linear_reference(x, w, scale, bias):
    return F.linear(x, w.to(x.dtype) * scale.to(x.dtype).unsqueeze(1), bias)


WEIGHT_ONLY = {
    "x": tensor("M K"),
    "w": tensor("N K", dtype="int8"),
    "scale": tensor("N", dtype="float32", values=scales_per("N")),
    "bias": tensor("N"),
}


@operator(
    kind="matmul", dtypes=("float32", "float16", "bfloat16"), dims={"M": 8, "K": 72, "N": 24}, arguments=WEIGHT_ONLY
)
def qlinear_weight_int8_right(x, w, scale, bias):
    acc = torch.zeros(x.shape[0], w.shape[0])
    for k in range(0, x.shape[1], 32):
        acc.addmm_(x[:, k : k + 32].float(), w[:, k : k + 32].float().t())
    return (acc * scale + bias.float()).to(x.dtype)


qlinear_weight_int8_right.reference("torch")(int8_linear_reference)


@operator(
    kind="matmul", dtypes=("float32", "float16", "bfloat16"), dims={"M": 8, "K": 72, "N": 24}, arguments=WEIGHT_ONLY
)
def qlinear_weight_int8_bias_wrong(x, w, scale, bias):
    """The bias starts the accumulator and is then multiplied by the weight scale."""
    acc = bias.float().expand(x.shape[0], -1).clone()
    for k in range(0, x.shape[1], 32):
        acc.addmm_(x[:, k : k + 32].float(), w[:, k : k + 32].float().t())
    return (acc * scale).to(x.dtype)


qlinear_weight_int8_bias_wrong.reference("torch")(int8_linear_reference)


# Weight-only int4: nibbles offset by 8, a scale per group of 16 inputs.


def int4_linear_reference(x, packed, scale):
    low, high = (packed & 0xF).to(torch.int8) - 8, (packed >> 4).to(torch.int8) - 8
    w = torch.stack([low, high], dim=-1).flatten(1).to(x.dtype)
    return x @ (w * scale.to(x.dtype).repeat_interleave(16, dim=1)).t()


INT4 = {
    "x": tensor("M 16*G"),
    "packed": tensor("N 8*G", dtype="uint8"),
    "scale": tensor("N G", dtype="float32", values=scales_per("N", "G")),
}


@operator(kind="matmul", dtypes=("float32", "bfloat16"), dims={"M": 6, "G": 4, "N": 20}, arguments=INT4)
def qlinear_weight_int4_right(x, packed, scale):
    acc = torch.zeros(x.shape[0], packed.shape[0])
    for group in range(scale.shape[1]):
        inputs = x[:, group * 16 : group * 16 + 16].float()
        block = packed[:, group * 8 : group * 8 + 8].to(torch.int16)
        even, odd = ((block & 15) - 8).float(), ((block >> 4) - 8).float()
        part = inputs[:, 0::2] @ even.t() + inputs[:, 1::2] @ odd.t()
        acc += part * scale[:, group]
    return acc.to(x.dtype)


qlinear_weight_int4_right.reference("torch")(int4_linear_reference)


@operator(kind="matmul", dtypes=("float32", "bfloat16"), dims={"M": 6, "G": 4, "N": 20}, arguments=INT4)
def qlinear_weight_int4_group_wrong(x, packed, scale):
    """The group of a scale is found from the packed column, so every scale covers 32 inputs."""
    columns = torch.arange(packed.shape[1])
    per_column = scale[:, columns // 16]
    low, high = (packed & 15).float() - 8, (packed >> 4).float() - 8
    w = torch.stack([low * per_column, high * per_column], dim=-1).flatten(1)
    return (x.float() @ w.t()).to(x.dtype)


qlinear_weight_int4_group_wrong.reference("torch")(int4_linear_reference)


# Activations quantised per token, int32 accumulation, both scales applied at the end.


def dynamic_reference(x, w, w_scale):
    x = x.float()
    x_scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127
    codes = torch.round(x / x_scale).clamp(-127, 127)
    return (codes @ w.float().t()) * x_scale * w_scale


DYNAMIC = {
    "x": tensor("M K", values="finite"),
    "w": tensor("N K", dtype="int8"),
    "w_scale": tensor("N", dtype="float32", values=scales_per("N")),
}


@operator(kind="matmul", dtypes=("float32", "float16"), dims={"M": 8, "K": 64, "N": 16}, arguments=DYNAMIC)
def qlinear_dynamic_int8_right(x, w, w_scale):
    wide = x.float()
    top = torch.maximum(wide.amax(-1), -wide.amin(-1)).clamp(min=1e-5)
    x_scale = (top / 127).unsqueeze(-1)
    codes = torch.round(wide / x_scale).to(torch.int32)
    acc = torch.zeros(x.shape[0], w.shape[0], dtype=torch.int32)
    for k in range(0, x.shape[1], 16):
        acc += codes[:, k : k + 16] @ w[:, k : k + 16].to(torch.int32).t()
    return acc.float() * x_scale * w_scale


qlinear_dynamic_int8_right.reference("torch")(dynamic_reference)


@operator(kind="matmul", dtypes=("float32", "float16"), dims={"M": 8, "K": 64, "N": 16}, arguments=DYNAMIC)
def qlinear_dynamic_int8_signed_max_wrong(x, w, w_scale):
    """The largest value of a token is taken without its sign removed, so large negative ones are clipped."""
    wide = x.float()
    x_scale = wide.amax(-1, keepdim=True).clamp(min=1e-5) / 127
    codes = torch.round(wide / x_scale).clamp(-127, 127).to(torch.int32)
    return (codes @ w.to(torch.int32).t()).float() * x_scale * w_scale


qlinear_dynamic_int8_signed_max_wrong.reference("torch")(dynamic_reference)


# Asymmetric uint8 activations: the zero point is folded out with the row sums of the weights.


@operator(
    kind="matmul",
    dims={"M": 8, "K": 48, "N": 16},
    a=tensor("M K", dtype="uint8"),
    w=tensor("N K", dtype="int8"),
    zero=128,
    scale=0.0125,
)
def qlinear_zero_point_folded_right(a, w, zero, scale):
    sums = w.sum(dim=1, dtype=torch.int32)
    product = a.to(torch.int32) @ w.to(torch.int32).t()
    return (product - zero * sums).float() * scale


@qlinear_zero_point_folded_right.reference("torch")
def _(a, w, zero, scale):
    return (a.float() - zero) @ w.float().t() * scale


@operator(
    kind="matmul",
    dims={"M": 8, "K": 48, "N": 16},
    a=tensor("M K", dtype="uint8"),
    w=tensor("N K", dtype="int8"),
    zero=128,
    scale=0.0125,
)
def qlinear_zero_point_folded_wrong(a, w, zero, scale):
    """The correction for the zero point sums the weights in int8 and wraps."""
    sums = w.sum(dim=1, dtype=torch.int8).to(torch.int32)
    product = a.to(torch.int32) @ w.to(torch.int32).t()
    return (product - zero * sums).float() * scale


@qlinear_zero_point_folded_wrong.reference("torch")
def _(a, w, zero, scale):
    return (a.float() - zero) @ w.float().t() * scale
