"""Which ATen call makes which rounding error: the registry behind a noisy run.

Decides, per call, whether it is exact (moves, compares, selects), one rounding (the default), a library function, or a
sum; and writes fused calls (softmax, norms) out into such steps, since a good kernel computes them step by step.
Each rule returns the call's result as the working precision would have given it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.numerics.noise import FUNCTION_ULPS, Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One ATen call of a lifted run."""

    noise: Noise
    """Source of errors."""

    args: tuple[Any, ...]
    """Positional arguments."""

    kwargs: dict[str, Any]
    """Keyword arguments."""

    result: Any
    """What it returned, in float64."""


Rule = Callable[[Call], Any]
"""Call -> noisy result, in the structure of the exact one."""

EXACT = frozenset(
    """abs alias amax amin argmax argmin as_strided bitwise_and bitwise_or bitwise_not cat ceil clamp clamp_max
    clamp_min clone constant_pad_nd copy copy_ copysign detach diagonal embedding empty empty_like empty_strided
    eq expand eye fill fill_ flip floor fmax fmin full full_like gather ge gt hardtanh index index_put
    index_put_ index_select isfinite isinf isnan kthvalue le lift_fresh lift_fresh_copy logical_and logical_not
    logical_or lt masked_fill masked_fill_ masked_select max max_pool2d_with_indices maximum min minimum
    nan_to_num narrow ne neg new_empty new_full new_ones new_zeros nextafter nonzero one_hot ones ones_like
    permute pixel_shuffle relu repeat repeat_interleave replication_pad2d reflection_pad2d roll round
    scalar_tensor scatter scatter_ select select_scatter sgn sign signbit slice slice_scatter sort split
    split_with_sizes squeeze stack t take topk transpose tril triu trunc unbind unfold unsafe_view unsqueeze
    upsample_nearest2d view where zero_ zeros zeros_like _to_copy _unsafe_view _local_scalar_dense
    _reshape_alias""".split()  # noqa: SIM905 - a word list reads better
)
"""Calls that round nothing."""

FUNCTIONS = frozenset(
    """acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 log_sigmoid sigmoid sin
    sinh sqrt rsqrt silu softplus tan tanh elu celu selu mish hardswish erfinv lgamma digamma reciprocal""".split()  # noqa: SIM905 - as above
)
"""Library functions of one argument."""


def noisy_result(noise: Noise, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Result of the ATen call `name` in the working precision; results that are not float64 tensors stay exact."""
    if name in EXACT:
        return result
    rule = RULES.get(name)
    if rule is not None:
        return rule(Call(noise=noise, args=args, kwargs=kwargs, result=result))
    if isinstance(result, torch.Tensor):
        return _one(noise, name, args, result)
    if isinstance(result, (tuple, list)):
        return type(result)(
            _one(noise, name, args, item) if isinstance(item, torch.Tensor) else item for item in result
        )
    return result


def _one(noise: Noise, name: str, args: tuple[Any, ...], result: torch.Tensor) -> torch.Tensor:
    if result.dtype is not torch.float64:
        return result
    if name.rstrip("_") in FUNCTIONS and isinstance(args[0], torch.Tensor) and not name.endswith("_"):
        call = getattr(torch.ops.aten, name)
        return noise.function(lambda argument: call(argument, *args[1:]), args[0])
    return noise.rounding(result)


def _sum(call: Call) -> Any:
    if call.result.dtype is not torch.float64:
        return call.result
    return call.noise.sum(
        call.args[0].double(),
        list(call.args[1]) if len(call.args) > 1 and call.args[1] else None,
        keepdim=_keepdim(call.args, 2),
    )


def _mean(call: Call) -> Any:
    terms = call.args[0].numel() / max(call.result.numel(), 1)
    return call.noise.rounding(_sum(call) / terms)


def _keepdim(args: tuple[Any, ...], position: int) -> bool:
    return bool(args[position]) if len(args) > position else False


def _product(multiply: Callable[..., torch.Tensor]) -> Rule:
    """mm, bmm, mv, dot: Q and S are the same product of squares and of absolute values."""

    def rule(call: Call) -> Any:
        a, b = (call.noise.operand(operand) for operand in call.args[:2])
        total = multiply(a, b) if call.noise.operand_roundoff else call.result
        return call.noise.total(total, multiply(a.square(), b.square()), multiply(a.abs(), b.abs()), float(a.shape[-1]))

    return rule


def _product_plus(multiply: Callable[..., torch.Tensor]) -> Rule:
    """addmm, baddbmm, addmv: the added matrix is one more term."""

    def rule(call: Call) -> Any:
        beta, alpha = float(call.kwargs.get("beta", 1)), float(call.kwargs.get("alpha", 1))
        added, (a, b) = beta * call.args[0], (call.noise.operand(operand) for operand in call.args[1:3])
        squares = added.square() + alpha**2 * multiply(a.square(), b.square())
        absolutes = added.abs() + abs(alpha) * multiply(a.abs(), b.abs())
        total = added + alpha * multiply(a, b) if call.noise.operand_roundoff else call.result
        return call.noise.total(total, squares, absolutes, float(a.shape[-1] + 1))

    return rule


def _convolution(call: Call) -> Any:
    x, weight = (call.noise.operand(operand) for operand in call.args[:2])
    bias, *rest = call.args[2:]
    convolve = torch.ops.aten.convolution
    total = convolve(x, weight, bias, *rest) if call.noise.operand_roundoff else call.result
    squares = convolve(x.square(), weight.square(), None if bias is None else bias.square(), *rest)
    absolutes = convolve(x.abs(), weight.abs(), None if bias is None else bias.abs(), *rest)
    return call.noise.total(total, squares, absolutes, float(weight[0].numel() + 1))


def _cumsum(call: Call) -> Any:
    x, dim = call.args[:2]
    if x.ndim == 0 or call.result.dtype is not torch.float64:
        return call.result
    counts = torch.arange(1, x.shape[dim] + 1, dtype=torch.float64, device=x.device)
    counts = counts.reshape([-1 if axis == dim % x.ndim else 1 for axis in range(x.ndim)])
    return call.noise.total(call.result, x.square().cumsum(dim), x.abs().cumsum(dim), counts)


def _prod(call: Call) -> Any:
    factors = call.args[0].numel() / max(call.result.numel(), 1)
    return call.noise.rounding(call.result, factors if call.noise.worst else math.sqrt(factors))


def _moments(noise: Noise, x: torch.Tensor, axes: list[int], correction: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Two-pass mean and variance, with dims kept."""
    count = float(math.prod(x.shape[axis] for axis in axes))
    mean = noise.rounding(noise.sum(x, axes, keepdim=True) / max(count, 1.0))
    centred = noise.rounding(x - mean)
    squares = noise.rounding(centred.square())
    return mean, noise.rounding(noise.sum(squares, axes, keepdim=True) / max(count - correction, 0.0))


def _var(call: Call) -> Any:
    x = call.args[0]
    axes = list(call.args[1]) if len(call.args) > 1 and call.args[1] else list(range(x.ndim))
    correction = call.kwargs.get("correction")
    mean, variance = _moments(call.noise, x, axes, 1.0 if correction is None else float(correction))
    if isinstance(call.result, tuple):
        return variance.reshape(call.result[0].shape), mean.reshape(call.result[1].shape)
    return variance.reshape(call.result.shape)


def _std(call: Call) -> Any:
    return call.noise.function(torch.sqrt, _var(call))


def _vector_norm(call: Call) -> Any:
    order = float(call.args[1]) if len(call.args) > 1 else 2.0
    if order != 2.0:
        return call.noise.rounding(call.result, FUNCTION_ULPS)
    axes = list(call.args[2]) if len(call.args) > 2 and call.args[2] is not None else None
    squares = call.noise.sum(call.noise.rounding(call.args[0].square()), axes, keepdim=True)
    return call.noise.function(torch.sqrt, squares).reshape(call.result.shape)


def _layer_norm(call: Call) -> Any:
    x, shape, weight, bias, eps = call.args[:5]
    axes = list(range(x.ndim - len(shape), x.ndim))
    return (_normalised(call.noise, x, axes, eps, weight, bias), *call.result[1:])


def _group_norm(call: Call) -> Any:
    x, weight, bias, batch, channels, _, groups, eps = call.args[:8]
    grouped = x.reshape(batch, groups, -1)
    normal = _normalised(call.noise, grouped, [2], eps, None, None).reshape(x.shape)
    per_channel = [1, channels, *([1] * (x.ndim - 2))]
    scaled = normal if weight is None else call.noise.rounding(normal * weight.reshape(per_channel))
    shifted = scaled if bias is None else call.noise.rounding(scaled + bias.reshape(per_channel))
    return (shifted, *call.result[1:])


def _normalised(
    noise: Noise, x: torch.Tensor, axes: list[int], eps: float, weight: torch.Tensor | None, bias: torch.Tensor | None
) -> torch.Tensor:
    mean, variance = _moments(noise, x, axes, 0.0)
    scale = noise.function(torch.rsqrt, noise.rounding(variance + eps))
    normal = noise.rounding(noise.rounding(x - mean) * scale)
    scaled = normal if weight is None else noise.rounding(normal * weight)
    return scaled if bias is None else noise.rounding(scaled + bias)


def _exponentials(noise: Noise, x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(x - max, exp(x - max), their sum over `dim`), dims kept."""
    shifted = noise.rounding(x - x.amax(dim, keepdim=True))
    exponentials = noise.function(torch.exp, shifted)
    return shifted, exponentials, noise.sum(exponentials, [dim], keepdim=True)


def _softmax(call: Call) -> Any:
    x, dim = call.args[:2]
    if x.numel() == 0 or x.ndim == 0:
        return call.result
    _, exponentials, total = _exponentials(call.noise, x, dim)
    return torch.where(call.result.isfinite(), call.noise.rounding(exponentials / total), call.result)


def _log_softmax(call: Call) -> Any:
    x, dim = call.args[:2]
    if x.numel() == 0 or x.ndim == 0:
        return call.result
    shifted, _, total = _exponentials(call.noise, x, dim)
    logarithm = call.noise.function(torch.log, total)
    # Some kernels subtract max + log(sum) as one number, so the maximum's own rounding belongs to the terms.
    terms = shifted.abs() + logarithm.abs() + x.amax(dim, keepdim=True).abs()
    return torch.where(call.result.isfinite(), call.noise.magnitude(shifted - logarithm, terms), call.result)


def _logsumexp(call: Call) -> Any:
    x, dims = call.args[0], list(call.args[1])
    if x.numel() == 0 or x.ndim == 0:
        return call.result
    peak = x.amax(dims, keepdim=True)
    total = call.noise.sum(call.noise.function(torch.exp, call.noise.rounding(x - peak)), dims, keepdim=True)
    noisy = call.noise.rounding(call.noise.function(torch.log, total) + peak).reshape(call.result.shape)
    return torch.where(call.result.isfinite(), noisy, call.result)


def _gelu(call: Call) -> Any:
    """0.5*x*(1 + erf) cancels for negative x: the term that decides is 0.5*|x|*(1 + |erf|)."""
    x = call.args[0]
    approximate = call.kwargs.get("approximate", "none")
    noisy = call.noise.function(lambda argument: torch.nn.functional.gelu(argument, approximate=approximate), x)
    return call.noise.magnitude(noisy, 0.5 * x.abs() * (1.0 + torch.erf(x / math.sqrt(2.0)).abs()), FUNCTION_ULPS)


def _interpolation(call: Call) -> Any:
    """A source coordinate is rounded at its own size, up to the length of the axis, and so is the weight it gives."""
    x, sizes = call.args[0], call.result.shape[2:]
    largest = float(max([*sizes, *x.shape[2:], 1]))
    magnitude = torch.ops.aten.upsample_bilinear2d(x.abs(), list(sizes), *call.args[2:3])
    return call.noise.magnitude(call.result, magnitude, 4.0 + largest)


def _average_pool(call: Call) -> Any:
    window = float(math.prod(call.args[1]))
    magnitude = torch.ops.aten.avg_pool2d(call.args[0].abs(), *call.args[1:])
    return call.noise.magnitude(call.result, magnitude, window if call.noise.worst else math.sqrt(window))


RULES: dict[str, Rule] = {
    "sum": _sum,
    "mean": _mean,
    "nansum": _sum,
    "mm": _product(torch.mm),
    "bmm": _product(torch.bmm),
    "mv": _product(torch.mv),
    "dot": _product(torch.dot),
    "addmm": _product_plus(torch.mm),
    "baddbmm": _product_plus(torch.bmm),
    "addmv": _product_plus(torch.mv),
    "convolution": _convolution,
    "cumsum": _cumsum,
    "prod": _prod,
    "cumprod": _prod,
    "var": _var,
    "var_mean": _var,
    "std": _std,
    "linalg_vector_norm": _vector_norm,
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    "_softmax": _softmax,
    "_safe_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "gelu": _gelu,
    "upsample_bilinear2d": _interpolation,
    "avg_pool2d": _average_pool,
}
"""Calls with a rule of their own, by ATen name."""
