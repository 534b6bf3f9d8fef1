"""Interpolations, fused residuals, rotations and bounds."""

import numpy as np
import torch

from opsdebug_ci import operator, tensor

ALL = ("float32", "float16", "bfloat16")


def weights(seed, dims, args):
    return np.random.default_rng(seed).random(size=dims["N"])


@operator(
    kind="elementwise",
    dtypes=ALL,
    dims={"N": 600},
    start=tensor("N", values="finite"),
    end=tensor("N", values="finite"),
    weight=tensor("N", values=weights),
)
def point_lerp_right(start, end, weight):
    w = weight.float()
    return (start.float() * (1 - w) + end.float() * w).to(start.dtype)


@point_lerp_right.reference("torch")
def _(start, end, weight):
    return torch.lerp(start, end, weight)


@operator(
    kind="elementwise",
    dtypes=ALL,
    dims={"N": 600},
    start=tensor("N", values="finite"),
    end=tensor("N", values="finite"),
    weight=tensor("N", values=weights),
)
def point_lerp_swapped_wrong(start, end, weight):
    """The weight is that of the start instead of the end."""
    w = weight.float()
    return (start.float() * w + end.float() * (1 - w)).to(start.dtype)


@point_lerp_swapped_wrong.reference("torch")
def _(start, end, weight):
    return torch.lerp(start, end, weight)


@operator(
    kind="elementwise",
    dtypes=ALL,
    dims={"S": 12, "H": 40},
    x=tensor("S H"),
    bias=tensor("H"),
    residual=tensor("S H"),
    scale=0.5,
)
def point_bias_scale_residual_right(x, bias, residual, scale):
    out = residual.to(torch.float32, copy=True, memory_format=torch.contiguous_format)
    out.add_(x.float(), alpha=scale).add_(bias.float(), alpha=scale)
    return out.to(x.dtype)


@point_bias_scale_residual_right.reference("torch")
def _(x, bias, residual, scale):
    return (x.float() + bias.float()).mul(scale).add(residual.float()).to(x.dtype)


@operator(
    kind="elementwise",
    dtypes=("float32", "float16"),
    dims={"S": 12, "H": 40},
    x=tensor("S H"),
    bias=tensor("H"),
    residual=tensor("S H"),
    scale=0.5,
)
def point_bias_unscaled_wrong(x, bias, residual, scale):
    """The bias is added after scaling, so it enters at twice its size."""
    return (x.float() * scale + bias.float() + residual.float()).to(x.dtype)


@point_bias_unscaled_wrong.reference("torch")
def _(x, bias, residual, scale):
    return (x.float() + bias.float()).mul(scale).add(residual.float()).to(x.dtype)


@operator(
    kind="elementwise", dims={"N": 600}, x=tensor("N"), a=tensor("N"), b=tensor("N"), c=tensor("N", values="nonzero")
)
def point_addcmul_addcdiv_right(x, a, b, c):
    return torch.addcdiv(torch.addcmul(x, a, b, value=0.1), a, c, value=-0.2)


@point_addcmul_addcdiv_right.reference("torch")
def _(x, a, b, c):
    return x + 0.1 * a * b - 0.2 * (a / c)


@operator(
    kind="elementwise",
    dtypes=ALL,
    dims={"S": 10, "A": 2, "D": 12},
    x=tensor("S A 2*D", values="finite"),
    angles=tensor("S D", dtype="float32", values="finite"),
)
def point_rotary_pairs_right(x, angles):
    cos, sin = torch.cos(angles)[:, None], torch.sin(angles)[:, None]
    even, odd = x.float().unflatten(-1, (x.shape[-1] // 2, 2)).unbind(-1)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).to(x.dtype)


@point_rotary_pairs_right.reference("torch")
def _(x, angles):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], x.shape[-1] // 2, 2).contiguous())
    turns = torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)


@operator(kind="elementwise", dims={"S": 8, "H": 30}, x=tensor("S H"), low=tensor("H"), high=tensor("H"))
def point_clamp_per_column_right(x, low, high):
    return torch.minimum(torch.maximum(x, low), high)


@point_clamp_per_column_right.reference("torch")
def _(x, low, high):
    return torch.clamp(x, low, high)


@operator(kind="elementwise", dims={"S": 8, "H": 30}, x=tensor("S H"), low=tensor("H"), high=tensor("H"))
def point_clamp_low_last_wrong(x, low, high):
    """The lower bound is applied last, so it wins where it is above the upper one."""
    return torch.maximum(torch.minimum(x, high), low)


@point_clamp_low_last_wrong.reference("torch")
def _(x, low, high):
    return torch.clamp(x, low, high)


@operator(kind="elementwise", dtypes=ALL, dims={"N": 600}, x=tensor("N", values="finite"))
def point_sign_right(x):
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@point_sign_right.reference("torch")
def _(x):
    return torch.sign(x)
