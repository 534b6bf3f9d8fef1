"""Operators that move elements to other places, and exist only to have a defect planted in them.

Declared with the correct twin's function, with references of their own. Not built-in operators.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from opsdebug_ci import Operator, scalar, tensor
from opsdebug_ci.catalogue.arrays import Array, Positions, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE


def _flipped(x: torch.Tensor) -> torch.Tensor:
    return torch.flip(x, (-1,))


def _flipped_naive(x: Array) -> Array:
    result = np.empty_like(x)
    for column in range(x.shape[-1]):
        result[..., column] = x[..., -1 - column]
    return result


def _flipped_precise(x: Array) -> Array:
    reversed_rows: Array = np.take(x, np.arange(x.shape[-1])[::-1], axis=-1)
    return reversed_rows


FLIP = Operator(
    "flip",
    _flipped,
    {"x": tensor(SHAPE)},
    {"torch": _flipped, "naive": in_float64(_flipped_naive), "precise": in_float64(_flipped_precise)},
    kind="exact",
    dtypes=FLOATS,
    cost=flops(0, SHAPE),
)
"""Each row from its end to its beginning."""


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Both halves of each row as planes, rotated by the angle of their column."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def _rotated_naive(x: Array, cos: Array, sin: Array) -> Array:
    half = x.shape[-1] // 2
    result = np.empty_like(x)
    result[..., :half] = x[..., :half] * cos - x[..., half:] * sin
    result[..., half:] = x[..., :half] * sin + x[..., half:] * cos
    return result


def _rotated_precise(x: Array, cos: Array, sin: Array) -> Array:
    planes = x.reshape(*x.shape[:-1], 2, x.shape[-1] // 2)
    turn = np.stack([np.stack([cos, -sin]), np.stack([sin, cos])])
    result: Array = np.einsum("ijsh,bsjh->bsih", turn, planes)
    return result.reshape(x.shape)


ROTATE = Operator(
    "rotate",
    rotated,
    {
        "x": tensor("B S 2*H", values="finite"),
        "cos": tensor("S H", values="finite"),
        "sin": tensor("S H", values="finite"),
    },
    {"torch": rotated, "naive": in_float64(_rotated_naive), "precise": in_extended(_rotated_precise)},
    kind="reduction",
    dtypes=FLOATS,
    cost=flops(6, SHAPE),
)
"""A rotation of pairs of columns, as rotary position embeddings have it (Su et al., arXiv:2104.09864, eq. 34)."""


def _interleaved(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.stack([x, y], dim=-1).flatten(-2)


def _interleaved_naive(x: Array, y: Array) -> Array:
    result = np.empty((*x.shape[:-1], 2 * x.shape[-1]))
    result[..., ::2], result[..., 1::2] = x, y
    return result


def _interleaved_precise(x: Array, y: Array) -> Array:
    size = x.shape[-1]
    order = np.arange(2 * size) // 2 + np.arange(2 * size) % 2 * size
    taken: Array = np.take(np.concatenate([x, y], axis=-1), order, axis=-1)
    return taken


INTERLEAVE = Operator(
    "interleave",
    _interleaved,
    {"x": tensor(SHAPE), "y": tensor(SHAPE)},
    {
        "torch": _interleaved,
        "naive": in_float64(_interleaved_naive),
        "precise": in_float64(_interleaved_precise),
    },
    kind="exact",
    dtypes=FLOATS,
    cost=flops(0, SHAPE),
)
"""Elements of two rows in turns."""


def _places(seed: int, dims: Mapping[str, int], args: Any) -> Positions:  # noqa: ARG001 - declared signature
    """One of the BINS places for every element, repeats included."""
    return np.random.Generator(np.random.Philox(seed)).integers(0, BINS, size=dims["N"], dtype=np.int64)


BINS = 24
"""Places that SCATTER adds to."""


def _scattered(x: torch.Tensor, index: torch.Tensor, bins: int) -> torch.Tensor:
    return torch.zeros(bins, dtype=x.dtype).index_add(0, index, x)


def _scattered_naive(x: Array, index: Positions, bins: int) -> Array:
    result = np.zeros(bins)
    np.add.at(result, index, x)
    return result


def _scattered_precise(x: Array, index: Positions, bins: int) -> Array:
    return np.array([math.fsum(x[index == place]) for place in range(bins)])


SCATTER = Operator(
    "scatter_add",
    _scattered,
    {
        "x": tensor("N", values="finite"),
        "index": tensor("N", dtype="int64", values=_places),
        "bins": scalar(lambda dims, args: BINS),  # noqa: ARG005 - declared signature
    },
    {"torch": _scattered, "naive": in_float64(_scattered_naive), "precise": in_float64(_scattered_precise)},
    kind="reduction",
    dims={"N": 200},
    cost=flops(1, "N"),
)
"""Sum of the elements that belong to each place."""
