"""Convolutions: depthwise in one dimension, by columns in two, transposed, dilated and grouped."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor

HALVES = ("float32", "bfloat16")


# Causal depthwise convolution of width four with SiLU, as in state space models.


def causal_reference(x, weight, bias):
    out = F.conv1d(F.pad(x, (3, 0)), weight.unsqueeze(1), bias, groups=x.shape[1])
    return F.silu(out)


CAUSAL = {
    "x": tensor("B C L", values="finite"),
    "weight": tensor("C 4", values="finite"),
    "bias": tensor("C", values="finite"),
}


@operator(kind="auto", dtypes=HALVES, dims={"B": 2, "C": 6, "L": 29}, arguments=CAUSAL)
def conv_causal_depthwise_right(x, weight, bias):
    acc = bias.float().view(1, -1, 1).expand(x.shape).clone()
    for tap in range(4):
        back = 3 - tap
        if back < x.shape[2]:
            acc[..., back:] += x[..., : x.shape[2] - back].float() * weight[:, tap].float().unsqueeze(1)
    return (acc * torch.sigmoid(acc)).to(x.dtype)


conv_causal_depthwise_right.reference("torch")(causal_reference)


@operator(kind="auto", dtypes=HALVES, dims={"B": 2, "C": 6, "L": 29}, arguments=CAUSAL)
def conv_causal_depthwise_flip_wrong(x, weight, bias):
    """The taps are flipped: a true convolution where the reference correlates."""
    acc = bias.float().view(1, -1, 1).expand(x.shape).clone()
    for back in range(min(4, x.shape[2])):
        acc[..., back:] += x[..., : x.shape[2] - back].float() * weight[:, back].float().unsqueeze(1)
    return F.silu(acc).to(x.dtype)


conv_causal_depthwise_flip_wrong.reference("torch")(causal_reference)


# Two dimensions, 3 x 3, stride 2, padding 1, by columns and one product.


def strided_reference(x, weight, bias):
    return F.conv2d(x, weight, bias, stride=2, padding=1)


IMAGE = {
    "x": tensor("N C H W", values="finite"),
    "weight": tensor("K C 3 3", values="finite"),
    "bias": tensor("K", values="finite"),
}
IMAGE_DIMS = {"N": 2, "C": 3, "H": 9, "W": 8, "K": 5}


def an_image(case):
    return min(case.dims[name] for name in ("C", "H", "W", "K")) > 0 or "an empty image or kernel"


@operator(kind="matmul", dtypes=HALVES, dims=IMAGE_DIMS, requires=an_image, arguments=IMAGE)
def conv2d_columns_right(x, weight, bias):
    batch, channels, height, width = x.shape
    out_height, out_width = (height + 1) // 2, (width + 1) // 2
    padded = F.pad(x.float(), (1, 1, 1, 1))
    columns = torch.empty(batch, channels, 3, 3, out_height, out_width)
    for dy in range(3):
        for dx in range(3):
            columns[:, :, dy, dx] = padded[:, :, dy : dy + 2 * out_height - 1 : 2, dx : dx + 2 * out_width - 1 : 2]
    product = weight.float().flatten(1) @ columns.view(batch, channels * 9, out_height * out_width)
    return (product + bias.float().unsqueeze(1)).view(batch, weight.shape[0], out_height, out_width).to(x.dtype)


conv2d_columns_right.reference("torch")(strided_reference)


@operator(kind="matmul", dtypes=HALVES, dims=IMAGE_DIMS, requires=an_image, arguments=IMAGE)
def conv2d_bias_per_channel_wrong(x, weight, bias):
    """The bias is added once for every input channel."""
    acc = 0
    for channel in range(x.shape[1]):
        part = slice(channel, channel + 1)
        acc = acc + F.conv2d(x[:, part].float(), weight[:, part].float(), bias.float(), stride=2, padding=1)
    return acc.to(x.dtype)


conv2d_bias_per_channel_wrong.reference("torch")(strided_reference)


@operator(kind="matmul", dtypes=HALVES, dims=IMAGE_DIMS, requires=an_image, arguments=IMAGE)
def conv2d_columns_wrap_wrong(x, weight, bias):
    """The left neighbour of the first pixel in a line is the last pixel of the line above."""
    batch, channels, height, width = x.shape
    out_height, out_width = (height + 1) // 2, (width + 1) // 2
    flat = F.pad(x.float().reshape(batch, channels, height * width), (width + 1, width + 1))
    rows, columns = 2 * torch.arange(out_height), 2 * torch.arange(out_width)
    acc = bias.float().view(1, -1, 1, 1)
    for dy in range(3):
        for dx in range(3):
            places = ((rows + dy).unsqueeze(1) * width + columns + dx).clamp(max=flat.shape[2] - 1)
            acc = acc + torch.einsum("kc,nchw->nkhw", weight[:, :, dy, dx].float(), flat[:, :, places])
    return acc.to(x.dtype)


conv2d_columns_wrap_wrong.reference("torch")(strided_reference)


# Transposed, one dimension, width four, stride two: scattered taps that overlap.


def transposed_reference(x, weight):
    return F.conv_transpose1d(x, weight, stride=2, padding=1)


TRANSPOSED = {"x": tensor("N C L", values="finite"), "weight": tensor("C K 4", values="finite")}


def a_signal(case):
    return min(case.dims[name] for name in ("C", "K", "L")) > 0 or "an empty signal or kernel"


@operator(kind="matmul", dims={"N": 2, "C": 5, "L": 12, "K": 4}, requires=a_signal, arguments=TRANSPOSED)
def conv_transposed1d_right(x, weight):
    length = x.shape[2]
    out = torch.zeros(x.shape[0], weight.shape[1], 2 * length + 2)
    for tap in range(4):
        out[:, :, tap : tap + 2 * length : 2] += torch.einsum("ck,ncl->nkl", weight[:, :, tap], x)
    return out[:, :, 1:-1]


conv_transposed1d_right.reference("torch")(transposed_reference)


@operator(kind="matmul", dims={"N": 2, "C": 5, "L": 12, "K": 4}, requires=a_signal, arguments=TRANSPOSED)
def conv_transposed1d_overwrite_wrong(x, weight):
    """Where taps overlap the later one overwrites the earlier."""
    length = x.shape[2]
    out = torch.zeros(x.shape[0], weight.shape[1], 2 * length + 2)
    for tap in range(4):
        out[:, :, tap : tap + 2 * length : 2] = torch.einsum("ck,ncl->nkl", weight[:, :, tap], x)
    return out[:, :, 1:-1].contiguous()


conv_transposed1d_overwrite_wrong.reference("torch")(transposed_reference)


# Transposed, two dimensions, 2 x 2 without overlap.


@operator(
    kind="matmul",
    dtypes=HALVES,
    dims={"N": 1, "C": 6, "H": 5, "W": 4, "K": 3},
    requires=an_image,
    x=tensor("N C H W", values="finite"),
    weight=tensor("C K 2 2", values="finite"),
)
def conv_transposed2d_right(x, weight):
    batch, channels, height, width = x.shape
    pixels = x.float().permute(0, 2, 3, 1).reshape(-1, channels)
    product = (pixels @ weight.float().reshape(channels, -1)).view(batch, height, width, weight.shape[1], 2, 2)
    return product.permute(0, 3, 1, 4, 2, 5).reshape(batch, weight.shape[1], 2 * height, 2 * width).to(x.dtype)


@conv_transposed2d_right.reference("torch")
def _(x, weight):
    return F.conv_transpose2d(x, weight, stride=2)


# Dilated and grouped, one dimension.


GROUPED = {"x": tensor("N 2*C L", values="finite"), "weight": tensor("2*K C 3", values="finite")}


def grouped_reference(x, weight):
    return F.conv1d(x, weight, padding=2, dilation=2, groups=2)


@operator(kind="matmul", dims={"N": 2, "C": 4, "L": 20, "K": 3}, requires=a_signal, arguments=GROUPED)
def conv_grouped_dilated_right(x, weight):
    inputs, outputs = x.shape[1] // 2, weight.shape[0] // 2
    out = torch.zeros(x.shape[0], weight.shape[0], x.shape[2])
    for group in range(2):
        part = F.pad(x[:, group * inputs : (group + 1) * inputs], (2, 2))
        mine = weight[group * outputs : (group + 1) * outputs]
        for tap in range(3):
            out[:, group * outputs : (group + 1) * outputs] += (
                mine[:, :, tap] @ part[:, :, 2 * tap : 2 * tap + x.shape[2]]
            )
    return out


conv_grouped_dilated_right.reference("torch")(grouped_reference)


@operator(kind="matmul", dims={"N": 2, "C": 4, "L": 20, "K": 3}, requires=a_signal, arguments=GROUPED)
def conv_grouped_interleaved_wrong(x, weight):
    """The groups take alternate input channels and not adjacent ones."""
    order = torch.arange(x.shape[1]).view(-1, 2).t().reshape(-1)
    return F.conv1d(x[:, order], weight, padding=2, dilation=2, groups=2)


conv_grouped_interleaved_wrong.reference("torch")(grouped_reference)
