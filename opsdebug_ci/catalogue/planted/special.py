"""Defects that only special inputs show: NaN, signed zeros, empty rows."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from opsdebug_ci import Operator, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.reductions import total


def _wrong_nan(x: torch.Tensor) -> torch.Tensor:
    return functools.reduce(torch.fmax, x.abs().unbind(-1))


def _right_nan(x: torch.Tensor) -> torch.Tensor:
    return functools.reduce(torch.maximum, x.abs().unbind(-1))


def _needs_elements(case: Any) -> bool | str:
    return case.dims["H"] > 0 or "an empty row has no largest element"


def _largest(x: torch.Tensor) -> torch.Tensor:
    return x.abs().amax(dim=-1)


def _largest_scanned(x: Array) -> Array:
    largest = np.abs(x[..., 0])
    for column in range(1, x.shape[-1]):
        largest = np.maximum(largest, np.abs(x[..., column]))
    return largest


def _largest_sorted(x: Array) -> Array:
    """Last of the sorted magnitudes; numpy sorts NaN last."""
    return np.sort(np.abs(x), axis=-1)[..., -1]


LARGEST = Operator(
    "largest_magnitude",
    _right_nan,
    {"x": tensor(SHAPE)},
    {"torch": _largest, "naive": in_float64(_largest_scanned), "precise": in_float64(_largest_sorted)},
    kind="exact",
    dtypes=FLOATS,
    requires=_needs_elements,
    cost=flops(2, SHAPE),
)
"""Largest magnitude of each row; what both twins of `nan` are declared like."""


def _wrong_zero(x: torch.Tensor) -> torch.Tensor:
    return 0.0 - x


def _right_zero(x: torch.Tensor) -> torch.Tensor:
    return -x


def _negative(x: Array) -> Array:
    return -x


def _opposite(x: Array) -> Array:
    return np.copysign(x, np.where(np.signbit(x), 1.0, -1.0))


NEGATE = Operator(
    "negate",
    _right_zero,
    {"x": tensor(SHAPE)},
    {"torch": torch.neg, "naive": in_float64(_negative), "precise": in_float64(_opposite)},
    kind="exact",
    dtypes=FLOATS,
    cost=flops(1, SHAPE),
)
"""-x; what both twins of `zero` are declared like."""


def _wrong_empty(x: torch.Tensor) -> torch.Tensor:
    first, *others = widen(x).unbind(-1)
    return functools.reduce(torch.add, others, first + 0.0).to(x.dtype)


def _right_empty(x: torch.Tensor) -> torch.Tensor:
    start = widen(x).new_zeros(x.shape[:-1])
    return functools.reduce(torch.add, widen(x).unbind(-1), start).to(x.dtype)


PLANTED = [
    plant(
        LARGEST,
        "nan",
        wrong=_wrong_nan,
        right=_right_nan,
        dims={"B": 1, "S": 16, "H": 32},
    ),
    plant(
        NEGATE,
        "zero",
        wrong=_wrong_zero,
        right=_right_zero,
        dims={"B": 1, "S": 16, "H": 32},
    ),
    plant(
        total,
        "empty",
        wrong=_wrong_empty,
        right=_right_empty,
        dims={"B": 1, "S": 8, "H": 24},
        contract=replace(total.contract, empty="fail"),
    ),
]
