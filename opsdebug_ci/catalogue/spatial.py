"""Operators that move or interpolate: transpose, upsample_bilinear, upsample_bilinear_aligned.

Interpolation weights are ratios of whole numbers, so they are rounded once and no coordinate is.
Interpolation takes finite values only: whether a neighbour of weight zero is read differs between correct kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from opsdebug_ci import Contract, Operator, operator, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, Positions, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE

TILE = 64
"""Edge of the square tiles a transpose is copied in."""

FACTOR = 2
"""Enlargement of each image axis."""


@operator(kind="exact", dtypes=FLOATS, devices=("cpu", "cuda"), x=tensor(SHAPE))
def transpose(x: torch.Tensor) -> torch.Tensor:
    """The last two axes exchanged, as a new contiguous tensor, tile by tile."""
    batch, rows, columns = x.shape
    result = x.new_empty((batch, columns, rows))
    for i in range(0, rows, TILE):
        for j in range(0, columns, TILE):
            result[:, j : j + TILE, i : i + TILE] = x[:, i : i + TILE, j : j + TILE].transpose(1, 2)
    return result


@transpose.reference("torch")
def _(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).contiguous()


@transpose.reference("naive")
@in_float64
def _(x: Array) -> Array:
    result = np.empty((x.shape[0], x.shape[2], x.shape[1]))
    for i in range(x.shape[1]):
        result[:, :, i] = x[:, i, :]
    return result


@transpose.reference("precise")
@in_float64
def _(x: Array) -> Array:
    exchanged: Array = np.einsum("bij->bji", x)
    return exchanged


transpose.cost(flops(0, SHAPE))


def source_ratio(size: int, aligned: bool) -> tuple[Positions, int]:
    """Source coordinate of each of 2*size outputs as numerators over one denominator.

    Aligned corners: i*(n-1)/(2n-1). Otherwise pixel centres, (i + 1/2)/2 - 1/2 = (2i - 1)/4, not below 0.
    """
    index = np.arange(FACTOR * size, dtype=np.int64)
    if aligned:
        return index * (size - 1), FACTOR * size - 1
    return np.maximum(2 * index - 1, 0), 4


def _taps(x: torch.Tensor, axis: int, aligned: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Both neighbours along `axis`, each already multiplied by its weight."""
    numerators, denominator = source_ratio(x.shape[axis], aligned)
    ratio = torch.from_numpy(numerators).to(x.device)
    low = ratio // denominator
    high = (low + 1).clamp(max=x.shape[axis] - 1)
    rest = ratio % denominator
    shape = [-1 if a == axis % x.ndim else 1 for a in range(x.ndim)]
    far = (rest.to(x.dtype) / denominator).reshape(shape)
    near = ((denominator - rest).to(x.dtype) / denominator).reshape(shape)
    return x.index_select(axis, low) * near, x.index_select(axis, high) * far


def _enlarge(x: torch.Tensor, aligned: bool) -> torch.Tensor:
    top, bottom = _taps(widen(x), 2, aligned)
    left, right = _taps(top + bottom, 3, aligned)
    return (left + right).to(x.dtype)


def _lerp_axis(x: Array, axis: int, aligned: bool) -> Array:
    numerators, denominator = source_ratio(x.shape[axis], aligned)
    low = numerators // denominator
    fraction = (numerators % denominator) / denominator
    fraction = fraction.reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    high = np.minimum(low + 1, x.shape[axis] - 1)
    mixed: Array = (1.0 - fraction) * np.take(x, low, axis) + fraction * np.take(x, high, axis)
    return mixed


def _weights(size: int, aligned: bool) -> Array:
    """Matrix from `size` sources to 2*size outputs: hat functions around each source."""
    numerators, denominator = source_ratio(size, aligned)
    numerators = np.minimum(numerators, (size - 1) * denominator)
    distance = np.abs(numerators[:, None] - denominator * np.arange(size))
    weights: Array = np.maximum(denominator - distance, 0).astype(np.longdouble) / denominator
    return weights


def _upsample(name: str, function: Callable[..., torch.Tensor], *, aligned: bool) -> Operator:
    def torch_reference(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(
            x, scale_factor=float(FACTOR), mode="bilinear", align_corners=aligned, recompute_scale_factor=False
        )

    def naive(x: Array) -> Array:
        return _lerp_axis(_lerp_axis(x, 2, aligned), 3, aligned)

    def precise(x: Array) -> Array:
        rows, columns = _weights(x.shape[2], aligned), _weights(x.shape[3], aligned)
        enlarged: Array = np.einsum("yi,ncix->ncyx", rows, np.einsum("xj,ncij->ncix", columns, x))
        return enlarged

    return Operator(
        name,
        function,
        {"x": tensor("N C Y X", values="finite")},
        {"torch": torch_reference, "naive": in_float64(naive), "precise": in_extended(precise)},
        kind="auto",
        dtypes=FLOATS,
        dims={"N": 1, "C": 3, "Y": 12, "X": 20},
        contract=Contract(allow=("ftz",)),
        requires=_needs_pixels,
        cost=flops(7 * FACTOR**2, "N C Y X"),
        devices=("cpu", "cuda"),
    )


def _needs_pixels(case: Any) -> bool | str:
    empty = [name for name in ("C", "Y", "X") if case.dims[name] == 0]
    return not empty or f"interpolation without {', '.join(empty)} is undefined in the framework"


def _centred(x: torch.Tensor) -> torch.Tensor:
    """Twice the size, pixel centres aligned."""
    return _enlarge(x, aligned=False)


def _aligned(x: torch.Tensor) -> torch.Tensor:
    """Twice the size, corner pixels aligned."""
    return _enlarge(x, aligned=True)


upsample_bilinear = _upsample("upsample_bilinear", _centred, aligned=False)
upsample_bilinear_aligned = _upsample("upsample_bilinear_aligned", _aligned, aligned=True)

OPERATORS = [transpose, upsample_bilinear, upsample_bilinear_aligned]
