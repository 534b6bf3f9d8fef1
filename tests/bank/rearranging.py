"""Rearranging elements: roll, flip, padding, windows, pixel shuffle, where and clip."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


# Roll along both axes.


def roll_reference(x):
    return torch.roll(x, shifts=(3, -2), dims=(0, 1))


@operator(kind="exact", dtypes=HALVES, dims={"H": 10, "W": 14}, x=tensor("H W"))
def move_roll_right(x):
    height, width = x.shape
    if not x.numel():
        return x.clone()
    rows = (torch.arange(height) - 3) % height
    columns = (torch.arange(width) + 2) % width
    return x[rows.unsqueeze(1), columns]


move_roll_right.reference("torch")(roll_reference)


@operator(kind="exact", dtypes=HALVES, dims={"H": 10, "W": 14}, x=tensor("H W"))
def move_roll_direction_wrong(x):
    """The second axis is rolled the other way."""
    return torch.cat([torch.cat([x[-3:], x[:-3]])[:, -2:], torch.cat([x[-3:], x[:-3]])[:, :-2]], dim=1)


move_roll_direction_wrong.reference("torch")(roll_reference)


@operator(kind="exact", dtypes=("float32", "int8"), dims={"A": 4, "B": 5, "C": 6}, x=tensor("A B C"))
def move_flip_right(x):
    out = torch.empty(x.shape, dtype=x.dtype)
    for i in range(x.shape[1]):
        out[:, x.shape[1] - 1 - i] = x[:, i, torch.arange(x.shape[2] - 1, -1, -1)]
    return out


@move_flip_right.reference("torch")
def _(x):
    return x.flip(1, 2)


# Reflection by two without repeating the edge.


def reflect_reference(x):
    return F.pad(x, (2, 2), mode="reflect")


def long_enough(case):
    return case.dims["L"] > 2 or "reflection needs more elements than it adds"


@operator(kind="exact", dims={"N": 3, "L": 17}, requires=long_enough, x=tensor("N L"))
def move_pad_reflect_right(x):
    length = x.shape[1]
    where = torch.arange(-2, length + 2).abs()
    where = length - 1 - (length - 1 - where).abs()
    return x[:, where]


move_pad_reflect_right.reference("torch")(reflect_reference)


@operator(kind="exact", dims={"N": 3, "L": 17}, requires=long_enough, x=tensor("N L"))
def move_pad_symmetric_wrong(x):
    """The edge is repeated, as symmetric padding does."""
    return torch.cat([x[:, :2].flip(1), x, x[:, -2:].flip(1)], dim=1)


move_pad_symmetric_wrong.reference("torch")(reflect_reference)


# Windows of four, every second, as rows.


@operator(
    kind="exact",
    dtypes=HALVES,
    dims={"N": 3, "L": 22},
    requires=lambda case: case.dims["L"] >= 4 or "a window does not fit",
    x=tensor("N L"),
)
def move_unfold_right(x):
    x = x.contiguous()
    count = (x.shape[1] - 4) // 2 + 1
    return x.as_strided((x.shape[0], count, 4), (x.stride(0), 2, 1)).clone()


@move_unfold_right.reference("torch")
def _(x):
    return x.unfold(1, 4, 2)


# Pixel shuffle by two and back.


def shuffle_reference(x):
    return F.pixel_shuffle(x, 2)


@operator(kind="exact", dims={"N": 2, "C": 3, "H": 4, "W": 5}, x=tensor("N 4*C H W"))
def move_pixel_shuffle_right(x):
    batch, channels, height, width = x.shape
    out = torch.empty(batch, channels // 4, 2 * height, 2 * width, dtype=x.dtype)
    for dy in range(2):
        for dx in range(2):
            out[:, :, dy::2, dx::2] = x[:, 2 * dy + dx :: 4]
    return out


move_pixel_shuffle_right.reference("torch")(shuffle_reference)


@operator(kind="exact", dims={"N": 2, "C": 3, "H": 4, "W": 5}, x=tensor("N 4*C H W"))
def move_pixel_shuffle_order_wrong(x):
    """The factor is the slow part of the channel, as in depth-to-space of another framework."""
    batch, channels, height, width = x.shape
    parts = x.reshape(batch, 2, 2, channels // 4, height, width)
    return parts.permute(0, 3, 4, 1, 5, 2).reshape(batch, channels // 4, 2 * height, 2 * width)


move_pixel_shuffle_order_wrong.reference("torch")(shuffle_reference)


# Choice by a mask with broadcasting, and clipping.


@operator(
    kind="exact",
    dtypes=HALVES,
    dims={"S": 8, "H": 20},
    mask=tensor("S 1", dtype="bool"),
    a=tensor("S H"),
    b=tensor("H"),
)
def move_where_right(mask, a, b):
    out = b.expand(a.shape).clone()
    rows = mask.squeeze(1)
    out[rows] = a[rows]
    return out


@move_where_right.reference("torch")
def _(mask, a, b):
    return torch.where(mask, a, b)


@operator(kind="exact", dtypes=HALVES, dims={"N": 70}, x=tensor("N"))
def move_clip_right(x):
    return torch.where(x < -0.75, -0.75, torch.where(x > 1.5, 1.5, x)).to(x.dtype)


@move_clip_right.reference("torch")
def _(x):
    return torch.clamp(x, -0.75, 1.5)


@operator(kind="exact", dtypes=HALVES, dims={"N": 70}, x=tensor("N"))
def move_clip_nan_wrong(x):
    """A NaN becomes the lower bound, because minimum and maximum of the number are taken."""
    return torch.fmin(torch.fmax(x, torch.tensor(-0.75, dtype=x.dtype)), torch.tensor(1.5, dtype=x.dtype))


move_clip_nan_wrong.reference("torch")(lambda x: torch.clamp(x, -0.75, 1.5))


# Space to depth by blocks of two, channels last.


@operator(kind="exact", dtypes=("float32", "bfloat16"), dims={"N": 2, "H": 3, "W": 4, "C": 5}, x=tensor("N 2*H 2*W C"))
def move_space_to_depth_right(x):
    return torch.cat([x[:, dy::2, dx::2] for dy in range(2) for dx in range(2)], dim=-1)


@move_space_to_depth_right.reference("torch")
def _(x):
    batch, height, width, channels = x.shape
    blocks = x.reshape(batch, height // 2, 2, width // 2, 2, channels).permute(0, 1, 3, 2, 4, 5)
    return blocks.reshape(batch, height // 2, width // 2, 4 * channels)
