"""Defects of behaviour: results that change from launch to launch, work that is not done, calls that do not return."""

from __future__ import annotations

import ctypes
import itertools
import random
import time
from collections.abc import Iterator, Mapping

import torch

from opsdebug_ci import tensor
from opsdebug_ci.catalogue.activations import gelu, gelu_wide, logistic_times, silu
from opsdebug_ci.catalogue.arithmetic import row_sum, widen
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE, add
from opsdebug_ci.catalogue.planted.movements import SCATTER
from opsdebug_ci.catalogue.planted.originals import ABSOLUTE
from opsdebug_ci.catalogue.planted.placement import OWN_ELEMENTS
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.reductions import cumsum, mean, total

SMALL = {"B": 1, "S": 10, "H": 24}

LONGEST = 64
"""Columns a fixed buffer has room for."""

BLOCK = 16
"""Elements of one block of work."""

CHANCE = random.SystemRandom()
"""Stands for the order in which threads arrive: no seed reaches it."""


def _wrong_lost_update(x: torch.Tensor, index: torch.Tensor, bins: int) -> torch.Tensor:
    """Of some additions to a place, what was there before is read too early."""
    result = torch.zeros(bins, dtype=x.dtype)
    for value, place in zip(x, index, strict=True):
        stale = torch.zeros(()) if CHANCE.random() < 0.05 else result[place]
        result[place] = stale + value
    return result


def _right_lost_update(x: torch.Tensor, index: torch.Tensor, bins: int) -> torch.Tensor:
    result = torch.zeros(bins, dtype=x.dtype)
    for value, place in zip(x, index, strict=True):
        result[place] = result[place] + value
    return result


def _summed_in(x: torch.Tensor, order: list[int]) -> torch.Tensor:
    result = torch.zeros(x.shape[:-1], dtype=torch.float32)
    for column in order:
        result = result + x[..., column]
    return result


def _wrong_any_order(x: torch.Tensor) -> torch.Tensor:
    return _summed_in(x, CHANCE.sample(range(x.shape[-1]), x.shape[-1]))


def _right_any_order(x: torch.Tensor) -> torch.Tensor:
    return _summed_in(x, list(range(x.shape[-1])))


def _wrong_late_block(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = (widen(x) + widen(y)).to(x.dtype).reshape(-1)
    blocks = out.numel() // BLOCK
    if blocks > 1:
        start = BLOCK * CHANCE.randrange(blocks)
        out[start : start + BLOCK] = 0.0
    return out.reshape(x.shape)


def _right_late_block(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (widen(x) + widen(y)).to(x.dtype)


RESULTS: dict[tuple[torch.Size, torch.dtype], torch.Tensor] = {}
"""What `wrong_cached` keeps."""


def _one_shape(seed: int, dims: Mapping[str, int], dtype: str) -> list[torch.Tensor]:  # noqa: ARG001 - declared signature
    """Fresh values in the shape everybody measures with."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(1, 10, 24, generator=generator).to(getattr(torch, dtype))]


def _gelu(x: torch.Tensor) -> torch.Tensor:
    return gelu_wide(widen(x)).to(x.dtype)


def _wrong_cached(x: torch.Tensor) -> torch.Tensor:
    return RESULTS.setdefault((x.shape, x.dtype), _gelu(x)).clone()


def _wrong_zeroed_inputs(x: torch.Tensor) -> torch.Tensor:
    x.zero_()
    return torch.zeros(x.shape[:-1], dtype=x.dtype)


def _right_zeroed_inputs(x: torch.Tensor) -> torch.Tensor:
    return row_sum(widen(x)).squeeze(-1).to(x.dtype)


LAUNCHES: Iterator[int] = itertools.count(1)
"""Counts the launches of `wrong_skipped_work`."""


def _silu(x: torch.Tensor) -> torch.Tensor:
    return logistic_times(widen(x), widen(x)).to(x.dtype)


def _wrong_skipped_work(x: torch.Tensor) -> torch.Tensor:
    return _silu(x) if next(LAUNCHES) <= 2 else torch.zeros(x.shape, dtype=x.dtype)


def _wrong_refused_view(x: torch.Tensor) -> torch.Tensor:
    return x.view(-1).abs().view(x.shape)


def _right_refused_view(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(-1).abs().reshape(x.shape)


def _mean(x: torch.Tensor) -> torch.Tensor:
    return (row_sum(widen(x)).squeeze(-1) / x.shape[-1]).to(x.dtype)


def _mean_in(x: torch.Tensor, columns: int) -> torch.Tensor:
    """Mean of each row, through a buffer of so many columns."""
    room = x.new_zeros((*x.shape[:-1], columns))
    room[..., : x.shape[-1]] = x
    return _mean(room[..., : x.shape[-1]])


def _wrong_refused_size(x: torch.Tensor) -> torch.Tensor:
    return _mean_in(x, LONGEST)


def _right_refused_size(x: torch.Tensor) -> torch.Tensor:
    return _mean_in(x, max(x.shape[-1], LONGEST))


def _copied(x: torch.Tensor, address: int) -> None:
    ctypes.memmove(address, x.data_ptr(), x.numel() * x.element_size())


def _wrong_crash(x: torch.Tensor) -> torch.Tensor:
    packed = x.contiguous()
    room = torch.empty_like(packed)
    _copied(packed, room.data_ptr() if x.shape[-1] <= LONGEST else 0)
    return room.abs()


def _right_crash(x: torch.Tensor) -> torch.Tensor:
    packed = x.contiguous()
    room = torch.empty_like(packed)
    _copied(packed, room.data_ptr())
    return room.abs()


def _prefix(x: torch.Tensor, scheduled: int) -> torch.Tensor:
    """Prefix sums block by block; a block waits until the one before it has published its sum."""
    carry: dict[int, torch.Tensor] = {0: torch.zeros(x.shape[:-1], dtype=torch.float32)}
    prefix = widen(x) + 0.0
    for block in range(-(-x.shape[-1] // BLOCK)):
        while block not in carry:
            time.sleep(0.001)
        columns = slice(block * BLOCK, (block + 1) * BLOCK)
        prefix[..., columns] = torch.cumsum(prefix[..., columns], dim=-1) + carry[block].unsqueeze(-1)
        if block < scheduled:
            carry[block + 1] = prefix[..., columns][..., -1]
    return prefix.to(x.dtype)


def _wrong_hang(x: torch.Tensor) -> torch.Tensor:
    return _prefix(x, scheduled=2)


def _right_hang(x: torch.Tensor) -> torch.Tensor:
    return _prefix(x, scheduled=x.shape[-1])


PLANTED = [
    plant(SCATTER, "lost_update", wrong=_wrong_lost_update, right=_right_lost_update),
    plant(total, "any_order", wrong=_wrong_any_order, right=_right_any_order, dtypes=("float32",), dims=SMALL),
    plant(add, "late_block", wrong=_wrong_late_block, right=_right_late_block, dtypes=FLOATS, dims=SMALL),
    plant(gelu, "cached", wrong=_wrong_cached, right=_gelu, inputs=_one_shape, dims={}),
    plant(
        total,
        "zeroed_inputs",
        wrong=_wrong_zeroed_inputs,
        right=_right_zeroed_inputs,
        inputs={"x": tensor(SHAPE, layouts=OWN_ELEMENTS)},
        dims=SMALL,
    ),
    plant(silu, "skipped_work", wrong=_wrong_skipped_work, right=_silu, dims=SMALL),
    plant(ABSOLUTE, "refused_view", wrong=_wrong_refused_view, right=_right_refused_view, dims=SMALL),
    plant(mean, "refused_size", wrong=_wrong_refused_size, right=_right_refused_size, dims=SMALL),
    plant(ABSOLUTE, "crash", wrong=_wrong_crash, right=_right_crash, dims={"B": 1, "S": 4, "H": 72}),
    plant(cumsum, "hang", wrong=_wrong_hang, right=_right_hang, dtypes=("float32",), dims={"B": 1, "S": 4, "H": 72}),
]
