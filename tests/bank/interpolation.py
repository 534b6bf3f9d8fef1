"""Interpolation of images and signals: nearest, linear with both conventions for corners, area."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor

DIMS = {"N": 1, "C": 3, "H": 7, "W": 9}


def not_empty(case):
    return min(case.dims[name] for name in ("H", "W")) > 0 or "an empty image"


# Nearest, twice the size.


def nearest_reference(x):
    return F.interpolate(x, scale_factor=2, mode="nearest")


@operator(kind="exact", dtypes=("float32", "float16"), dims=DIMS, requires=not_empty, x=tensor("N C H W"))
def resize_nearest_double_right(x):
    out = torch.empty(*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3], dtype=x.dtype)
    for dy in range(2):
        for dx in range(2):
            out[:, :, dy::2, dx::2] = x
    return out


resize_nearest_double_right.reference("torch")(nearest_reference)


@operator(kind="exact", dtypes=("float32", "float16"), dims=DIMS, requires=not_empty, x=tensor("N C H W"))
def resize_nearest_round_wrong(x):
    """The source position is rounded to the nearest pixel where it should be rounded down."""
    rows = ((torch.arange(2 * x.shape[2]) + 1) // 2).clamp(max=x.shape[2] - 1)
    columns = ((torch.arange(2 * x.shape[3]) + 1) // 2).clamp(max=x.shape[3] - 1)
    return x[:, :, rows][..., columns]


resize_nearest_round_wrong.reference("torch")(nearest_reference)


# Bilinear, corners aligned, to 2H - 1 by 2W - 1.


def aligned_reference(x):
    size = (2 * x.shape[2] - 1, 2 * x.shape[3] - 1)
    return F.interpolate(x, size=size, mode="bilinear", align_corners=True)


@operator(dtypes=("float32", "bfloat16"), dims=DIMS, requires=not_empty, x=tensor("N C H W", values="finite"))
def resize_bilinear_aligned_right(x):
    wide = x.float()
    rows = torch.empty(*x.shape[:2], 2 * x.shape[2] - 1, x.shape[3])
    rows[:, :, 0::2] = wide
    rows[:, :, 1::2] = 0.5 * wide[:, :, :-1] + 0.5 * wide[:, :, 1:]
    out = torch.empty(*rows.shape[:3], 2 * x.shape[3] - 1)
    out[..., 0::2] = rows
    out[..., 1::2] = 0.5 * rows[..., :-1] + 0.5 * rows[..., 1:]
    return out.to(x.dtype)


resize_bilinear_aligned_right.reference("torch")(aligned_reference)


@operator(dtypes=("float32", "bfloat16"), dims=DIMS, requires=not_empty, x=tensor("N C H W", values="finite"))
def resize_bilinear_corners_wrong(x):
    """Positions are those for pixel centres though the corners are to be aligned."""
    size = (2 * x.shape[2] - 1, 2 * x.shape[3] - 1)
    return F.interpolate(x.float(), size=size, mode="bilinear", align_corners=False).to(x.dtype)


resize_bilinear_corners_wrong.reference("torch")(aligned_reference)


# Bilinear, pixel centres, twice the size.


def centres_reference(x):
    return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


def sources(size, clamp=True):
    """Say for each of twice as many positions the left pixel, the right one and the weight of the right one."""
    where = (torch.arange(2 * size) + 0.5) / 2 - 0.5
    if clamp:
        where = where.clamp(min=0)
    left = where.floor().long().clamp(min=0)
    return left, (left + 1).clamp(max=size - 1), where - left


@operator(dtypes=("float32", "float16"), dims=DIMS, requires=not_empty, x=tensor("N C H W", values="finite"))
def resize_bilinear_centres_right(x):
    wide = x.float()
    left, right, weight = sources(x.shape[3])
    columns = (1 - weight) * wide[..., left] + weight * wide[..., right]
    left, right, weight = sources(x.shape[2])
    weight = weight.unsqueeze(1)
    return ((1 - weight) * columns[:, :, left] + weight * columns[:, :, right]).to(x.dtype)


resize_bilinear_centres_right.reference("torch")(centres_reference)


@operator(dtypes=("float32", "float16"), dims=DIMS, requires=not_empty, x=tensor("N C H W", values="finite"))
def resize_bilinear_edge_wrong(x):
    """Positions left of the first centre are not clamped to it, so the edge is extrapolated."""
    wide = x.float()
    left, right, weight = sources(x.shape[3], clamp=False)
    columns = (1 - weight) * wide[..., left] + weight * wide[..., right]
    left, right, weight = sources(x.shape[2], clamp=False)
    weight = weight.unsqueeze(1)
    return ((1 - weight) * columns[:, :, left] + weight * columns[:, :, right]).to(x.dtype)


resize_bilinear_edge_wrong.reference("torch")(centres_reference)


# Area: down to 3 x 4.


def area_reference(x):
    return F.interpolate(x, size=(3, 4), mode="area")


def averaging(size, count):
    matrix = torch.zeros(count, size)
    for i in range(count):
        start, stop = i * size // count, ((i + 1) * size + count - 1) // count
        matrix[i, start:stop] = 1 / (stop - start)
    return matrix


@operator(kind="reduction", dims=DIMS, requires=not_empty, x=tensor("N C H W", values="finite"))
def resize_area_right(x):
    rows = torch.einsum("ih,nchw->nciw", averaging(x.shape[2], 3), x)
    return torch.einsum("jw,nciw->ncij", averaging(x.shape[3], 4), rows)


resize_area_right.reference("torch")(area_reference)


# Linear, one dimension, three times as long.


def linear_reference(x):
    return F.interpolate(x, scale_factor=3, mode="linear", align_corners=False)


@operator(
    dims={"N": 2, "C": 3, "L": 20},
    requires=lambda case: case.dims["L"] > 0 or "an empty signal",
    x=tensor("N C L", values="finite"),
)
def resize_linear_triple_right(x):
    before = torch.cat([x[..., :1], x[..., :-1]], -1)
    after = torch.cat([x[..., 1:], x[..., -1:]], -1)
    return torch.stack([(before + 2 * x) / 3, x, (2 * x + after) / 3], dim=-1).flatten(-2)


resize_linear_triple_right.reference("torch")(linear_reference)


@operator(
    dims={"N": 2, "C": 3, "L": 20},
    requires=lambda case: case.dims["L"] > 0 or "an empty signal",
    x=tensor("N C L", values="finite"),
)
def resize_linear_weights_wrong(x):
    """The weights of the two neighbours are exchanged."""
    before = torch.cat([x[..., :1], x[..., :-1]], -1)
    after = torch.cat([x[..., 1:], x[..., -1:]], -1)
    return torch.stack([(2 * before + x) / 3, x, (x + 2 * after) / 3], dim=-1).flatten(-2)


resize_linear_weights_wrong.reference("torch")(linear_reference)
