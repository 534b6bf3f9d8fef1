"""Defects of place: the wrong axis, the wrong stride, a reshape for a transpose, a write to an input."""

from __future__ import annotations

import torch

from opsdebug_ci import tensor
from opsdebug_ci.catalogue.activations import logistic_times, silu
from opsdebug_ci.catalogue.arithmetic import row_max, row_sum, widen
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.softmaxes import softmax
from opsdebug_ci.catalogue.spatial import transpose

OWN_ELEMENTS = ("contiguous", "transposed", "strided", "offset", "padded")
"""Layouts in which every element has memory of its own."""


def _wrong_axis(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(widen(x), dim=-2).to(x.dtype)


def _right_axis(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(widen(x), dim=-1).to(x.dtype)


def _wrong_stride(x: torch.Tensor) -> torch.Tensor:
    packed = torch.empty(x.shape, device="meta").stride()
    wide = widen(x.as_strided(x.shape, packed, x.storage_offset()))
    return logistic_times(wide, wide).to(x.dtype)


def _right_stride(x: torch.Tensor) -> torch.Tensor:
    wide = widen(x.as_strided(x.shape, x.stride(), x.storage_offset()))
    return logistic_times(wide, wide).to(x.dtype)


def _wrong_permutation(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(x.shape[0], x.shape[2], x.shape[1]).clone()


def _right_permutation(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 2, 1).clone()


def _softmax_of(x: torch.Tensor) -> torch.Tensor:
    """Softmax of the last axis, computed in the storage of `x`."""
    if x.shape[-1]:
        x -= row_max(x)
    e = x.exp()
    return e / row_sum(e)


def _wrong_mutation(x: torch.Tensor) -> torch.Tensor:
    return _softmax_of(x)


def _right_mutation(x: torch.Tensor) -> torch.Tensor:
    return _softmax_of(x.clone())


PLANTED = [
    plant(
        softmax,
        "axis",
        wrong=_wrong_axis,
        right=_right_axis,
        dtypes=FLOATS,
        dims={"B": 1, "S": 24, "H": 40},
    ),
    plant(
        silu,
        "stride",
        wrong=_wrong_stride,
        right=_right_stride,
        inputs={"x": tensor(SHAPE, layouts=OWN_ELEMENTS)},
        dims={"B": 1, "S": 16, "H": 24},
    ),
    plant(
        transpose,
        "permutation",
        wrong=_wrong_permutation,
        right=_right_permutation,
        dims={"B": 1, "S": 24, "H": 40},
    ),
    plant(
        softmax,
        "mutation",
        wrong=_wrong_mutation,
        right=_right_mutation,
        inputs={"x": tensor(SHAPE, layouts=OWN_ELEMENTS)},
        dtypes=("float32",),
        dims={"B": 1, "S": 16, "H": 64},
    ),
]
