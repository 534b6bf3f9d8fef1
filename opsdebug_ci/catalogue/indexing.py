"""Operators that select: gather, topk.

Both move values bit for bit, NaN and -0 included. In topk NaN counts as the largest value and equal values keep their
order, as in the framework's stable sort (its `topk` leaves the order of ties open, so it is not the reference).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from opsdebug_ci import Contract, operator, scalar, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, Positions, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS


def random_positions(seed: int, dims: Mapping[str, int], args: Any) -> Positions:  # noqa: ARG001 - declared signature
    """K positions below H for every row, repeats included."""
    generator = np.random.Generator(np.random.Philox(seed))
    return generator.integers(0, max(dims["H"], 1), size=(dims["B"], dims["S"], dims["K"]), dtype=np.int64)


@operator(
    kind="exact",
    dtypes=FLOATS,
    dims={"B": 1, "S": 32, "H": 64, "K": 24},
    devices=("cpu", "cuda"),
    x=tensor("B S H"),
    index=tensor("B S K", dtype="int64", values=random_positions),
)
def gather(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """x[b, s, index[b, s, k]], through one flat index."""
    rows = torch.arange(x.shape[0] * x.shape[1], device=x.device).reshape(x.shape[0], x.shape[1], 1)
    return x.reshape(-1)[rows * x.shape[2] + index]


@gather.requires
def _(case: Any) -> bool | str:
    return case.dims["H"] > 0 or case.dims["K"] == 0 or "an empty row has no position to gather from"


@gather.reference("torch")
def _(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return torch.gather(x, -1, index)


@gather.reference("naive")
@in_float64
def _(x: Array, index: Positions) -> Array:
    result = np.empty(index.shape)
    for b in range(index.shape[0]):
        for s in range(index.shape[1]):
            result[b, s] = x[b, s][index[b, s]]
    return result


@gather.reference("precise")
@in_float64
def _(x: Array, index: Positions) -> Array:
    return np.take_along_axis(x, index, axis=-1)


gather.cost(flops(0, "B S K"))


def order_keys(x: torch.Tensor) -> torch.Tensor:
    """int32 keys in the order of the values: NaN above +inf, both zeros equal.

    Positive floats already order as their bits; negative ones once all bits but the sign are flipped.
    """
    bits = (widen(x) + 0.0).view(torch.int32)
    keys = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return torch.where(torch.isnan(x), torch.full_like(keys, 2**31 - 1), keys)


@operator(
    kind={"out0": "exact", "out1": "index"},
    dtypes=FLOATS,
    dims={"B": 1, "S": 16, "H": 48, "K": 4},
    devices=("cpu", "cuda"),
    contract=Contract(index=("x", -1)),
    x=tensor("B S H"),
    k=scalar(lambda dims, args: dims["K"]),  # noqa: ARG005 - declared signature
)
def topk(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k largest of each row, largest first, and where they are: k rounds of selection."""
    keys = order_keys(x).to(torch.int64)
    places = []
    for _ in range(k):
        place = keys.argmax(dim=-1, keepdim=True)
        keys = keys.scatter(-1, place, -(2**40))
        places.append(place)
    indices = torch.cat(places, dim=-1) if places else keys[..., :0]
    return x.gather(-1, indices), indices


@topk.requires
def _(case: Any) -> bool | str:
    return case.dims["K"] <= case.dims["H"] or f"a row of {case.dims['H']} has no {case.dims['K']} largest"


@topk.reference("torch")
def _(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = torch.sort(x, stable=True, dim=-1, descending=True)
    return values[..., :k], indices[..., :k]


@topk.reference("naive")
@in_float64
def _(x: Array, k: int) -> tuple[Array, Positions]:
    values = np.empty((*x.shape[:-1], k))
    indices = np.empty((*x.shape[:-1], k), dtype=np.int64)
    for row in np.ndindex(*x.shape[:-1]):
        ranked = sorted(range(x.shape[-1]), key=lambda j, r=row: (not np.isnan(x[r][j]), -x[r][j]))  # type: ignore[misc]  # mypy wants a key without defaults
        indices[row] = ranked[:k]
        values[row] = x[row][indices[row]]
    return values, indices


@topk.reference("precise")
@in_float64
def _(x: Array, k: int) -> tuple[Array, Positions]:
    indices = np.lexsort((-x, ~np.isnan(x)), axis=-1)[..., :k].astype(np.int64)
    return np.take_along_axis(x, indices, axis=-1), indices


topk.cost(flops(1, "B S H K"))

OPERATORS = [gather, topk]
