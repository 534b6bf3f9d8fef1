"""Accesses outside tensors, made by loops in C; without a compiler there are none, and `UNAVAILABLE` says why.

What is read or written here lies in memory that guards own, or in the slack of an allocation: nothing else is harmed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch

from opsdebug_ci import Operator, tensor
from opsdebug_ci.catalogue.arithmetic import row_sum, widen
from opsdebug_ci.catalogue.arrays import Array, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE
from opsdebug_ci.catalogue.planted import strays
from opsdebug_ci.catalogue.planted.edges import ADD_INTO
from opsdebug_ci.catalogue.planted.originals import needs_columns
from opsdebug_ci.catalogue.planted.value import Planted, plant
from opsdebug_ci.catalogue.reductions import total
from opsdebug_ci.errors import EnvironmentLimitError

NAMES = ("c_behind", "c_ahead", "c_masked_read", "c_largest_read", "scratch")
"""Defects of this module, known without a compiler."""

SMALL = {"B": 1, "S": 6, "H": 22}

UNIT = 4
"""float32 elements in 16 bytes: an allocation of whole such units has 8 bytes of slack behind it in the C library."""

PACKED = ("contiguous",)
"""Layouts behind whose last element the storage ends."""


def _add_into(distance: Callable[[torch.Tensor], int] | None) -> Callable[..., None]:
    """x + y into `out`, and the first sum once more so many bytes from `out`."""

    def call(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
        result = (widen(x) + widen(y)).to(x.dtype)
        strays.copy(result, out)
        if distance is not None and out.numel():
            strays.store(out, distance(out), bytes(result.reshape(-1)[:1].view(torch.uint8).tolist()))

    return call


def _one_before(out: torch.Tensor) -> int:
    return -out.element_size()


def _lanes(x: torch.Tensor, lanes: int) -> list[int]:
    """Distances of the lanes behind the last row."""
    return [strays.behind(x) + lane * x.element_size() for lane in range(lanes)]


def _masked_sum(lanes: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Sum of each row; so many lanes behind the last row are multiplied by 0 after they were read."""

    def call(x: torch.Tensor) -> torch.Tensor:
        out = row_sum(widen(x)).squeeze(-1).double()
        if out.numel():
            strays.fold_at(x, "sum", out.view(-1)[-1], _lanes(x, lanes), weight=0.0)
        return out.to(x.dtype)

    return call


def _largest(lanes: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Largest element of each row, NaN before all; so many lanes behind the last row count unless they hold NaN."""

    def call(x: torch.Tensor) -> torch.Tensor:
        out = x.amax(dim=-1).double()
        if out.numel() and not out.view(-1)[-1].isnan():
            strays.fold_at(x, "largest", out.view(-1)[-1], _lanes(x, lanes))
        return out.to(x.dtype)

    return call


def _largest_scanned(x: Array) -> Array:
    return functools.reduce(np.maximum, np.moveaxis(x, -1, 0))


def _largest_sorted(x: Array) -> Array:
    """Last of the sorted elements; NaN is sorted behind all."""
    return np.sort(x, axis=-1)[..., -1]


LARGEST = Operator(
    "largest",
    _largest(0),
    {"x": tensor(SHAPE, layouts=PACKED)},
    {
        "torch": lambda x: x.amax(dim=-1),
        "naive": in_float64(_largest_scanned),
        "precise": in_float64(_largest_sorted),
    },
    kind="exact",
    dtypes=FLOATS,
    requires=needs_columns,
    cost=flops(1, SHAPE),
)
"""Largest element of each row."""


def _scratch_operator(name: str, lanes: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A custom operator of the framework's: sums of rows through scratch, so many elements behind which are written."""

    @torch.library.custom_op(f"opsdebug_planted::{name}", mutates_args=())
    def row_sums(x: torch.Tensor) -> torch.Tensor:
        scratch = torch.empty(UNIT * -(-max(1, x.shape[-1]) // UNIT), dtype=torch.float32)
        out = torch.zeros(x.shape[:-1], dtype=torch.float32)
        for index in np.ndindex(*x.shape[:-1]):
            row = x[index].float()
            strays.copy(row, scratch[: row.numel()])
            for lane in range(lanes):
                strays.store(scratch, (scratch.numel() + lane) * scratch.element_size(), strays.element(1.0, row.dtype))
            out[index] = row_sum(scratch[: row.numel()].unsqueeze(0)).squeeze()
        return out.to(x.dtype)

    return row_sums


def _planted() -> list[Planted]:
    strays.library()
    packed = {"x": tensor(SHAPE, layouts=PACKED)}
    into = {name: tensor(SHAPE, layouts=PACKED) for name in ("x", "y", "out")}
    return [
        plant(ADD_INTO, "c_behind", wrong=_add_into(strays.behind), right=_add_into(None), inputs=into, dims=SMALL),
        plant(ADD_INTO, "c_ahead", wrong=_add_into(_one_before), right=_add_into(None), inputs=into, dims=SMALL),
        plant(total, "c_masked_read", wrong=_masked_sum(2), right=_masked_sum(0), inputs=packed, dims=SMALL),
        plant(LARGEST, "c_largest_read", wrong=_largest(2), right=_largest(0), dims=SMALL),
        plant(
            total,
            "scratch",
            wrong=_scratch_operator("wrong_scratch", 1),
            right=_scratch_operator("right_scratch", 0),
            dims=SMALL,
        ),
    ]


def plant_all() -> tuple[list[Planted], dict[str, str]]:
    """Every defect when a compiler is there; otherwise the reason, for each of them."""
    try:
        return _planted(), {}
    except EnvironmentLimitError as error:
        return [], {name: str(error) for name in NAMES}


PLANTED, UNAVAILABLE = plant_all()
