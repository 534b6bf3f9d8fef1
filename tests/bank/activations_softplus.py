"""Softplus, mish and log-sigmoid, each evaluated by another formula than the textbook's."""

import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor

ALL = ("float32", "float16", "bfloat16")


@operator(kind="transcendental", dtypes=("float32", "float16"), dims={"N": 700}, x=tensor("N", values="finite"))
def act_mish_rational_right(x):
    wide = x.float()
    e = torch.exp(wide.clamp(max=20.0))
    n = e * (e + 2)
    return (wide * (n / (n + 2))).to(x.dtype)


@act_mish_rational_right.reference("torch")
def _(x):
    return fn.mish(x)


@operator(kind="transcendental", dtypes=("float32", "float16"), dims={"N": 700}, x=tensor("N", values="finite"))
def act_mish_one_e_wrong(x):
    """n is e * (e + 1) instead of e * (e + 2)."""
    wide = x.float()
    e = torch.exp(wide.clamp(max=20.0))
    n = e * (e + 1)
    return (wide * (n / (n + 2))).to(x.dtype)


@act_mish_one_e_wrong.reference("torch")
def _(x):
    return fn.mish(x)


@operator(kind="transcendental", dtypes=ALL, dims={"N": 700}, x=tensor("N"))
def act_softplus_stable_right(x):
    wide = x.float()
    return (torch.relu(wide) + torch.log1p(torch.exp(-wide.abs()))).to(x.dtype)


@act_softplus_stable_right.reference("torch")
def _(x):
    return torch.logaddexp(x, torch.zeros_like(x))


@operator(kind="transcendental", dims={"N": 700}, x=tensor("N"))
def act_softplus_overflow_wrong(x):
    """exp(x) overflows for x above 88."""
    return torch.log1p(torch.exp(x))


@act_softplus_overflow_wrong.reference("torch")
def _(x):
    return fn.softplus(x)


@operator(kind="transcendental", dims={"N": 700}, x=tensor("N"))
def act_log_sigmoid_right(x):
    return torch.clamp(x, max=0.0) - torch.log1p(torch.exp(-x.abs()))


@act_log_sigmoid_right.reference("torch")
def _(x):
    return fn.logsigmoid(x)


@operator(kind="transcendental", dims={"N": 700}, x=tensor("N"))
def act_log_sigmoid_naive_wrong(x):
    """The sigmoid of a very negative number is 0, its logarithm -inf."""
    return torch.log(torch.sigmoid(x))


@act_log_sigmoid_naive_wrong.reference("torch")
def _(x):
    return fn.logsigmoid(x)
