"""Rounding errors of calls that add many terms: sums, products of matrices, convolutions, scans, pools, losses.

Each rule names the terms of its call; `Noise.total` decides the size of the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from opsdebug_ci.numerics.noise import Call, Rule

Multiply = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def noisy_sum(call: Call) -> Any:
    """Terms are what is added, NaN left out where the call does so."""
    if call.result.dtype is not torch.float64:
        return call.result
    terms = call.args[0].double()
    if call.func.overloadpacket is torch.ops.aten.nansum:
        terms = torch.where(torch.isnan(terms), torch.zeros_like(terms), terms)
    dims = call.argument(1)
    return call.noise.sum(terms, list(dims) if dims else None, keepdim=bool(call.argument(2, False)))


def noisy_mean(call: Call) -> Any:
    """A sum and a division."""
    terms = call.args[0].numel() / max(call.result.numel(), 1)
    return call.noise.rounding(noisy_sum(call) / terms)


def noisy_product(multiply: Multiply) -> Rule:
    """mm, bmm, mv, dot: Q and S are the same product of squares and of absolute values."""

    def rule(call: Call) -> torch.Tensor:
        a, b = (call.noise.operand(operand) for operand in call.args[:2])
        return call.noise.total(
            multiply(a, b) if call.noise.operand_roundoff else call.result,
            float(a.shape[-1]),
            squares=lambda: multiply(a.square(), b.square()),
            absolutes=lambda: multiply(a.abs(), b.abs()),
        )

    return rule


def noisy_product_plus(multiply: Multiply) -> Rule:
    """addmm, baddbmm, addmv: the added matrix is one more term, and none where beta is 0."""

    def rule(call: Call) -> torch.Tensor:
        beta, alpha = float(call.kwargs.get("beta", 1)), float(call.kwargs.get("alpha", 1))
        a, b = (call.noise.operand(operand) for operand in call.args[1:3])
        added = beta * call.args[0] if beta else torch.zeros_like(call.args[0])
        return call.noise.total(
            added + alpha * multiply(a, b) if call.noise.operand_roundoff else call.result,
            float(a.shape[-1] + 1),
            squares=lambda: added.square() + alpha**2 * multiply(a.square(), b.square()),
            absolutes=lambda: added.abs() + abs(alpha) * multiply(a.abs(), b.abs()),
        )

    return rule


def noisy_convolution(call: Call) -> Any:
    """Terms per output: the weights of one output channel, and the bias."""
    x, weight = (call.noise.operand(operand) for operand in call.args[:2])
    bias, *rest = call.args[2:]
    transposed = bool(rest[3])
    terms = weight.numel() / weight.shape[1 if transposed else 0] + 1.0 if weight.numel() else 1.0

    def convolve(change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        return call.func(change(x), change(weight), None if bias is None else change(bias), *rest)

    return call.noise.total(
        convolve(torch.positive) if call.noise.operand_roundoff else call.result,
        terms,
        squares=lambda: convolve(torch.square),
        absolutes=lambda: convolve(torch.abs),
    )


def noisy_cumsum(call: Call) -> Any:
    """A sum per prefix."""
    x, dim = call.args[:2]
    if x.ndim == 0 or call.result.dtype is not torch.float64:
        return call.result
    x = x.double()
    return call.noise.total(
        call.result,
        _prefix_lengths(x, dim),
        squares=lambda: x.square().cumsum(dim),
        absolutes=lambda: x.abs().cumsum(dim),
    )


def noisy_prod(call: Call) -> Any:
    """One rounding per factor; they add up as a random walk."""
    if call.result.dtype is not torch.float64:
        return call.result
    factors = call.args[0].numel() / max(call.result.numel(), 1)
    return call.noise.rounding(call.result, factors if call.noise.worst else math.sqrt(factors))


def noisy_cumprod(call: Call) -> Any:
    """As `noisy_prod`, per prefix."""
    x, dim = call.args[:2]
    if x.ndim == 0 or call.result.dtype is not torch.float64:
        return call.result
    factors = _prefix_lengths(x, dim)
    return call.noise.magnitude(call.result, call.result * (factors if call.noise.worst else factors.sqrt()))


def noisy_scatter_add(call: Call) -> Any:
    """scatter_add, index_add: what lands on an element is summed, in any order."""
    target, dim, index, source = call.args[:4]
    alpha = float(call.kwargs.get("alpha", 1))
    count = call.func.overloadpacket(torch.ones_like(target), dim, index, torch.ones_like(source))
    again = call.func.overloadpacket
    return call.noise.total(
        call.result,
        count,
        squares=lambda: again(target.square(), dim, index, (alpha * source).square()),
        absolutes=lambda: again(target.abs(), dim, index, (alpha * source).abs()),
    )


def noisy_average_pool(call: Call) -> Any:
    """A mean over each window. At borders that divide by fewer, the window counts as full."""
    x = call.args[0]
    window = call.args[1]
    if call.func.overloadpacket is torch.ops.aten.avg_pool2d:
        terms = float(math.prod(window) if len(window) > 1 else window[0] ** 2)
    else:
        terms = float(math.prod(-(-size // max(out, 1)) for size, out in zip(x.shape[-2:], window, strict=True)))
    rest = call.args[1:]
    noisy = call.noise.total(
        call.result,
        terms,
        squares=lambda: call.func(x.square(), *rest) / terms,
        absolutes=lambda: call.func(x.abs(), *rest),
    )
    return call.noise.rounding(noisy)


def _prefix_lengths(x: torch.Tensor, dim: int) -> torch.Tensor:
    counts = torch.arange(1, x.shape[dim] + 1, dtype=torch.float64, device=x.device)
    return counts.reshape([-1 if axis == dim % x.ndim else 1 for axis in range(x.ndim)])
