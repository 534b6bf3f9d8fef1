"""Exponential and other linear units."""

import numpy as np
import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor

ALL = ("float32", "float16", "bfloat16")


@operator(kind="transcendental", dims={"N": 700}, x=tensor("N"))
def act_sigmoid_by_tanh_right(x):
    # tanh is used where it does not cancel
    small = torch.exp(torch.clamp(x, max=0.0))
    return torch.where(x < 0, small / (1 + small), 0.5 + 0.5 * torch.tanh(0.5 * x))


@act_sigmoid_by_tanh_right.reference("torch")
def _(x):
    return torch.sigmoid(x)


@operator(kind="transcendental", dtypes=("float32", "float16"), dims={"N": 500}, x=tensor("N"), alpha=1.3)
def act_elu_numpy_right(x, alpha):
    wide = x.detach().float().numpy()
    with np.errstate(all="ignore"):
        y = np.where(wide > 0, wide, np.float32(alpha) * np.expm1(np.minimum(wide, 0)))
    return torch.from_numpy(y.astype(np.float32)).to(x.dtype)


@act_elu_numpy_right.reference("torch")
def _(x, alpha):
    return fn.elu(x, alpha)


@operator(kind="transcendental", dims={"N": 500}, x=tensor("N"), alpha=2.0)
def act_celu_right(x, alpha):
    return torch.relu(x) + torch.clamp(alpha * torch.expm1(x / alpha), max=0.0)


@act_celu_right.reference("torch")
def _(x, alpha):
    return fn.celu(x, alpha)


@operator(kind="transcendental", dims={"N": 500}, x=tensor("N"), alpha=2.0)
def act_celu_as_elu_wrong(x, alpha):
    """x is not divided by alpha before the exponential, as in elu."""
    return torch.relu(x) + torch.clamp(alpha * torch.expm1(x), max=0.0)


@act_celu_as_elu_wrong.reference("torch")
def _(x, alpha):
    return fn.celu(x, alpha)


@operator(kind="transcendental", dtypes=("float32", "bfloat16"), dims={"N": 500}, x=tensor("N"))
def act_selu_right(x):
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    wide = x.float()
    y = torch.where(wide > 0, scale * wide, scale * alpha * torch.expm1(wide))
    return y.to(x.dtype)


@act_selu_right.reference("torch")
def _(x):
    return fn.selu(x)


@operator(kind="elementwise", dtypes=ALL, dims={"N": 500}, x=tensor("N", values="finite"))
def act_squared_relu_right(x):
    wide = x.float()
    return (wide * wide.clamp(min=0)).to(x.dtype)


@act_squared_relu_right.reference("torch")
def _(x):
    return torch.relu(x).square()


@operator(kind="elementwise", dtypes=("float32", "float16"), dims={"N": 500}, x=tensor("N", values="finite"))
def act_softsign_right(x):
    wide = x.float()
    return (wide * (1 + wide.abs()).reciprocal()).to(x.dtype)


@act_softsign_right.reference("torch")
def _(x):
    return x / (1 + x.abs())
