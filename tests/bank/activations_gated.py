"""Hard activations and gated linear units."""

import math

import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor

ALL = ("float32", "float16", "bfloat16")


@operator(kind="elementwise", dtypes=ALL, dims={"N": 700}, x=tensor("N", values="finite"))
def act_hardswish_right(x):
    wide = x.float()
    return (wide * torch.clamp(wide / 6 + 0.5, 0, 1)).to(x.dtype)


@act_hardswish_right.reference("torch")
def _(x):
    return x * fn.relu6(x + 3) / 6


@operator(kind="elementwise", dtypes=ALL, dims={"N": 700}, x=tensor("N", values="finite"))
def act_hardswish_unshifted_wrong(x):
    """The clamp is of x instead of x + 3."""
    wide = x.float()
    return (wide * torch.clamp(wide, 0, 6) / 6).to(x.dtype)


@act_hardswish_unshifted_wrong.reference("torch")
def _(x):
    return fn.hardswish(x)


@operator(kind="transcendental", dtypes=ALL, dims={"S": 8, "I": 40}, gate=tensor("S I"), up=tensor("S I"))
def act_swiglu_right(gate, up):
    wide = gate.float()
    return (wide / (1 + torch.exp(-wide)) * up.float()).to(gate.dtype)


@act_swiglu_right.reference("torch")
def _(gate, up):
    return fn.silu(gate) * up


@operator(kind="transcendental", dtypes=("float32", "bfloat16"), dims={"S": 8, "I": 40}, x=tensor("S 2*I"))
def act_geglu_interleaved_right(x):
    pairs = x.float().unflatten(-1, (x.shape[-1] // 2, 2))
    gate, value = pairs.unbind(-1)
    return (value * (0.5 * gate * torch.erfc(-gate / math.sqrt(2)))).to(x.dtype)


@act_geglu_interleaved_right.reference("torch")
def _(x):
    return fn.gelu(x[..., 0::2]) * x[..., 1::2]


@operator(kind="transcendental", dtypes=("float32", "bfloat16"), dims={"S": 8, "I": 40}, x=tensor("S 2*I"))
def act_geglu_chunked_wrong(x):
    """Gate and value are taken as halves of the row although they are interleaved."""
    gate, value = x.float().chunk(2, dim=-1)
    return (fn.gelu(gate) * value).to(x.dtype)


@act_geglu_chunked_wrong.reference("torch")
def _(x):
    return fn.gelu(x[..., 0::2]) * x[..., 1::2]
