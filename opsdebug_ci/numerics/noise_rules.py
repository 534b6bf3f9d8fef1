"""Which ATen call makes which rounding error: the registry behind a noisy run.

Decides, per call, whether it is exact (moves, compares, selects), one rounding (arithmetic), a library function, or a
rule of its own. Each gives the call's result as the working precision would have given it, with the classes (finite,
NaN, +inf, -inf) of the exact one. Calls nobody here knows are run on rounded arguments, which shows their condition.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from opsdebug_ci.numerics import norm_noise, sum_noise
from opsdebug_ci.numerics.noise import FUNCTION_ULPS, WORST_ROUNDINGS, Call, Noise, Rule

EXACT = frozenset(
    """abs alias amax amin aminmax argmax argmin as_strided bincount bitwise_and bitwise_not bitwise_or cat ceil
    clamp clamp_max clamp_min clone constant_pad_nd copy copysign cummax cummin detach diag_embed diagonal embedding
    empty empty_like empty_permuted empty_strided eq expand eye fill flip floor floor_divide fmax fmin fmod frexp
    full full_like gather ge gt hardshrink hardtanh heaviside histc im2col index index_copy index_fill index_put
    index_select isfinite isinf isnan kthvalue ldexp le lift lift_fresh lift_fresh_copy logical_and logical_not
    logical_or lt masked_fill masked_scatter masked_select max max_pool2d_with_indices max_pool3d_with_indices
    maximum median min minimum mode nan_to_num nanmedian narrow ne neg new_empty new_empty_strided new_full new_ones
    new_zeros nextafter nonzero one_hot ones ones_like permute pixel_shuffle pixel_unshuffle positive
    reflection_pad1d reflection_pad2d relu repeat repeat_interleave replication_pad1d replication_pad2d reshape roll
    round scalar_tensor scatter select select_scatter set sgn sign signbit slice slice_scatter sort split
    split_with_sizes squeeze stack t take threshold threshold_backward topk transpose tril triu trunc unbind unfold
    unique_consecutive unique_dim unsafe_split unsqueeze upsample_nearest1d upsample_nearest2d upsample_nearest3d
    view view_as_complex view_as_real where zero zeros zeros_like _conj _local_scalar_dense _reshape_alias _to_copy
    _unique2 _unsafe_index _unsafe_view conj_physical""".split()  # noqa: SIM905 - a word list reads better
)
"""Calls that round nothing."""

ARITHMETIC = frozenset("add sub rsub mul div true_divide square sqrt reciprocal remainder leaky_relu".split())  # noqa: SIM905 - as above
"""Calls that round once; IEEE 754-2019, 5.4.1 and one product with a constant."""

FUNCTIONS = frozenset(
    """acos acosh asin asinh atan atanh cos cosh digamma elu celu selu erf erfc erfinv exp exp2 expm1 hardswish
    lgamma log log10 log1p log2 mish rsqrt sigmoid silu sin sinh softplus tan tanh""".split()  # noqa: SIM905 - as above
)
"""Library functions of one argument."""


DECOMPOSITIONS = frozenset(
    """cholesky_inverse cholesky_solve linalg_cholesky_ex linalg_householder_product linalg_inv_ex linalg_ldl_factor_ex
    linalg_lstsq linalg_lu linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp linalg_pinv linalg_qr
    linalg_solve_triangular triangular_solve _linalg_det _linalg_eigh _linalg_eigvals _linalg_slogdet _linalg_solve_ex
    _linalg_svd linalg_eig""".split()  # noqa: SIM905 - as above
)
"""Calls of linear algebra."""


def noisy_result(noise: Noise, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Result of an ATen call in the working precision; `result` itself when nothing rounds.

    Args:
        noise: source of errors.
        func: the ATen overload that was called.
        args: its positional arguments, as they were before the call.
        kwargs: its keyword arguments.
        result: what it returned. Only float64 and complex128 tensors with strides are given errors.
    """
    name = func.overloadpacket._qualified_op_name.split("::")[-1].removesuffix("_")
    exact = name in EXACT and not kwargs.get(
        "decimals"
    )  # of a decimal fraction the multiple is whole, not the fraction
    if exact or not _rounds(result) or kwargs.get("rounding_mode") is not None:
        return result
    call = Call(noise=noise, func=func, args=args, kwargs=kwargs, result=result)
    rule = _rule_of(name, func)
    noisy = _of_moduli(rule, call) if name in RULES and _has_complex(args) else rule(call)
    if isinstance(result, torch.Tensor):
        return _like(noisy, result)
    return type(result)([_like(new, old) for new, old in zip(noisy, result, strict=True)])


def _has_complex(args: tuple[Any, ...]) -> bool:
    return any(isinstance(value, torch.Tensor) and value.is_complex() for value in tree_leaves(args))


def _of_moduli(rule: Rule, call: Call) -> Any:
    """A rule for real numbers, met by complex ones: either part is off by as much as the same call on the moduli."""

    def modulus(value: Any) -> Any:
        return value.abs() if isinstance(value, torch.Tensor) and value.is_complex() else value

    args = tree_map(modulus, call.args)
    real = replace(call, args=args, result=call.func(*args, **call.kwargs))

    def error() -> Any:
        return tree_map(lambda noisy, exact: noisy - exact if _is_wide(exact) else 0, rule(real), real.result)

    def shifted(result: Any, one: Any, other: Any) -> Any:
        complex_ = isinstance(result, torch.Tensor) and result.is_complex()
        return result + torch.complex(one, other) if complex_ else result + one

    return tree_map(shifted, call.result, error(), error())


def _rounds(result: Any) -> bool:
    items = result if isinstance(result, (tuple, list)) else (result,)
    return any(_is_wide(item) for item in items)


def _is_wide(value: Any) -> bool:
    wide = isinstance(value, torch.Tensor) and value.dtype in (torch.float64, torch.complex128)
    return wide and value.layout is torch.strided


def _rule_of(name: str, func: Any) -> Rule:
    if name in RULES:
        return RULES[name]
    if name in ARITHMETIC:
        return _arithmetic
    if name in FUNCTIONS:
        return _function
    if name in DECOMPOSITIONS:
        return _decomposition
    return _unchanged if torch.Tag.nondeterministic_seeded in func.tags else _conditioned


def _like(noisy: Any, result: Any) -> Any:
    """`noisy` where it is finite, laid out like `result`, so that later views still hold."""
    if not _is_wide(result) or noisy is result:
        return result
    if not math.isfinite(noisy.sum().abs().item()):
        noisy = torch.where(torch.isfinite(noisy) & torch.isfinite(result), noisy, result)
    if noisy.stride() == result.stride():
        return noisy
    return torch.empty_strided(result.shape, result.stride(), dtype=result.dtype, device=result.device).copy_(noisy)


def _arithmetic(call: Call) -> torch.Tensor:
    """One rounding; x + alpha*y rounds its product as well unless alpha is 1."""
    if call.kwargs.get("alpha", 1) != 1:
        return _multiply_add(call)
    name = call.func.overloadpacket.__name__.removesuffix("_")
    if call.noise.worst and call.noise.exact_format is None and name in ("add", "sub", "rsub"):
        # Distributed over a later product, the terms are rounded at their own size, however much they cancel here.
        first, second = (torch.as_tensor(value, dtype=torch.float64).abs() for value in call.args[:2])
        return call.noise.magnitude(call.result, torch.maximum(call.result.abs(), (first + second) / WORST_ROUNDINGS))
    return call.noise.rounding(call.result, exact=all(_is_short(value) for value in call.args))


def _is_short(value: Any) -> bool:
    """Not a single number that float32 does not hold: a step in float32 rounds it first, so its result is not exact."""
    single = isinstance(value, float) or (isinstance(value, torch.Tensor) and value.ndim == 0 and _is_wide(value))
    return not single or float(value) == torch.tensor(float(value), dtype=torch.float32).item()


def _multiply_add(call: Call) -> torch.Tensor:
    """addcmul, addcdiv, lerp: the product is at most |result| + |added|, and may be rounded on its own."""
    return call.noise.magnitude(call.result, call.result.abs() + call.args[0].abs())


def _grid(call: Call) -> torch.Tensor:
    """start + i*step: step, product and sum are rounded at the size of the ends, in an order the vector width decides.

    Whole numbers are exact, and index: their step is one as well.
    """
    points: torch.Tensor = call.result
    if bool((points == points.round()).all()):
        return points
    return call.noise.magnitude(points, points.abs().amax().expand_as(points), 3.0)


def _function(call: Call) -> Any:
    function = getattr(torch.ops.aten, call.func.overloadpacket.__name__.removesuffix("_"))
    return call.noise.function(lambda argument: function(argument, *call.args[1:]), call.args[0])


def _log_sigmoid(call: Call) -> Any:
    return (call.noise.function(torch.nn.functional.logsigmoid, call.args[0]), *call.result[1:])


def _power(call: Call) -> torch.Tensor:
    """x**p as exp(p*log|x|): the logarithm's error is multiplied by p; small whole powers are products."""
    base, exponent = call.args[:2]
    if isinstance(exponent, (int, float)) and float(exponent) in (-1.0, 0.5, 1.0, 2.0, 3.0):
        return call.noise.rounding(call.result, max(1.0, abs(exponent) - 1.0))
    base = torch.as_tensor(base, dtype=torch.float64)
    lost = torch.nan_to_num((exponent * base.abs().log()).abs(), nan=0.0, posinf=0.0, neginf=0.0)
    return call.noise.magnitude(call.result, call.result * (1.0 + lost), FUNCTION_ULPS)


def _unchanged(call: Call) -> Any:
    return call.result


def _conditioned(call: Call) -> Any:
    """A call with no rule: its result on rounded arguments, rounded.

    In-place calls, and those that reject arguments with a little noise (a matrix no longer symmetric, an index table no
    longer whole), only have their result rounded.
    """

    def rounded(value: Any) -> Any:
        return call.noise.rounding(value, FUNCTION_ULPS) if _is_wide(value) else value

    result = call.result
    if not call.func._schema.is_mutable:
        with contextlib.suppress(RuntimeError, ValueError, IndexError):
            result = call.func(*tree_map(rounded, call.args), **call.kwargs)
    return tree_map(rounded, result)


def _decomposition(call: Call) -> Any:
    """A backward stable algorithm gives the answer for matrices that are off by about n*u of their norm, not of each
    element (Higham, ASNA 2nd ed., 9.3, 10.1, 19.2; random errors add up to sqrt(n)); its result is off likewise."""

    def rounded(value: Any) -> Any:
        if not _is_wide(value) or value.ndim < 2 or value.numel() == 0:
            return call.noise.rounding(value, FUNCTION_ULPS) if _is_wide(value) else value
        terms = float(value.shape[-1]) if call.noise.worst else math.sqrt(value.shape[-1])
        largest = value.abs().amax((-2, -1), keepdim=True).expand_as(value)
        return call.noise.magnitude(value, largest, FUNCTION_ULPS * terms)

    result = call.result
    with contextlib.suppress(RuntimeError, ValueError):
        result = call.func(*tree_map(rounded, call.args), **call.kwargs)
    return tree_map(rounded, result)


def _reduced_loss(call: Call) -> Any:
    """Losses: the mean or sum of as many terms of one sign as there are elements."""
    noisy, terms = _conditioned(call), call.args[0].numel()
    value = noisy[0] if isinstance(noisy, tuple) else noisy
    if value.numel() != 1 or terms < 2:
        return noisy
    total = call.noise.total(value, terms, squares=lambda: value.square() / terms, absolutes=value.abs)
    return (total, *noisy[1:]) if isinstance(noisy, tuple) else total


RULES: dict[str, Rule] = {
    "sum": sum_noise.noisy_sum,
    "nansum": sum_noise.noisy_sum,
    "mean": sum_noise.noisy_mean,
    "mm": sum_noise.noisy_product(torch.mm),
    "bmm": sum_noise.noisy_product(torch.bmm),
    "mv": sum_noise.noisy_product(torch.mv),
    "dot": sum_noise.noisy_product(torch.dot),
    "addmm": sum_noise.noisy_product_plus(torch.mm),
    "baddbmm": sum_noise.noisy_product_plus(torch.bmm),
    "addmv": sum_noise.noisy_product_plus(torch.mv),
    "convolution": sum_noise.noisy_convolution,
    "cumsum": sum_noise.noisy_cumsum,
    "prod": sum_noise.noisy_prod,
    "cumprod": sum_noise.noisy_cumprod,
    "scatter_add": sum_noise.noisy_scatter_add,
    "index_add": sum_noise.noisy_scatter_add,
    "avg_pool2d": sum_noise.noisy_average_pool,
    "_adaptive_avg_pool2d": sum_noise.noisy_average_pool,
    "var": norm_noise.noisy_variance,
    "var_mean": norm_noise.noisy_variance,
    "std": norm_noise.noisy_deviation,
    "std_mean": norm_noise.noisy_deviation,
    "linalg_vector_norm": norm_noise.noisy_vector_norm,
    "native_layer_norm": norm_noise.noisy_layer_norm,
    "native_group_norm": norm_noise.noisy_group_norm,
    "native_batch_norm": norm_noise.noisy_batch_norm,
    "_softmax": norm_noise.noisy_softmax,
    "_safe_softmax": norm_noise.noisy_softmax,
    "_log_softmax": norm_noise.noisy_log_softmax,
    "logsumexp": norm_noise.noisy_logsumexp,
    "gelu": norm_noise.noisy_gelu,
    "upsample_linear1d": norm_noise.noisy_interpolation,
    "upsample_bilinear2d": norm_noise.noisy_interpolation,
    "upsample_bicubic2d": norm_noise.noisy_interpolation,
    "upsample_trilinear3d": norm_noise.noisy_interpolation,
    "grid_sampler_2d": norm_noise.noisy_grid_sample,
    "grid_sampler_3d": norm_noise.noisy_grid_sample,
    "addcmul": _multiply_add,
    "addcdiv": _multiply_add,
    "lerp": _multiply_add,
    "arange": _grid,
    "linspace": _grid,
    "pow": _power,
    "log_sigmoid_forward": _log_sigmoid,
    "nll_loss_forward": _reduced_loss,
    "mse_loss": _reduced_loss,
    "smooth_l1_loss": _reduced_loss,
    "huber_loss": _reduced_loss,
    "binary_cross_entropy": _reduced_loss,
}
"""Calls with a rule of their own, by ATen name without the underscore of in-place calls."""
