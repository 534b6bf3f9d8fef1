"""Defects of lanes that lie beyond the end: read, counted or summed although they belong to nobody."""

from __future__ import annotations

import math

import torch

from opsdebug_ci.catalogue.arithmetic import row_sum, widen
from opsdebug_ci.catalogue.elementwise import FLOATS
from opsdebug_ci.catalogue.normalisation import LAYER_EPS, layer_norm
from opsdebug_ci.catalogue.planted.originals import SMALLEST
from opsdebug_ci.catalogue.planted.special import LARGEST
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.reductions import mean
from opsdebug_ci.catalogue.softmaxes import shifted, softmax

VECTOR = 8
BLOCK = 64


def lanes(columns: int, width: int) -> int:
    """Columns of whole vectors of `width` that cover `columns`."""
    return -(-columns // width) * width


def padded(x: torch.Tensor, width: int, value: float) -> torch.Tensor:
    """Rows filled up to whole vectors with `value`."""
    return torch.nn.functional.pad(x, (0, lanes(x.shape[-1], width) - x.shape[-1]), value=value)


def _rows_read_whole(x: torch.Tensor) -> torch.Tensor:
    """Every row with as many of the following elements as fill its last vector; zeros follow the last row."""
    columns = x.shape[-1]
    flat = torch.nn.functional.pad(x.reshape(-1), (0, VECTOR))
    return flat.as_strided((*x.shape[:-1], lanes(columns, VECTOR)), (x.shape[1] * columns, columns, 1))


def _wrong_next_row(x: torch.Tensor) -> torch.Tensor:
    return _rows_read_whole(x).abs().amax(dim=-1)


def _right_next_row(x: torch.Tensor) -> torch.Tensor:
    return _rows_read_whole(x)[..., : x.shape[-1]].abs().amax(dim=-1)


def _wrong_zero_lanes(x: torch.Tensor) -> torch.Tensor:
    return padded(x, VECTOR, 0.0).abs().amin(dim=-1)


def _right_zero_lanes(x: torch.Tensor) -> torch.Tensor:
    return padded(x, VECTOR, math.inf).abs().amin(dim=-1)


def _wrong_padded_mean(x: torch.Tensor) -> torch.Tensor:
    wide = padded(widen(x), VECTOR, 0.0)
    return (row_sum(wide).squeeze(-1) / wide.shape[-1]).to(x.dtype)


def _right_padded_mean(x: torch.Tensor) -> torch.Tensor:
    wide = padded(widen(x), VECTOR, 0.0)
    return (row_sum(wide).squeeze(-1) / x.shape[-1]).to(x.dtype)


def _padded_softmax(x: torch.Tensor, lane: float) -> torch.Tensor:
    e = torch.exp(padded(shifted(widen(x)), VECTOR, lane))
    return (e / row_sum(e))[..., : x.shape[-1]].to(x.dtype)


def _wrong_padded_softmax(x: torch.Tensor) -> torch.Tensor:
    return _padded_softmax(x, 0.0)


def _right_padded_softmax(x: torch.Tensor) -> torch.Tensor:
    return _padded_softmax(x, -math.inf)


def _wrong_padded_variance(x: torch.Tensor) -> torch.Tensor:
    columns = max(x.shape[-1], 1)
    wide = padded(widen(x), BLOCK, 0.0)
    centred = wide - row_sum(wide) / columns
    variance = row_sum(centred * centred) / columns
    return (centred * torch.rsqrt(variance + LAYER_EPS))[..., : x.shape[-1]].to(x.dtype)


def _right_padded_variance(x: torch.Tensor) -> torch.Tensor:
    columns = max(x.shape[-1], 1)
    wide = padded(widen(x), BLOCK, 0.0)
    centred = padded((wide - row_sum(wide) / columns)[..., : x.shape[-1]], BLOCK, 0.0)
    variance = row_sum(centred * centred) / columns
    return (centred * torch.rsqrt(variance + LAYER_EPS))[..., : x.shape[-1]].to(x.dtype)


PLANTED = [
    plant(
        LARGEST,
        "next_row",
        wrong=_wrong_next_row,
        right=_right_next_row,
        dims={"B": 1, "S": 12, "H": 21},
    ),
    plant(
        SMALLEST,
        "zero_lanes",
        wrong=_wrong_zero_lanes,
        right=_right_zero_lanes,
        dims={"B": 1, "S": 12, "H": 29},
    ),
    plant(
        mean,
        "padded_mean",
        wrong=_wrong_padded_mean,
        right=_right_padded_mean,
        dims={"B": 1, "S": 12, "H": 27},
    ),
    plant(
        softmax,
        "padded_softmax",
        wrong=_wrong_padded_softmax,
        right=_right_padded_softmax,
        dtypes=FLOATS,
        dims={"B": 1, "S": 12, "H": 37},
    ),
    plant(
        layer_norm,
        "padded_variance",
        wrong=_wrong_padded_variance,
        right=_right_padded_variance,
        dims={"B": 1, "S": 12, "H": 50},
    ),
]
