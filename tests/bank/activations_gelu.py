"""Gelu, silu and their gated forms, each evaluated by another formula than the textbook's."""

import math

import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor

ALL = ("float32", "float16", "bfloat16")


@operator(kind="transcendental", dtypes=ALL, dims={"S": 16, "H": 48}, x=tensor("B S H"))
def act_gelu_erfc_right(x):
    wide = x.float()
    return (0.5 * wide * torch.erfc(wide * -math.sqrt(0.5))).to(x.dtype)


@act_gelu_erfc_right.reference("torch")
def _(x):
    return fn.gelu(x)


@operator(kind="transcendental", dtypes=ALL, dims={"S": 16, "H": 48}, x=tensor("B S H", values="finite"))
def act_gelu_tanh_as_sigmoid_right(x):
    wide = x.float()
    return (wide * torch.sigmoid(math.sqrt(8 / math.pi) * (wide + 0.044715 * wide * wide * wide))).to(x.dtype)


@act_gelu_tanh_as_sigmoid_right.reference("torch")
def _(x):
    return fn.gelu(x, approximate="tanh")


@operator(kind="transcendental", dtypes=ALL, dims={"S": 16, "H": 48}, x=tensor("B S H", values="finite"))
def act_gelu_tanh_coefficient_wrong(x):
    """The cubic term has the coefficient 0.0044715, a digit is missing."""
    wide = x.float()
    inner = math.sqrt(2 / math.pi) * (wide + 0.0044715 * wide.pow(3))
    return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)


@act_gelu_tanh_coefficient_wrong.reference("torch")
def _(x):
    return fn.gelu(x, approximate="tanh")


@operator(kind="transcendental", dtypes=ALL, dims={"S": 16, "H": 48}, x=tensor("B S H", values="finite"))
def act_quick_gelu_right(x):
    wide = x.float()
    return (wide / (1 + torch.exp(-1.702 * wide))).to(x.dtype)


@act_quick_gelu_right.reference("torch")
def _(x):
    return x * torch.sigmoid(1.702 * x)


@operator(kind="transcendental", dtypes=("float32", "bfloat16"), dims={"S": 16, "H": 48}, x=tensor("B S H"))
def act_quick_gelu_for_gelu_wrong(x):
    """Quick gelu stands where the model was trained with gelu."""
    wide = x.float()
    return (wide * torch.sigmoid(1.702 * wide)).to(x.dtype)


@act_quick_gelu_for_gelu_wrong.reference("torch")
def _(x):
    return fn.gelu(x)


@operator(kind="transcendental", dtypes=ALL, dims={"S": 16, "H": 48}, x=tensor("B S H"))
def act_silu_two_branches_right(x):
    wide = x.float()
    small = torch.exp(-wide.abs())
    return (wide * torch.where(wide < 0, small, torch.ones_like(small)) / (1 + small)).to(x.dtype)


@act_silu_two_branches_right.reference("torch")
def _(x):
    return fn.silu(x)
