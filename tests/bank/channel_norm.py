"""Norms by channel: batch norm for inference and training, group norm, instance norm, and what is fused with them."""

import torch
from torch.nn import functional

from opsdebug_ci import Contract, operator, tensor

HALVES = ("float32", "float16", "bfloat16")
INFERENCE = {
    "x": tensor("N C L"),
    "mean": tensor("C", dtype="float32", values="finite"),
    "variance": tensor("C", dtype="float32", values="positive"),
    "weight": tensor("C", dtype="float32", values="finite"),
    "bias": tensor("C", dtype="float32", values="finite"),
}


@operator(kind="norm", dtypes=HALVES, dims={"N": 2, "C": 10, "L": 12}, arguments=INFERENCE)
def channel_norm_batch_inference_right(x, mean, variance, weight, bias):
    slope = weight / torch.sqrt(variance + 1e-5)
    return torch.addcmul(bias[:, None], x.float() - mean[:, None], slope[:, None]).to(x.dtype)


@channel_norm_batch_inference_right.reference("torch")
def _(x, mean, variance, weight, bias):
    return ((x - mean[:, None]) / torch.sqrt(variance[:, None] + 1e-5) * weight[:, None] + bias[:, None]).to(x.dtype)


TRAINING = {
    "x": tensor("N C L"),
    "running_mean": tensor("C", dtype="float32", layouts="contiguous", values="finite"),
    "running_var": tensor("C", dtype="float32", layouts="contiguous", values="positive"),
    "weight": tensor("C", dtype="float32"),
    "bias": tensor("C", dtype="float32"),
}
TRAINING_SIZES = {"N": 4, "C": 6, "L": 9}
RUNNING = Contract(mutates=("running_mean", "running_var"))


def several_values(case):
    return case.dims["N"] * case.dims["L"] > 1 or "more than one value per channel"


def training_reference(x, running_mean, running_var, weight, bias):
    running_mean, running_var = running_mean.clone(), running_var.clone()
    out = functional.batch_norm(x, running_mean, running_var, weight.to(x.dtype), bias.to(x.dtype), training=True)
    return out, running_mean, running_var


def wide_training_reference(x, running_mean, running_var, weight, bias):
    wide = x.float()
    mean, variance = wide.mean((0, 2)), wide.var((0, 2), unbiased=False)
    count = x.shape[0] * x.shape[2]
    normed = (wide - mean[:, None]) / torch.sqrt(variance[:, None] + 1e-5)
    return (
        (normed * weight[:, None] + bias[:, None]).to(x.dtype),
        0.9 * running_mean + 0.1 * mean,
        0.9 * running_var + 0.1 * variance * count / (count - 1),
    )


@operator(kind="norm", dims=TRAINING_SIZES, requires=several_values, contract=RUNNING, arguments=TRAINING)
def channel_norm_batch_training_right(x, running_mean, running_var, weight, bias):
    """Running statistics move in place by a tenth, the variance with Bessel's correction."""
    count = x.shape[0] * x.shape[2]
    rows = x.transpose(0, 1).flatten(1)
    mean = rows.sum(1) / count
    centred = rows - mean[:, None]
    squares = centred.square().sum(1)
    running_mean.lerp_(mean, 0.1)
    running_var.lerp_(squares / (count - 1), 0.1)
    scaled = centred * (torch.rsqrt(squares / count + 1e-5) * weight)[:, None] + bias[:, None]
    return scaled.unflatten(1, (x.shape[0], x.shape[2])).transpose(0, 1)


channel_norm_batch_training_right.reference("torch")(training_reference)


@operator(
    kind="norm",
    dtypes=("float16", "bfloat16"),
    dims=TRAINING_SIZES,
    requires=several_values,
    contract=RUNNING,
    arguments=TRAINING,
)
def channel_norm_batch_training_half_right(x, running_mean, running_var, weight, bias):
    """Moments of each sample are merged into those of the batch; all in float32 until the end."""
    wide = x.float()
    means, moments = wide.mean(2), wide.var(2, unbiased=False)
    mean = means.mean(0)
    variance = moments.mean(0) + (means - mean).square().mean(0)
    count = x.shape[0] * x.shape[2]
    running_mean += 0.1 * (mean - running_mean)
    running_var += 0.1 * (variance * (count / (count - 1)) - running_var)
    return ((wide - mean[:, None]) * torch.rsqrt(variance + 1e-5)[:, None] * weight[:, None] + bias[:, None]).to(
        x.dtype
    )


channel_norm_batch_training_half_right.reference("torch")(wide_training_reference)

GROUPED = {"x": tensor("N 4*C L"), "weight": tensor("4*C"), "bias": tensor("4*C")}
GROUPED_SIZES = {"N": 2, "C": 3, "L": 14}


def group_reference(x, weight, bias):
    return functional.group_norm(x, 4, weight, bias, eps=1e-5)


@operator(kind="norm", dtypes=HALVES, dims=GROUPED_SIZES, arguments=GROUPED)
def channel_norm_group_right(x, weight, bias):
    """Sums of each channel first, then of the channels of a group."""
    groups, members = 4, x.shape[1] // 4
    count = members * x.shape[2]
    wide = x.float()
    mean = wide.sum(2).unflatten(1, (groups, members)).sum(2) / count
    centred = wide - mean.repeat_interleave(members, dim=1)[..., None]
    squares = centred.square().sum(2).unflatten(1, (groups, members)).sum(2)
    inverse = torch.rsqrt(squares / count + 1e-5).repeat_interleave(members, dim=1)
    return (centred * (inverse * weight.float())[..., None] + bias.float()[:, None]).to(x.dtype)


channel_norm_group_right.reference("torch")(group_reference)


@operator(
    kind="norm",
    dtypes=("float32", "bfloat16"),
    dims={"N": 1, "H": 4, "W": 5, "C": 4},
    x=tensor("N H W 2*C"),
    weight=tensor("2*C"),
)
def channel_norm_group_silu_right(x, weight):
    """Channels last, two groups, followed by silu, as in diffusion models."""
    halves = x.float().unflatten(-1, (2, x.shape[-1] // 2))
    variance, mean = torch.var_mean(halves, dim=(1, 2, 4), correction=0, keepdim=True)
    normed = ((halves - mean) * torch.rsqrt(variance + 1e-6)).flatten(-2) * weight.float()
    return (normed / (1 + torch.exp(-normed))).to(x.dtype)


@channel_norm_group_silu_right.reference("torch")
def _(x, weight):
    return functional.silu(functional.group_norm(x.permute(0, 3, 1, 2), 2, weight, None, 1e-6)).permute(0, 2, 3, 1)


PLANES = {"x": tensor("N C H W"), "weight": tensor("C"), "bias": tensor("C")}


def instance_reference(x, weight, bias):
    mean = x.mean((2, 3), keepdim=True)
    variance = x.var((2, 3), unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(variance + 1e-5) * weight[:, None, None] + bias[:, None, None]


@operator(kind="norm", dtypes=HALVES, dims={"N": 2, "C": 5, "H": 6, "W": 7}, arguments=PLANES)
def channel_norm_instance_right(x, weight, bias):
    """One plane after another; its rows are added first."""
    out = torch.empty(x.shape, dtype=x.dtype)
    area = x.shape[2] * x.shape[3]
    for channel in range(x.shape[1]):
        plane = x[:, channel].float()
        mean = plane.sum(2).sum(1) / area
        plane = plane - mean[:, None, None]
        variance = plane.square().sum(1).sum(1) / area
        plane *= torch.rsqrt(variance + 1e-5)[:, None, None]
        out[:, channel] = plane * weight[channel].float() + bias[channel].float()
    return out


channel_norm_instance_right.reference("torch")(instance_reference)


@operator(kind="norm", dtypes=HALVES, dims={"N": 2, "C": 8, "L": 10}, residual=tensor("N C L"), **INFERENCE)
def channel_norm_residual_relu_right(residual, x, mean, variance, weight, bias):
    """Batch norm, residual and relu in one kernel."""
    inverse = torch.rsqrt(variance + 1e-5)
    y = (x.float() - mean[:, None]) * inverse[:, None] * weight[:, None] + (residual.float() + bias[:, None])
    return y.clamp_(min=0).to(x.dtype)


@channel_norm_residual_relu_right.reference("torch")
def _(residual, x, mean, variance, weight, bias):
    y = (x - mean[:, None]) / torch.sqrt(variance[:, None] + 1e-5) * weight[:, None] + bias[:, None]
    return functional.relu(y + residual).to(x.dtype)


@operator(kind="norm", dims=TRAINING_SIZES, requires=several_values, contract=RUNNING, arguments=TRAINING)
def channel_norm_biased_running_wrong(x, running_mean, running_var, weight, bias):
    """The running variance takes the biased variance."""
    variance, mean = torch.var_mean(x, dim=(0, 2), correction=0)
    running_mean.lerp_(mean, 0.1)
    running_var.lerp_(variance, 0.1)
    return (x - mean[:, None]) * (torch.rsqrt(variance + 1e-5) * weight)[:, None] + bias[:, None]


channel_norm_biased_running_wrong.reference("torch")(training_reference)


@operator(kind="norm", dims=TRAINING_SIZES, requires=several_values, contract=RUNNING, arguments=TRAINING)
def channel_norm_momentum_wrong(x, running_mean, running_var, weight, bias):
    """Momentum has the meaning of another framework: the old statistics are weighted by 0.1."""
    variance, mean = torch.var_mean(x, dim=(0, 2), correction=0)
    count = x.shape[0] * x.shape[2]
    running_mean.mul_(0.1).add_(mean, alpha=0.9)
    running_var.mul_(0.1).add_(variance * (count / (count - 1)), alpha=0.9)
    return (x - mean[:, None]) * (torch.rsqrt(variance + 1e-5) * weight)[:, None] + bias[:, None]


channel_norm_momentum_wrong.reference("torch")(training_reference)


@operator(kind="norm", dtypes=HALVES, dims=GROUPED_SIZES, arguments=GROUPED)
def channel_norm_group_strided_wrong(x, weight, bias):
    """Channel c belongs to group c modulo 4 instead of to one of four blocks."""
    wide = x.float().unflatten(1, (x.shape[1] // 4, 4))
    variance, mean = torch.var_mean(wide, dim=(1, 3), correction=0, keepdim=True)
    normed = ((wide - mean) * torch.rsqrt(variance + 1e-5)).flatten(1, 2)
    return (normed * weight.float()[:, None] + bias.float()[:, None]).to(x.dtype)


channel_norm_group_strided_wrong.reference("torch")(group_reference)


@operator(kind="norm", dtypes=("float32", "float16"), dims=GROUPED_SIZES, arguments=GROUPED)
def channel_norm_group_first_weights_wrong(x, weight, bias):
    """Weights are indexed within the group, so every group has those of the first."""
    members = x.shape[1] // 4
    wide = x.float().unflatten(1, (4, members))
    variance, mean = torch.var_mean(wide, dim=(2, 3), correction=0, keepdim=True)
    normed = (wide - mean) * torch.rsqrt(variance + 1e-5)
    return (normed * weight[:members].float()[:, None] + bias[:members].float()[:, None]).flatten(1, 2).to(x.dtype)


channel_norm_group_first_weights_wrong.reference("torch")(group_reference)


@operator(kind="norm", dtypes=("float32", "bfloat16"), dims={"N": 2, "C": 5, "H": 6, "W": 7}, arguments=PLANES)
def channel_norm_instance_over_batch_wrong(x, weight, bias):
    """Statistics are over the batch too."""
    variance, mean = torch.var_mean(x.float(), dim=(0, 2, 3), correction=0, keepdim=True)
    normed = (x.float() - mean) * torch.rsqrt(variance + 1e-5)
    return (normed * weight.float()[:, None, None] + bias.float()[:, None, None]).to(x.dtype)


channel_norm_instance_over_batch_wrong.reference("torch")(instance_reference)
