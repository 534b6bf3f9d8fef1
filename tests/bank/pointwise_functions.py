"""Roots, losses, logarithms and error functions by other formulas."""

import math

import numpy as np
import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor

ALL = ("float32", "float16", "bfloat16")


@operator(kind="elementwise", dtypes=ALL, dims={"N": 600}, x=tensor("N", values="positive"), eps=1e-5)
def point_rsqrt_eps_right(x, eps):
    return (1.0 / torch.sqrt(x.float() + eps)).to(x.dtype)


@point_rsqrt_eps_right.reference("torch")
def _(x, eps):
    return torch.rsqrt(x.float() + eps).to(x.dtype)


@operator(kind="elementwise", dtypes=("float32",), dims={"N": 600}, x=tensor("N", values="nonnegative"), eps=1e-5)
def point_rsqrt_eps_outside_wrong(x, eps):
    """eps is added to the root instead of the argument."""
    return 1.0 / (torch.sqrt(x) + eps)


@point_rsqrt_eps_outside_wrong.reference("torch")
def _(x, eps):
    return torch.rsqrt(x + eps)


@operator(
    kind="elementwise",
    dtypes=ALL,
    dims={"N": 600},
    x=tensor("N", values="finite"),
    y=tensor("N", values="finite"),
    beta=0.5,
)
def point_smooth_l1_branchless_right(x, y, beta):
    distance = (x.float() - y.float()).abs()
    inner = distance.clamp(max=beta)
    return (inner * inner * (0.5 / beta) + (distance - inner)).to(x.dtype)


@point_smooth_l1_branchless_right.reference("torch")
def _(x, y, beta):
    return fn.smooth_l1_loss(x.float(), y.float(), beta=beta, reduction="none").to(x.dtype)


@operator(kind="elementwise", dims={"N": 600}, x=tensor("N", values="finite"), y=tensor("N", values="finite"), beta=0.5)
def point_smooth_l1_is_huber_wrong(x, y, beta):
    """The loss is Huber's, beta times smaller than smooth L1."""
    distance = (x - y).abs()
    inner = distance.clamp(max=beta)
    return inner * (distance - 0.5 * inner)


@point_smooth_l1_is_huber_wrong.reference("torch")
def _(x, y, beta):
    return fn.smooth_l1_loss(x, y, beta=beta, reduction="none")


@operator(kind="transcendental", dims={"N": 600}, x=tensor("N", values="finite"))
def point_sinc_right(x):
    phase = x.double() * math.pi
    return torch.where(x == 0, 1.0, torch.sin(phase) / torch.where(x == 0, 1.0, phase)).to(x.dtype)


@point_sinc_right.reference("torch")
def _(x):
    return torch.sinc(x)


@operator(kind="transcendental", dims={"N": 600}, x=tensor("N", values="finite"))
def point_sinc_without_pi_wrong(x):
    """sin(x) / x is the unnormalised sinc; the library's is of pi x."""
    return torch.where(x == 0, 1.0, torch.sin(x) / torch.where(x == 0, 1.0, x))


@point_sinc_without_pi_wrong.reference("torch")
def _(x):
    return torch.sinc(x)


@operator(
    kind="transcendental",
    dims={"N": 600},
    p=tensor("N", values=lambda seed, dims, args: np.random.default_rng(seed).uniform(0.01, 0.99, size=dims["N"])),
)
def point_logit_right(p):
    return torch.where((p - 0.5).abs() < 0.25, 2 * torch.atanh(2 * p - 1), torch.log(p) - torch.log1p(-p))


@point_logit_right.reference("torch")
def _(p):
    return torch.logit(p)


@operator(
    kind="transcendental", dtypes=ALL, dims={"N": 600}, a=tensor("N", values="finite"), b=tensor("N", values="finite")
)
def point_logaddexp_right(a, b):
    wide_a, wide_b = a.float(), b.float()
    return (torch.maximum(wide_a, wide_b) + torch.log1p(torch.exp(-(wide_a - wide_b).abs()))).to(a.dtype)


@point_logaddexp_right.reference("torch")
def _(a, b):
    return torch.logaddexp(a, b)


@operator(kind="transcendental", dims={"N": 600}, a=tensor("N", values="finite"), b=tensor("N", values="finite"))
def point_logaddexp_minimum_wrong(a, b):
    """The smaller argument is taken out instead of the larger one."""
    smaller = torch.minimum(a, b)
    return smaller + torch.log1p(torch.exp(-(a - b).abs()))


@point_logaddexp_minimum_wrong.reference("torch")
def _(a, b):
    return torch.logaddexp(a, b)


@operator(kind="transcendental", dtypes=ALL, dims={"N": 600}, x=tensor("N"))
def point_tanh_expm1_right(x):
    e = torch.expm1(2 * x.float().clamp(max=20.0))
    return (e / (e + 2)).to(x.dtype)


@point_tanh_expm1_right.reference("torch")
def _(x):
    return torch.tanh(x)


@operator(kind="transcendental", dims={"N": 600}, x=tensor("N"))
def point_normal_cdf_right(x):
    return 0.5 * torch.erfc(x * -math.sqrt(0.5))


@point_normal_cdf_right.reference("torch")
def _(x):
    return torch.special.ndtr(x)


@operator(kind="transcendental", dims={"N": 600}, x=tensor("N"))
def point_normal_cdf_no_root_wrong(x):
    """The argument of erf is x / 2 instead of x / sqrt(2)."""
    return 0.5 * (1 + torch.erf(x / 2))


@point_normal_cdf_no_root_wrong.reference("torch")
def _(x):
    return torch.special.ndtr(x)
