"""The errors of an integer or bool output against its reference, gathered in one pass over both.

Decides how integers are subtracted: as int64, never rounded, so that 2**53 + 1 differs from 2**53.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.numerics.blocks import Blocks
from opsdebug_ci.numerics.digits import Visit, float_keys, float_of_key, keys_at_ranks
from opsdebug_ci.numerics.pairs import RELATIVE_FLOOR
from opsdebug_ci.numerics.quantiles import named, ranks_of
from opsdebug_ci.numerics.selection import WORTHWHILE, FloatSelection, sample_positions
from opsdebug_ci.numerics.worst import Worst

_FLOAT64_KEY_BITS = 63

_Sides = tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerErrors:
    """Absolute and relative errors of integers."""

    position: int
    """The first element with the largest |a - y|, capped at 2**63 - 1, as flat C-order position."""

    relative: Quantiles
    """Of |a - y| / max(|y|, 2**-20 * RMS(y), 1)."""


def integer_errors(actual: torch.Tensor, expected: torch.Tensor) -> IntegerErrors:
    """Gather the errors of `actual` against `expected`: integers or bool, any strides, one shape, not empty."""
    blocks = Blocks(actual, expected)

    def square(_: int, sides: _Sides) -> float:
        y = sides[1].to(torch.float64)
        return torch.dot(y, y).item()

    mean_square = math.fsum(blocks.each(lambda: square)) / blocks.elements
    floor = max(RELATIVE_FLOOR * math.sqrt(mean_square), 1.0)
    sample = None
    if blocks.elements >= WORTHWHILE:
        positions = sample_positions(blocks.elements, actual.device)
        sample = _relative(*_absolute(*blocks.sample(positions)), floor)
    selection, worst = FloatSelection(sample, blocks.elements), Worst()

    def gather(start: int, sides: _Sides) -> None:
        error, y = _absolute(*sides)
        worst.note(error, start)
        selection.add(_relative(error, y, floor))

    def show(visit: Visit) -> None:
        blocks.each(lambda: lambda _, sides: visit(float_keys(_relative(*_absolute(*sides), floor))))

    blocks.each(lambda: gather)
    relative = selection.found()
    if relative is None:
        keys = keys_at_ranks(show, ranks_of(blocks.elements), _FLOAT64_KEY_BITS)
        relative = named([float_of_key(key) for key in keys])
    return IntegerErrors(position=worst.position or 0, relative=relative)


def _absolute(actual: torch.Tensor, expected: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """|a - y| in int64, exact as far as it fits, and y in int64."""
    a, y = actual.to(torch.int64), expected.to(torch.int64)
    error = torch.maximum(a, y) - torch.minimum(a, y)
    return error.masked_fill_(error < 0, torch.iinfo(torch.int64).max), y  # wrapped: beyond 2**63


def _relative(error: torch.Tensor, expected: torch.Tensor, floor: float) -> torch.Tensor:
    return error / expected.to(torch.float64).abs_().clamp_(min=floor)
