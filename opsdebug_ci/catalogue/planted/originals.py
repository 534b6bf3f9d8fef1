"""Operators that exist only to have a defect planted in them: each simple, with references of its own.

Declared with the correct twin's function. Not built-in operators.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from opsdebug_ci import Operator, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE


def needs_columns(case: Any) -> bool | str:
    """Domain of what looks for an element of each row."""
    return case.dims["H"] > 0 or "an empty row has no element to look for"


def _smallest(x: torch.Tensor) -> torch.Tensor:
    return x.abs().amin(dim=-1)


def _smallest_scanned(x: Array) -> Array:
    smallest = np.abs(x[..., 0])
    for column in range(1, x.shape[-1]):
        smallest = np.minimum(smallest, np.abs(x[..., column]))
    return smallest


def _smallest_sorted(x: Array) -> Array:
    """First of the sorted magnitudes, NaN before all."""
    return -np.sort(-np.abs(x), axis=-1)[..., -1]


SMALLEST = Operator(
    "smallest_magnitude",
    _smallest,
    {"x": tensor(SHAPE)},
    {"torch": _smallest, "naive": in_float64(_smallest_scanned), "precise": in_float64(_smallest_sorted)},
    kind="exact",
    dtypes=FLOATS,
    requires=needs_columns,
    cost=flops(2, SHAPE),
)
"""Smallest magnitude of each row."""


def _absolute(x: Array) -> Array:
    return np.abs(x)


def _without_sign(x: Array) -> Array:
    return np.copysign(x, 1.0)


ABSOLUTE = Operator(
    "absolute",
    torch.abs,
    {"x": tensor(SHAPE)},
    {"torch": torch.abs, "naive": in_float64(_absolute), "precise": in_float64(_without_sign)},
    kind="exact",
    dtypes=FLOATS,
    cost=flops(1, SHAPE),
)
"""|x|."""


def _to_even(x: Array) -> Array:
    return np.rint(x)


def _to_even_by_halves(x: Array) -> Array:
    """The nearer whole number of |x|, and of two equally near ones the even one, with the sign of `x`."""
    size = np.abs(x)
    floor = np.floor(size)
    rest = size - floor
    odd = np.floor(floor / 2) * 2 != floor
    up = (rest > 0.5) | ((rest == 0.5) & odd)
    return np.copysign(np.where(np.isfinite(size), floor + up, size), x)


ROUND = Operator(
    "round_half_even",
    torch.round,
    {"x": tensor(SHAPE)},
    {"torch": torch.round, "naive": in_float64(_to_even), "precise": in_float64(_to_even_by_halves)},
    kind="exact",
    dtypes=FLOATS,
    cost=flops(1, SHAPE),
)
"""Nearest whole number, halves to even (IEEE 754-2019, 5.9, roundToIntegralTiesToEven)."""


def _leaky(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.leaky_relu(x, LEAK)


def _leaky_naive(x: Array) -> Array:
    return np.where(x > 0, x, LEAK * x)


def _leaky_precise(x: Array) -> Array:
    return np.where(x <= 0, LEAK * x, x)


LEAK = 0.125
"""Slope below zero: a power of two, so that nothing but a subnormal result is rounded."""

LEAKY = Operator(
    "leaky_relu",
    _leaky,
    {"x": tensor(SHAPE)},
    {"torch": _leaky, "naive": in_float64(_leaky_naive), "precise": in_extended(_leaky_precise)},
    kind="elementwise",
    dtypes=FLOATS,
    cost=flops(2, SHAPE),
)
"""x above zero, x / 8 below."""


def _differences(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[..., :1], x[..., 1:] - x[..., :-1]], dim=-1)


def _differences_naive(x: Array) -> Array:
    result: Array = x.copy()
    for column in range(1, x.shape[-1]):
        result[..., column] = x[..., column] - x[..., column - 1]
    return result


def _differences_precise(x: Array) -> Array:
    return np.concatenate([x[..., :1], np.diff(x, axis=-1)], axis=-1)


DIFFERENCE = Operator(
    "difference",
    _differences,
    {"x": tensor(SHAPE)},
    {"torch": _differences, "naive": in_float64(_differences_naive), "precise": in_extended(_differences_precise)},
    kind="elementwise",
    dtypes=FLOATS,
    cost=flops(1, SHAPE),
)
"""Each element less the one before it; the first as it is."""


def smoothed(left: torch.Tensor, middle: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left + 2 middle + right, in their dtype."""
    return (left + right) + 2.0 * middle


def smooth_rows(x: torch.Tensor) -> torch.Tensor:
    """The stencil 1 2 1 along each row, with 0 beyond its ends."""
    around = torch.nn.functional.pad(x, (1, 1))
    return smoothed(around[..., :-2], x, around[..., 2:])


def _smooth_naive(x: Array) -> Array:
    result = 2.0 * x
    result[..., 1:] += x[..., :-1]
    result[..., :-1] += x[..., 1:]
    return result


def _smooth_precise(x: Array) -> Array:
    size = x.shape[-1]
    near = np.abs(np.arange(size)[:, None] - np.arange(size)[None, :])
    result: Array = np.einsum("bsh,hk->bsk", x, np.maximum(2 - near, 0).astype(x.dtype))
    return result


SMOOTH = Operator(
    "smooth",
    smooth_rows,
    {"x": tensor(SHAPE, values="finite")},
    {"torch": smooth_rows, "naive": in_float64(_smooth_naive), "precise": in_extended(_smooth_precise)},
    kind="reduction",
    dtypes=FLOATS,
    cost=flops(3, SHAPE),
)
"""The stencil 1 2 1 along each row."""


def wide(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """`function` of tensors in the dtype a good kernel computes in, its result rounded once."""

    @functools.wraps(function)
    def call(x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        return function(*(widen(item) for item in (x, *others))).to(x.dtype)

    return call
