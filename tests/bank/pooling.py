"""Pooling of images: maximum, average with and without padding counted, adaptive and global."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor

DIMS = {"N": 2, "C": 3, "H": 13, "W": 10}


def wide_enough(case):
    return min(case.dims["H"], case.dims["W"]) >= 3 or "a window does not fit"


# Maximum, 3 x 3 windows, stride 2, padding 1.


def max_reference(x):
    return F.max_pool2d(x, 3, stride=2, padding=1)


@operator(kind="exact", dtypes=("float32", "bfloat16"), dims=DIMS, x=tensor("N C H W"))
def pool_max2d_right(x):
    height, width = (x.shape[2] - 1) // 2 + 1, (x.shape[3] - 1) // 2 + 1
    padded = F.pad(x, (1, 2, 1, 2), value=float("-inf"))
    out = None
    for dy in range(3):
        for dx in range(3):
            tap = padded[:, :, dy : dy + 2 * height : 2, dx : dx + 2 * width : 2][:, :, :height, :width]
            out = tap.clone() if out is None else torch.maximum(out, tap)
    return out


pool_max2d_right.reference("torch")(max_reference)


@operator(kind="elementwise", dtypes=("float32", "bfloat16"), dims=DIMS, x=tensor("N C H W"))
def pool_max2d_zero_padding_wrong(x):
    """The border is padded with zeros and not with minus infinity."""
    return F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, stride=2)


pool_max2d_zero_padding_wrong.reference("torch")(max_reference)


# Average; the padding does not count.


def average_reference(x):
    return F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)


@operator(kind="reduction", dtypes=("float32", "float16"), dims=DIMS, x=tensor("N C H W", values="finite"))
def pool_average2d_right(x):
    ones = torch.ones(1, 1, *x.shape[2:])
    rows = F.pad(x.float(), (0, 0, 1, 1)).unfold(2, 3, 2).sum(-1)
    total = F.pad(rows, (1, 1)).unfold(3, 3, 2).sum(-1)
    count = F.pad(F.pad(ones, (0, 0, 1, 1)).unfold(2, 3, 2).sum(-1), (1, 1)).unfold(3, 3, 2).sum(-1)
    return (total / count).to(x.dtype)


pool_average2d_right.reference("torch")(average_reference)


@operator(kind="reduction", dtypes=("float32", "float16"), dims=DIMS, x=tensor("N C H W", values="finite"))
def pool_average2d_count_wrong(x):
    """Windows at the border are divided by nine, as though the padding counted."""
    windows = F.pad(x.float(), (1, 1, 1, 1)).unfold(2, 3, 2).unfold(3, 3, 2)
    return (windows.sum((-1, -2)) / 9).to(x.dtype)


pool_average2d_count_wrong.reference("torch")(average_reference)


# Average; the padding counts. One dimension, stride 1.


@operator(kind="reduction", dims={"N": 2, "C": 4, "L": 30}, x=tensor("N C L", values="finite"))
def pool_average1d_padded_right(x):
    out = x.clone()
    out[..., 1:] += x[..., :-1]
    out[..., :-1] += x[..., 1:]
    return out / 3


@pool_average1d_padded_right.reference("torch")
def _(x):
    return F.avg_pool1d(x, 3, stride=1, padding=1, count_include_pad=True)


# Adaptive average to 4 x 3 windows.


def adaptive_reference(x):
    return F.adaptive_avg_pool2d(x, (4, 3))


def not_empty(case):
    return min(case.dims["H"], case.dims["W"]) > 0 or "an empty image"


@operator(
    kind="reduction",
    dtypes=("float32", "bfloat16"),
    dims=DIMS,
    requires=not_empty,
    x=tensor("N C H W", values="finite"),
)
def pool_adaptive_average_right(x):
    height, width = x.shape[2:]
    out = torch.empty(*x.shape[:2], 4, 3, dtype=x.dtype)
    for i in range(4):
        top, bottom = i * height // 4, -(-(i + 1) * height // 4)
        band = x[:, :, top:bottom].float().sum(2)
        for j in range(3):
            left, right = j * width // 3, -(-(j + 1) * width // 3)
            out[:, :, i, j] = (band[:, :, left:right].sum(-1) / ((bottom - top) * (right - left))).to(x.dtype)
    return out


pool_adaptive_average_right.reference("torch")(adaptive_reference)


@operator(
    kind="reduction",
    dtypes=("float32", "bfloat16"),
    dims=DIMS,
    requires=not_empty,
    x=tensor("N C H W", values="finite"),
)
def pool_adaptive_average_floor_wrong(x):
    """The end of a window is rounded down, so windows do not overlap where sizes do not divide."""
    height, width = x.shape[2:]
    out = torch.empty(*x.shape[:2], 4, 3, dtype=x.dtype)
    for i in range(4):
        top, bottom = i * height // 4, max((i + 1) * height // 4, i * height // 4 + 1)
        for j in range(3):
            left, right = j * width // 3, max((j + 1) * width // 3, j * width // 3 + 1)
            out[:, :, i, j] = x[:, :, top:bottom, left:right].float().mean((2, 3)).to(x.dtype)
    return out


pool_adaptive_average_floor_wrong.reference("torch")(adaptive_reference)


# Global average and maximum, side by side.


@operator(
    kind={"out0": "reduction", "out1": "exact"},
    dtypes=("float32", "bfloat16"),
    dims=DIMS,
    requires=not_empty,
    x=tensor("N C H W"),
)
def pool_global_right(x):
    flat = x.flatten(2)
    mean = flat.float().sum(-1) / flat.shape[-1]
    return mean.to(x.dtype), flat.max(-1).values


@pool_global_right.reference("torch")
def _(x):
    return x.mean(dim=(2, 3)), x.amax(dim=(2, 3))


# Maximum with dilation, valid windows only.


def dilated_reference(x):
    return F.max_pool1d(x, 3, stride=1, dilation=2)


@operator(
    kind="exact",
    dims={"N": 2, "C": 4, "L": 40},
    requires=lambda case: case.dims["L"] >= 5 or "a window does not fit",
    x=tensor("N C L"),
)
def pool_max1d_dilated_right(x):
    return torch.maximum(torch.maximum(x[..., :-4], x[..., 2:-2]), x[..., 4:])


pool_max1d_dilated_right.reference("torch")(dilated_reference)


@operator(
    kind="elementwise",
    dims={"N": 2, "C": 4, "L": 40},
    requires=lambda case: case.dims["L"] >= 5 or "a window does not fit",
    x=tensor("N C L"),
)
def pool_max1d_dilation_ignored_wrong(x):
    """The output has the size for dilation two, the window reads neighbours."""
    return torch.maximum(torch.maximum(x[..., :-4], x[..., 1:-3]), x[..., 2:-2])


pool_max1d_dilation_ignored_wrong.reference("torch")(dilated_reference)


# Root of the sum of squares in windows that do not overlap.


@operator(kind="norm", dims=DIMS, requires=wide_enough, x=tensor("N C H W", values="finite"))
def pool_l2_right(x):
    squares = F.avg_pool2d(x * x, 3, stride=3)
    return torch.sqrt(squares * 9)


@pool_l2_right.reference("torch")
def _(x):
    windows = x.unfold(2, 3, 3).unfold(3, 3, 3)
    return windows.square().sum(dim=(-1, -2)).sqrt()
