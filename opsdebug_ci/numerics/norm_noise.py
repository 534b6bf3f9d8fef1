"""Rounding errors of fused calls (moments, norms, softmax), written out into the steps a good kernel takes."""

from __future__ import annotations

import math
from typing import Any

import torch

from opsdebug_ci.numerics.noise import FUNCTION_ULPS, Call, Noise


def noisy_variance(call: Call) -> Any:
    """var, var_mean: two passes."""
    mean, variance = _moments_of(call)
    if isinstance(call.result, tuple):
        return variance.reshape(call.result[0].shape), mean.reshape(call.result[1].shape)
    return variance.reshape(call.result.shape)


def noisy_deviation(call: Call) -> Any:
    """std, std_mean: the square root of the variance."""
    mean, variance = _moments_of(call)
    deviation = call.noise.function(torch.sqrt, variance)
    if isinstance(call.result, tuple):
        return deviation.reshape(call.result[0].shape), mean.reshape(call.result[1].shape)
    return deviation.reshape(call.result.shape)


def noisy_vector_norm(call: Call) -> Any:
    """(sum |x|**p)**(1/p); the extreme orders select one element and are exact."""
    order, dims = float(call.argument(1, 2.0)), call.argument(2)
    x, axes = call.args[0], list(dims) if dims is not None else None
    if math.isinf(order) or order == 0.0:
        return call.result
    if order == 1.0:
        return call.noise.sum(x.abs(), axes, keepdim=True).reshape(call.result.shape)
    if order == 2.0:
        squares = call.noise.sum(call.noise.rounding(x.square()), axes, keepdim=True)
        return call.noise.function(torch.sqrt, squares).reshape(call.result.shape)
    powers = call.noise.function(lambda value: value.abs().pow(order), x)
    total = call.noise.sum(powers, axes, keepdim=True)
    return call.noise.function(lambda value: value.pow(1.0 / order), total).reshape(call.result.shape)


def noisy_layer_norm(call: Call) -> Any:
    """Moments over the last axes; the returned statistics stay exact."""
    x, shape, weight, bias, eps = call.args[:5]
    axes = list(range(x.ndim - len(shape), x.ndim))
    return (_normalised(call.noise, x, axes, eps, weight, bias), *call.result[1:])


def noisy_group_norm(call: Call) -> Any:
    """Moments over each group of channels; scale and shift per channel."""
    x, weight, bias, batch, channels, _, groups, eps = call.args[:8]
    if x.numel() == 0:
        return call.result
    normal = _normalised(call.noise, x.reshape(batch, groups, -1), [2], eps, None, None).reshape(x.shape)
    per_channel = [1, channels, *([1] * (x.ndim - 2))]
    scaled = normal if weight is None else call.noise.rounding(normal * weight.reshape(per_channel))
    shifted = scaled if bias is None else call.noise.rounding(scaled + bias.reshape(per_channel))
    return (shifted, *call.result[1:])


def noisy_batch_norm(call: Call) -> Any:
    """Moments over all axes but the channels, or the running ones; these are updated in two more steps each."""
    x, weight, bias, running_mean, running_var, training, momentum, eps = call.args[:8]
    if x.numel() == 0:
        return call.result
    noise, axes, per_channel = call.noise, [0, *range(2, x.ndim)], [1, -1, *([1] * (x.ndim - 2))]
    if training:
        mean, variance = _moments(noise, x, axes, 0.0)
    else:
        mean, variance = (stat.double().reshape(per_channel) for stat in (running_mean, running_var))
    scale = noise.function(torch.rsqrt, noise.rounding(variance + eps))
    normal = noise.rounding(noise.rounding(x - mean) * scale)
    for factor, combine in ((weight, torch.mul), (bias, torch.add)):
        if factor is not None:
            normal = noise.rounding(combine(normal, factor.reshape(per_channel)))
    state = call.result[3:]
    if training and len(state) == 2:
        count = x.numel() / x.shape[1]
        unbiased = noise.rounding(variance * (count / max(count - 1.0, 1.0)))
        state = tuple(
            noise.magnitude(new, new.abs() + old.abs()) + momentum * (seen.reshape(new.shape) - exact)
            for new, old, seen, exact in zip(
                state,
                (running_mean, running_var),
                (mean, unbiased),
                (x.mean(axes), x.var(axes, correction=1 if count > 1 else 0)),
                strict=True,
            )
        )
    return (normal, *call.result[1:3], *state)


def noisy_softmax(call: Call) -> Any:
    """exp(x - max) / sum, without taking it apart: the relative error of an element is that of its exponential, whose
    argument x - max is rounded 1 + FUNCTION_ULPS times, of the sum, and of two more steps."""
    x, dim = call.args[:2]
    if x.numel() == 0 or x.ndim == 0:
        return call.result
    noise, weights = call.noise, call.result
    together = math.hypot(1.0, FUNCTION_ULPS)  # of errors that do not know of each other
    distance = (x - x.amax(dim, keepdim=True)).mul_(-together).add_(together)
    ones = torch.ones_like(x.select(dim, 0).unsqueeze(dim))
    total = noise.total(
        ones, float(x.shape[dim]), squares=lambda: weights.square().sum(dim, keepdim=True), absolutes=lambda: ones
    )
    # A weight of zero stays zero however far away it is; infinities times it would not.
    return noise.magnitude(weights * total, distance.mul_(weights).masked_fill_(weights == 0, 0.0))


def noisy_log_softmax(call: Call) -> Any:
    """(x - max) - log(sum). Some kernels subtract max + log(sum) as one number: the maximum's rounding counts too."""
    x, dim = call.args[:2]
    if x.numel() == 0 or x.ndim == 0:
        return call.result
    shifted, _, total = _exponentials(call.noise, x, [dim])
    logarithm = call.noise.function(torch.log, total)
    terms = shifted.abs() + logarithm.abs() + x.amax(dim, keepdim=True).abs()
    return call.noise.magnitude(shifted - logarithm, terms)


def noisy_logsumexp(call: Call) -> Any:
    """log(sum) + max."""
    x, dims = call.args[0], list(call.args[1])
    if x.numel() == 0 or x.ndim == 0:
        return call.result
    _, _, total = _exponentials(call.noise, x, dims)
    peak = x.amax(dims, keepdim=True)
    return call.noise.rounding(call.noise.function(torch.log, total) + peak).reshape(call.result.shape)


def noisy_gelu(call: Call) -> Any:
    """0.5*x*(1 + erf) cancels for negative x: the term that decides is 0.5*|x|*(1 + |erf|)."""
    x, approximate = call.args[0], call.kwargs.get("approximate", "none")
    noisy = call.noise.function(lambda argument: torch.nn.functional.gelu(argument, approximate=approximate), x)
    terms = (0.5 * x).mul_(torch.erf(x / math.sqrt(2.0)).abs_().add_(1.0))
    return call.noise.magnitude(noisy, terms, FUNCTION_ULPS)


def noisy_interpolation(call: Call) -> Any:
    """A source coordinate is rounded at its own size, up to the length of the axis, and so is the weight it gives.

    A weight near zero is off by as much as a large one, so each sample counts as its largest neighbour.
    """
    x = call.args[0]
    if call.result.numel() == 0:
        return call.result
    pool = _MAX_POOLS[x.ndim]
    largest = float(max([*call.result.shape[2:], *x.shape[2:], 1]))
    reach = 2 if "cubic" in call.func.overloadpacket.__name__ else 1
    neighbours = pool(x.abs(), kernel_size=2 * reach + 1, stride=1, padding=reach)
    magnitude = call.func(neighbours, *call.args[1:]).abs()
    return call.noise.magnitude(call.result, magnitude, 4.0 + largest)


def noisy_grid_sample(call: Call) -> Any:
    """A coordinate ((g + 1)*size - 1)/2 is rounded at the size of g + 1, and its weights move with it."""
    x, grid = call.args[:2]
    if call.result.numel() == 0:
        return call.result
    moved = call.noise.magnitude(grid, grid.abs() + 1.0, FUNCTION_ULPS)
    sampled = call.func(call.noise.rounding(x), moved, *call.args[2:])
    return call.noise.rounding(sampled, FUNCTION_ULPS)


_MAX_POOLS = {
    3: torch.nn.functional.max_pool1d,
    4: torch.nn.functional.max_pool2d,
    5: torch.nn.functional.max_pool3d,
}
"""By number of axes, batch and channel included."""


def _moments_of(call: Call) -> tuple[torch.Tensor, torch.Tensor]:
    x, dims, correction = call.args[0], call.argument(1), call.kwargs.get("correction")
    axes = list(dims) if dims else list(range(x.ndim))
    return _moments(call.noise, x, axes, 1.0 if correction is None else float(correction))


def _moments(noise: Noise, x: torch.Tensor, axes: list[int], correction: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Two-pass mean and variance, with dims kept."""
    count = float(math.prod(x.shape[axis] for axis in axes))
    mean = noise.rounding(noise.sum(x, axes, keepdim=True) / max(count, 1.0))
    centred = noise.rounding(x - mean)
    squares = noise.rounding(centred.square())
    return mean, noise.rounding(noise.sum(squares, axes, keepdim=True) / max(count - correction, 0.0))


def _normalised(
    noise: Noise, x: torch.Tensor, axes: list[int], eps: float, weight: torch.Tensor | None, bias: torch.Tensor | None
) -> torch.Tensor:
    mean, variance = _moments(noise, x, axes, 0.0)
    scale = noise.function(torch.rsqrt, noise.rounding(variance + eps))
    normal = noise.rounding(noise.rounding(x - mean) * scale)
    scaled = normal if weight is None else noise.rounding(normal * weight)
    return scaled if bias is None else noise.rounding(scaled + bias)


def _exponentials(noise: Noise, x: torch.Tensor, dims: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(x - max, exp(x - max), their sum over `dims`), dims kept."""
    shifted = noise.rounding(x - x.amax(dims, keepdim=True))
    exponentials = noise.function(torch.exp, shifted)
    return shifted, exponentials, noise.sum(exponentials, dims, keepdim=True)
