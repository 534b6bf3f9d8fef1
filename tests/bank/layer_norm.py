"""Layer norms: two passes, merged moments, fused residuals, statistics, channels first, adaptive, backward."""

import torch
from torch.nn import functional

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")
SIZES = {"S": 6, "H": 72}
AFFINE = {"x": tensor("S H"), "weight": tensor("H"), "bias": tensor("H")}


def affine_reference(x, weight, bias):
    return functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


@operator(kind="norm", dtypes=HALVES, dims=SIZES, arguments=AFFINE)
def layer_norm_two_pass_right(x, weight, bias):
    x32 = x.float()
    centred = x32 - x32.sum(-1, keepdim=True) / x.shape[-1]
    variance = torch.einsum("sh,sh->s", centred, centred) / x.shape[-1]
    scaled = centred * torch.rsqrt(variance + 1e-5)[:, None]
    return torch.addcmul(bias.float(), scaled, weight.float()).to(x.dtype)


layer_norm_two_pass_right.reference("torch")(affine_reference)


@operator(kind="norm", dtypes=HALVES, dims={"S": 6, "H": 100}, arguments=AFFINE)
def layer_norm_welford_right(x, weight, bias):
    """Tiles of 32 columns have moments of their own, which are merged pair by pair (Chan)."""
    count, mean, squares = 0, torch.zeros(x.shape[:-1]), torch.zeros(x.shape[:-1])
    for start in range(0, x.shape[-1], 32):
        tile = x[..., start : start + 32].float()
        tile_count = tile.shape[-1]
        tile_mean = tile.mean(-1)
        tile_squares = (tile - tile_mean[..., None]).square().sum(-1)
        delta = tile_mean - mean
        merged = count + tile_count
        mean = mean + delta * (tile_count / merged)
        squares = squares + tile_squares + delta * delta * (count * tile_count / merged)
        count = merged
    inverse = torch.rsqrt(squares / max(count, 1) + 1e-5)
    out = torch.empty(x.shape, dtype=x.dtype)
    for start in range(0, x.shape[-1], 32):
        part = slice(start, start + 32)
        scaled = (x[..., part].float() - mean[..., None]) * inverse[..., None]
        out[..., part] = scaled * weight[part].float() + bias[part].float()
    return out


layer_norm_welford_right.reference("torch")(affine_reference)


@operator(
    kind="norm", dtypes=HALVES, dims={"S": 5, "H": 48}, x=tensor("S H"), residual=tensor("S H"), weight=tensor("H")
)
def layer_norm_residual_right(x, residual, weight):
    """Returns the normalised sum and the sum itself, which stays in float32 in between."""
    total = x.float() + residual.float()
    variance, mean = torch.var_mean(total, dim=-1, correction=0, keepdim=True)
    normed = (total - mean) / torch.sqrt(variance + 1e-6) * weight.float()
    return normed.to(x.dtype), total.to(x.dtype)


@layer_norm_residual_right.reference("torch")
def _(x, residual, weight):
    total = x + residual
    return functional.layer_norm(total, total.shape[-1:], weight, None, 1e-6), total


@operator(
    kind={"y": "norm", "mean": "reduction", "rstd": "norm"}, dtypes=("float32", "bfloat16"), dims=SIZES, x=tensor("S H")
)
def layer_norm_statistics_right(x):
    """Without weights; mean and reciprocal deviation are kept in float32 for the backward pass."""
    if x.shape[-1] == 0:
        raise ValueError("nothing to normalise")
    wide = x.float()
    ones = torch.ones(x.shape[-1], 1)
    mean = (wide @ ones) / x.shape[-1]
    centred = wide - mean
    rstd = 1.0 / torch.sqrt((centred * centred) @ ones / x.shape[-1] + 1e-5)
    return {"y": (centred * rstd).to(x.dtype), "mean": mean.squeeze(-1), "rstd": rstd.squeeze(-1)}


@layer_norm_statistics_right.reference("torch")
def _(x):
    wide = x.float()
    mean = wide.mean(-1)
    rstd = torch.rsqrt(wide.var(-1, unbiased=False) + 1e-5)
    return ((wide - mean[:, None]) * rstd[:, None]).to(x.dtype), mean, rstd


@operator(
    kind="norm", dtypes=HALVES, dims={"N": 2, "C": 24, "L": 10}, x=tensor("N C L"), weight=tensor("C"), bias=tensor("C")
)
def layer_norm_channels_first_right(x, weight, bias):
    """Normalises over channels, which are not the last axis; sums run down the columns."""
    wide = x.float()
    mean = wide.new_zeros(x.shape[0], x.shape[2])
    for channels in wide.split(8, dim=1):
        mean += channels.sum(1)
    mean /= x.shape[1]
    squares = torch.zeros_like(mean)
    for channels in wide.split(8, dim=1):
        squares += (channels - mean[:, None]).square().sum(1)
    inverse = (squares / x.shape[1] + 1e-6).rsqrt()
    return ((wide - mean[:, None]) * inverse[:, None] * weight.float()[:, None] + bias.float()[:, None]).to(x.dtype)


@layer_norm_channels_first_right.reference("torch")
def _(x, weight, bias):
    return functional.layer_norm(x.transpose(1, 2), (x.shape[1],), weight, bias, 1e-6).transpose(1, 2)


MODULATED = {"x": tensor("B S H"), "scale": tensor("B H"), "shift": tensor("B H")}


@operator(kind="norm", dtypes=HALVES, dims={"B": 2, "S": 6, "H": 40}, arguments=MODULATED)
def layer_norm_modulate_right(x, scale, shift):
    """Adaptive: every sample has its own scale, around 1, and shift."""
    wide = x.to(torch.float32)
    centred = wide - wide.mean(dim=-1, keepdim=True)
    inverse = torch.rsqrt((centred**2).mean(dim=-1, keepdim=True) + 1e-6)
    normed = centred * inverse
    return (normed + normed * scale[:, None].float() + shift[:, None].float()).to(x.dtype)


@layer_norm_modulate_right.reference("torch")
def _(x, scale, shift):
    return functional.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


BACKWARD = {
    "gradient": tensor("S H"),
    "x": tensor("S H"),
    "weight": tensor("H"),
}


def backward_reference(gradient, x, weight):
    mean = x.mean(-1, keepdim=True)
    rstd = torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
    normed = (x - mean) * rstd
    g = gradient * weight
    dx = rstd * (g - g.mean(-1, keepdim=True) - normed * (g * normed).mean(-1, keepdim=True))
    return dx, (gradient * normed).sum(0), gradient.sum(0)


@operator(kind="norm", dims={"S": 8, "H": 40}, arguments=BACKWARD)
def layer_norm_backward_right(gradient, x, weight):
    """Gradients of input, weight and bias; those of the weights are summed over blocks of rows."""
    width = x.shape[-1]
    centred = x - x.sum(-1, keepdim=True) / width
    inverse = torch.rsqrt(centred.square().sum(-1, keepdim=True) / width + 1e-5)
    normed = centred * inverse
    g = gradient * weight
    a = torch.einsum("sh,sh->s", g, normed)[:, None] / width
    b = g.sum(-1, keepdim=True) / width
    d_weight, d_bias = torch.zeros_like(weight), torch.zeros_like(weight)
    for rows in range(0, x.shape[0], 4):
        d_weight = d_weight + (gradient[rows : rows + 4] * normed[rows : rows + 4]).sum(0)
        d_bias = d_bias + gradient[rows : rows + 4].sum(0)
    return (g - (a * normed + b)) * inverse, d_weight, d_bias


layer_norm_backward_right.reference("torch")(backward_reference)


@operator(kind="norm", dtypes=HALVES, dims=SIZES, **AFFINE, eps=1e-3)
def layer_norm_eps_outside_wrong(x, weight, bias, eps):
    """Epsilon is added to the deviation instead of the variance."""
    centred = x.float() - x.float().mean(-1, keepdim=True)
    deviation = centred.square().mean(-1, keepdim=True).sqrt()
    return (centred / (deviation + eps) * weight.float() + bias.float()).to(x.dtype)


@layer_norm_eps_outside_wrong.reference("torch")
def _(x, weight, bias, eps):
    return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


@operator(kind="norm", dtypes=("float32", "float16"), dims=SIZES, arguments=AFFINE)
def layer_norm_unbiased_wrong(x, weight, bias):
    """The variance is the unbiased one (torch.var's default)."""
    wide = x.float()
    normed = (wide - wide.mean(-1, keepdim=True)) * torch.rsqrt(wide.var(-1, keepdim=True) + 1e-5)
    return (normed * weight.float() + bias.float()).to(x.dtype)


layer_norm_unbiased_wrong.reference("torch")(affine_reference)


@operator(kind="norm", dtypes=("float32", "bfloat16"), dims=SIZES, arguments=AFFINE)
def layer_norm_one_pass_moments_wrong(x, weight, bias):
    """The variance is the mean of squares less the squared mean, which cancels for values far from 0."""
    wide = x.float()
    mean = wide.mean(-1, keepdim=True)
    variance = (wide.square().mean(-1, keepdim=True) - mean.square()).clamp(min=0)
    return ((wide - mean) * torch.rsqrt(variance + 1e-5) * weight.float() + bias.float()).to(x.dtype)


layer_norm_one_pass_moments_wrong.reference("torch")(affine_reference)


@operator(kind="norm", dtypes=HALVES, dims={"B": 2, "S": 6, "H": 40}, arguments=MODULATED)
def layer_norm_modulate_no_one_wrong(x, scale, shift):
    """The scale is applied without the 1 that it is relative to."""
    wide = x.float()
    variance, mean = torch.var_mean(wide, dim=-1, correction=0, keepdim=True)
    return ((wide - mean) * torch.rsqrt(variance + 1e-6) * scale[:, None].float() + shift[:, None].float()).to(x.dtype)


@layer_norm_modulate_no_one_wrong.reference("torch")
def _(x, scale, shift):
    return functional.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


@operator(kind="norm", dims={"S": 8, "H": 40}, arguments=BACKWARD)
def layer_norm_backward_no_mean_wrong(gradient, x, weight):
    """The input's gradient lacks the term through the mean."""
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    inverse = torch.rsqrt(variance + 1e-5)
    normed = (x - mean) * inverse
    g = gradient * weight
    return inverse * (g - normed * (g * normed).mean(-1, keepdim=True)), (gradient * normed).sum(0), gradient.sum(0)


layer_norm_backward_no_mean_wrong.reference("torch")(backward_reference)
