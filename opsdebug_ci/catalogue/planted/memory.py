"""Defects of memory: what is overwritten too early, written or read outside, never written, or not the operator's."""

from __future__ import annotations

import torch

from opsdebug_ci import tensor
from opsdebug_ci.catalogue.activations import logistic_times, silu
from opsdebug_ci.catalogue.arithmetic import row_sum, widen
from opsdebug_ci.catalogue.elementwise import SHAPE
from opsdebug_ci.catalogue.planted.edges import ADD_INTO
from opsdebug_ci.catalogue.planted.movements import FLIP
from opsdebug_ci.catalogue.planted.originals import (
    DIFFERENCE,
    LEAK,
    LEAKY,
    SMALLEST,
    SMOOTH,
    smooth_rows,
    smoothed,
    wide,
)
from opsdebug_ci.catalogue.planted.placement import OWN_ELEMENTS
from opsdebug_ci.catalogue.planted.tails import lanes
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.reductions import total

VECTOR = 4
SMALL = {"B": 1, "S": 12, "H": 22}


def _wrong_mirror(x: torch.Tensor) -> torch.Tensor:
    buffer = x.clone()
    for column in range(x.shape[-1]):
        buffer[..., column] = buffer[..., -1 - column]
    return buffer


def _right_mirror(x: torch.Tensor) -> torch.Tensor:
    buffer = x.clone()
    for column in range(x.shape[-1]):
        buffer[..., column] = x[..., -1 - column]
    return buffer


def _wrong_running_difference(x: torch.Tensor) -> torch.Tensor:
    buffer = widen(x).clone()
    for column in range(1, x.shape[-1]):
        buffer[..., column] -= buffer[..., column - 1]
    return buffer.to(x.dtype)


def _right_running_difference(x: torch.Tensor) -> torch.Tensor:
    buffer = widen(x).clone()
    for column in reversed(range(1, x.shape[-1])):
        buffer[..., column] -= buffer[..., column - 1]
    return buffer.to(x.dtype)


def _wrong_past_row(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    """Rows of `out` are stored as whole vectors, as far as its storage reaches."""
    width = lanes(x.shape[-1], VECTOR)
    result = torch.nn.functional.pad(widen(x) + widen(y), (0, width - x.shape[-1])).to(x.dtype)
    memory = torch.empty(0, dtype=out.dtype).set_(out.untyped_storage())
    for batch in range(x.shape[0]):
        for row in range(x.shape[1]):
            place = out.storage_offset() + batch * out.stride(0) + row * out.stride(1)
            target = memory[place : place + width]
            target.copy_(result[batch, row, : target.numel()])


def _right_past_row(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_((widen(x) + widen(y)).to(x.dtype))


def _wrong_before_row(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_((widen(x) + widen(y)).to(x.dtype))
    if out.numel() and out.storage_offset():
        out.as_strided((1,), (1,), out.storage_offset() - 1).fill_(0.0)


def _wrong_neighbours(x: torch.Tensor) -> torch.Tensor:
    flat = torch.nn.functional.pad(x.reshape(-1), (1, 1))
    return smoothed(flat[:-2], flat[1:-1], flat[2:]).reshape(x.shape)


def _wrong_uncleared(x: torch.Tensor) -> torch.Tensor:
    return _added_to(torch.empty(x.shape[:-1], dtype=torch.float32), x)


def _right_uncleared(x: torch.Tensor) -> torch.Tensor:
    return _added_to(torch.zeros(x.shape[:-1], dtype=torch.float32), x)


def _added_to(start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (start + row_sum(widen(x)).squeeze(-1)).to(x.dtype)


def _wrong_half_written(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    positive = x > 0
    out[positive] = x[positive]
    return out


def _right_half_written(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    positive = x > 0
    out[positive] = x[positive]
    out[~positive] = (widen(x[~positive]) * LEAK).to(x.dtype)
    return out


def _smallest_of(sorted_rows: torch.Tensor) -> torch.Tensor:
    """Smallest magnitude of each sorted row; torch sorts NaN last."""
    last = sorted_rows[..., -1]
    return torch.where(last.isnan(), last, sorted_rows.abs().amin(dim=-1))


def _wrong_sorted_input(x: torch.Tensor) -> torch.Tensor:
    x.copy_(x.sort(dim=-1).values)
    return _smallest_of(x)


def _right_sorted_input(x: torch.Tensor) -> torch.Tensor:
    return _smallest_of(x.sort(dim=-1).values)


def _wrong_scaled_back(x: torch.Tensor) -> torch.Tensor:
    wide_x = widen(x).clone()
    x.mul_(1.1).div_(1.1)
    return logistic_times(wide_x, wide_x).to(x.dtype)


def _right_scaled_back(x: torch.Tensor) -> torch.Tensor:
    wide_x = widen(x).clone()
    return logistic_times(wide_x, wide_x).to(x.dtype)


PLANTED = [
    plant(FLIP, "mirror", wrong=_wrong_mirror, right=_right_mirror, dims=SMALL),
    plant(
        DIFFERENCE,
        "running_difference",
        wrong=_wrong_running_difference,
        right=_right_running_difference,
        dims=SMALL,
    ),
    plant(
        ADD_INTO,
        "past_row",
        wrong=_wrong_past_row,
        right=_right_past_row,
        inputs={"x": tensor(SHAPE), "y": tensor(SHAPE), "out": tensor(SHAPE, layouts=("contiguous", "padded"))},
        dims=SMALL,
    ),
    plant(
        ADD_INTO,
        "before_row",
        wrong=_wrong_before_row,
        right=_right_past_row,
        inputs={"x": tensor(SHAPE), "y": tensor(SHAPE), "out": tensor(SHAPE, layouts=("contiguous", "offset"))},
        dims=SMALL,
    ),
    plant(SMOOTH, "neighbours", wrong=wide(_wrong_neighbours), right=wide(smooth_rows), dims=SMALL),
    plant(total, "uncleared", wrong=_wrong_uncleared, right=_right_uncleared, dims=SMALL),
    plant(LEAKY, "half_written", wrong=_wrong_half_written, right=_right_half_written, dims=SMALL),
    plant(
        SMALLEST,
        "sorted_input",
        wrong=_wrong_sorted_input,
        right=_right_sorted_input,
        inputs={"x": tensor(SHAPE, layouts=OWN_ELEMENTS)},
        dims=SMALL,
    ),
    plant(
        silu,
        "scaled_back",
        wrong=_wrong_scaled_back,
        right=_right_scaled_back,
        inputs={"x": tensor(SHAPE, layouts=OWN_ELEMENTS)},
        dims=SMALL,
    ),
]
