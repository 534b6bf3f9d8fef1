"""Operators of onnxruntime's CPU provider that move, select or interpolate."""

from __future__ import annotations

import numpy as np
import torch
from onnx_node import run
from textbook import Array, textbook

from opsdebug_ci import Contract, operator, scalar, tensor

FLOATS = ("float32", "float16")


def positions(seed, dims, args):
    """K positions along H per row, counted from the end where negative, as ONNX allows."""
    generator = np.random.Generator(np.random.Philox(seed))
    return generator.integers(-dims["H"], max(dims["H"], 1), size=(dims["B"], dims["S"], dims["K"]), dtype=np.int64)


def rows_of_table(seed, dims, args):
    return np.random.Generator(np.random.Philox(seed)).integers(0, max(dims["V"], 1), size=dims["K"], dtype=np.int64)


@operator(
    kind="exact",
    dtypes=FLOATS,
    dims={"B": 2, "S": 5, "H": 24, "K": 9},
    x=tensor("B S H"),
    index=tensor("B S K", dtype="int64", values=positions),
)
def ort_gather_elements(x, index):
    return run("GatherElements", x, index, axis=-1)


@ort_gather_elements.reference("torch")
def _(x, index):
    return torch.gather(x, -1, torch.where(index < 0, index + x.shape[-1], index))


ort_gather_elements.reference("naive")(textbook(lambda x, index: np.take_along_axis(x, index, axis=-1)))


@ort_gather_elements.requires
def _(case):
    return case.dims["H"] > 0 or case.dims["K"] == 0 or "an empty row has nothing to gather"


@operator(
    kind="exact",
    dtypes=FLOATS,
    dims={"V": 12, "H": 24, "K": 9},
    table=tensor("V H"),
    index=tensor("K", dtype="int64", values=rows_of_table),
)
def ort_gather(table, index):
    return run("Gather", table, index, axis=0)


@ort_gather.reference("torch")
def _(table, index):
    return table[index]


@ort_gather.requires
def _(case):
    return case.dims["V"] > 0 or case.dims["K"] == 0 or "an empty table has no row"


@operator(
    kind={"out0": "exact", "out1": "index"},
    dtypes=FLOATS,
    dims={"B": 2, "S": 6, "H": 24, "K": 5},
    contract=Contract(index=("x", -1)),
    x=tensor("B S H"),
    k=scalar(lambda dims, args: dims["K"]),
)
def ort_topk(x, k):
    return run("TopK", x, torch.tensor([k]), outputs=2, axis=-1)


@ort_topk.requires
def _(case):
    return case.dims["K"] <= case.dims["H"] or "fewer elements than k"


@ort_topk.reference("torch")
def _(x, k):
    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[..., :k], indices[..., :k]


@operator(kind="exact", dtypes=FLOATS, dims={"B": 2, "S": 6, "H": 24}, x=tensor("B S H"))
def ort_transpose(x):
    return run("Transpose", x, perm=(0, 2, 1))


@ort_transpose.reference("torch")
def _(x):
    return x.transpose(1, 2).contiguous()


def lerp(x: Array, axis: int, coordinates: Array) -> Array:
    """Between the two nearest samples along `axis`; coordinates outside clamp to the edge."""
    size = x.shape[axis]
    clamped = np.clip(coordinates, 0, size - 1)
    low = np.floor(clamped).astype(int)
    far = (clamped - low).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return np.take(x, low, axis) * (1 - far) + np.take(x, np.minimum(low + 1, size - 1), axis) * far


def resize(x, mode):
    scales = torch.tensor([1.0, 1.0, 2.0, 2.0])
    return run("Resize", x, None, scales, mode="linear", coordinate_transformation_mode=mode)


def has_pixels(case):
    return (case.dims["C"] > 0 and case.dims["Y"] > 0 and case.dims["X"] > 0) or "no pixels to interpolate"


@operator(
    kind="auto",
    dtypes=FLOATS,
    dims={"N": 1, "C": 3, "Y": 6, "X": 10},
    x=tensor("N C Y X", values="finite"),
    requires=has_pixels,
)
def ort_resize_half_pixel(x):
    return resize(x, "half_pixel")


@ort_resize_half_pixel.reference("torch")
def _(x):
    return torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)


@ort_resize_half_pixel.reference("naive")
@textbook
def _(x: Array) -> Array:
    for axis in (2, 3):
        x = lerp(x, axis, (np.arange(2 * x.shape[axis]) + 0.5) / 2 - 0.5)
    return x


@operator(
    kind="auto",
    dtypes=FLOATS,
    dims={"N": 1, "C": 3, "Y": 6, "X": 10},
    x=tensor("N C Y X", values="finite"),
    requires=has_pixels,
)
def ort_resize_align_corners(x):
    return resize(x, "align_corners")


@ort_resize_align_corners.reference("torch")
def _(x):
    return torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True)


@ort_resize_align_corners.reference("naive")
@textbook
def _(x: Array) -> Array:
    for axis in (2, 3):
        x = lerp(x, axis, np.arange(2 * x.shape[axis]) * ((x.shape[axis] - 1) / max(2 * x.shape[axis] - 1, 1)))
    return x
