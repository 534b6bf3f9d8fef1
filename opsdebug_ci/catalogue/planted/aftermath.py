"""Defects that a single launch does not show: a caller's tensor that comes back turned, a race that is seldom lost."""

from __future__ import annotations

import torch

from opsdebug_ci import tensor
from opsdebug_ci.catalogue.arithmetic import row_sum, widen
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE, add
from opsdebug_ci.catalogue.planted.behaviour import CHANCE
from opsdebug_ci.catalogue.planted.placement import OWN_ELEMENTS
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.reductions import total

SMALL = {"B": 1, "S": 6, "H": 10}

CHANCE_OF_STALENESS = 0.1
"""Share of the launches that go wrong."""


def _right_turned(x: torch.Tensor) -> torch.Tensor:
    return row_sum(widen(x)).squeeze(-1).to(x.dtype)


def _wrong_turned(x: torch.Tensor) -> torch.Tensor:
    """The caller's tensor is left with its last two axes exchanged."""
    result = _right_turned(x)
    x.transpose_(1, 2)
    return result


def _wrong_one_in_ten(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = (widen(x) + widen(y)).to(x.dtype)
    if out.numel() and CHANCE.random() < CHANCE_OF_STALENESS:
        out.view(-1)[-1] = 0.0
    return out


def _right_one_in_ten(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (widen(x) + widen(y)).to(x.dtype)


PLANTED = [
    plant(
        total,
        "turned",
        wrong=_wrong_turned,
        right=_right_turned,
        inputs={"x": tensor(SHAPE, layouts=OWN_ELEMENTS)},
        dims=SMALL,
    ),
    plant(add, "one_in_ten", wrong=_wrong_one_in_ten, right=_right_one_in_ten, dtypes=FLOATS, dims=SMALL),
]
