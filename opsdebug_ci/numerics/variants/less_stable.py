"""Formulas that are the reference's in exact arithmetic and round worse.

Their own rounding errors, at the precision the operator promises, are what they are recognised by: the order of a
kernel's sums is not known, so no single run reproduces its bits. See `Alternative.rounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call
from opsdebug_ci.numerics.variants.normalisation import normalised_rows
from opsdebug_ci.numerics.variants.reductions import axis_of

LONGEST_CHAIN = 4096
"""Terms of a chain that is run step by step."""

MAKERS_OF_SQUARES = ("square", "pow", "mul")
"""Calls a square comes from."""

CANCELS = "the variance is computed as E[x**2] - mean**2 and cancels"

Unary = Callable[[torch.Tensor], torch.Tensor]


def _log_of_one_plus(x: torch.Tensor) -> torch.Tensor:
    return torch.log(1 + x)


def _softplus(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(min=0) + _log_of_one_plus(torch.exp(-x.abs()))


_FORMS: dict[str, tuple[tuple[str, Unary], ...]] = {
    "softplus": (("`log1p(y)` of softplus is computed as `log(1 + y)`: what 1 + y rounds away is lost", _softplus),),
    "log1p": (("`log1p(y)` is computed as `log(1 + y)`: what 1 + y rounds away is lost", _log_of_one_plus),),
    "expm1": (("`expm1(x)` is computed as `exp(x) - 1` and cancels near 0", lambda x: torch.exp(x) - 1),),
    "erfc": (("`erfc(x)` is computed as `1 - erf(x)` and cancels", lambda x: 1 - torch.erf(x)),),
    "elu": (("`expm1(x)` of ELU is computed as `exp(x) - 1` and cancels near 0", lambda x: torch.exp(x) - 1),),
    "tanh": (
        (
            "tanh is computed from exponentials, (1 - e) / (1 + e), and cancels near 0",
            lambda x: torch.sign(x) * (1 - torch.exp(-2 * x.abs())) / (1 + torch.exp(-2 * x.abs())),
        ),
        ("tanh is computed as 1 - 2 / (exp(2x) + 1) and cancels near 0", lambda x: 1 - 2 / (torch.exp(2 * x) + 1)),
        ("tanh is computed as 2 * sigmoid(2x) - 1 and cancels near 0", lambda x: 2 * torch.sigmoid(2 * x) - 1),
    ),
    "sinh": (
        ("sinh is half the difference of two exponentials, which cancel near 0", lambda x: (x.exp() - (-x).exp()) / 2),
    ),
    "asinh": (("asinh is log(x + sqrt(x**2 + 1)), which cancels", lambda x: torch.log(x + torch.sqrt(x * x + 1))),),
    "atanh": (("atanh is half of log((1 + x) / (1 - x)), which cancels", lambda x: torch.log((1 + x) / (1 - x)) / 2),),
    "sigmoid": (("the sigmoid is 1 - 1 / (1 + exp(x)) and cancels", lambda x: 1 - 1 / (1 + torch.exp(x))),),
}
"""Function to forms of it that lose digits, and how that is told."""


def less_stable(call: Call) -> Iterator[Alternative]:
    """log(1 + y), exp(x) - 1 and the like; variances in one pass; log-sum-exp as a chain."""
    x = call.tensor("self")
    norm = normalised_rows(call)
    if norm is not None and norm[0].centred:
        yield _form(CANCELS, Cause.LOW_PRECISION_ACCUM, lambda: norm[1](norm[0].rows(one_pass=True)))
    if x is None or not x.is_floating_point() or x.numel() == 0:
        return
    for phrase, function in _FORMS.get(call.name, ()):
        yield _form(phrase, Cause.APPROXIMATION, partial(_by_form, call, x, function))
    if call.name == "log_sigmoid_forward":
        phrase = "`log1p(y)` of the log-sigmoid is computed as `log(1 + y)`: what 1 + y rounds away is lost"
        yield _form(phrase, Cause.APPROXIMATION, lambda: (-_softplus(-x), *call.result[1:]))
    if call.name in ("var", "std", "var_mean", "std_mean"):
        yield _form(CANCELS, Cause.LOW_PRECISION_ACCUM, partial(_one_pass, call, x))
    if call.name in ("mean", "sum"):
        yield from _squares(call, x)
    axis = axis_of(call, x.ndim) if call.name == "logsumexp" else None
    if axis is not None and 1 < x.shape[axis] <= LONGEST_CHAIN:
        phrase = (
            "the terms are joined one by one by `logaddexp`, each step rounded at the size of the running value: the "
            "error grows with the number of terms and with their offset, as the maximum is not taken off first"
        )
        yield _form(phrase, Cause.ACCUMULATION_ORDER, partial(_chain, call, x, axis))


def _form(phrase: str, cause: Cause, result: Callable[[], Any]) -> Alternative:
    return Alternative(name=phrase, cause=cause, statement=phrase, result=result, weight=0.8, rounds=True)


def _by_form(call: Call, x: torch.Tensor, function: Unary) -> torch.Tensor:
    """A scaled or one-sided function keeps its scale and its other side."""
    if call.name == "elu":
        return torch.where(x > 0, call.result, call.result / torch.expm1(x).masked_fill(x == 0, 1.0) * function(x))
    if call.name == "softplus" and call.values.get("beta", 1) != 1:
        raise ValueError("a scaled softplus")
    return function(x)


def _one_pass(call: Call, x: torch.Tensor) -> Any:
    dims, correction = call.values.get("dim"), call.values.get("correction")
    axes = [dims] if isinstance(dims, int) else list(dims or range(x.ndim))
    n = math.prod(x.shape[axis] for axis in axes)
    mean = x.mean(axes, keepdim=True)
    biased = ((x * x).mean(axes, keepdim=True) - mean * mean).abs()
    variance = biased * (n / (n - float(1 if correction is None else correction)))
    made = variance.sqrt() if call.name.startswith("std") else variance
    if isinstance(call.result, (tuple, list)):
        return made.reshape(call.result[0].shape), call.result[1]
    return made.reshape(call.result.shape)


def _squares(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    """A mean or sum of squared distances from a mean, where the reference writes them out."""
    squared = call.maker(x)
    if squared is None or squared.name not in MAKERS_OF_SQUARES:
        return
    distance = squared.tensor("self")
    if squared.name == "pow" and squared.values.get("exponent") != 2:
        return
    if squared.name == "mul" and squared.values.get("other") is not distance:
        return
    centred = None if distance is None else squared.maker(distance)
    if centred is None or centred.name != "sub":
        return
    value, mean = centred.tensor("self"), centred.tensor("other")
    if value is None or mean is None or value.shape != x.shape:
        return
    yield _form(CANCELS, Cause.LOW_PRECISION_ACCUM, partial(_of_squares, call, value, mean))


def _of_squares(call: Call, value: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    """Its sign is lost with its digits, and a root of it is wanted: the size is kept."""
    squares = call.again(self=value * value)
    spread = call.again(self=(mean * mean).expand_as(value)) if call.name == "sum" else _kept(call, mean * mean)
    made: torch.Tensor = (squares - spread).abs()
    return made


def _kept(call: Call, mean: torch.Tensor) -> torch.Tensor:
    """A statistic in the shape of the result: it may keep the axes that the result has lost, or none."""
    return mean.reshape(call.result.shape) if mean.numel() == call.result.numel() else mean


def _chain(call: Call, x: torch.Tensor, axis: int) -> torch.Tensor:
    total, *rest = x.unbind(axis)
    for each in rest:
        total = torch.logaddexp(total, each)
    return total.reshape(call.result.shape)
