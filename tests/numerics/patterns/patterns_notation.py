"""A small notation for the tests of patterns: failures from what came out, what should have, and the arguments."""

from __future__ import annotations

from typing import Any

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns import Pattern

ROUNDINGS = 8
"""Units in the last place that count as right."""


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def whole(low: int, high: int, *shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def failing(
    actual: torch.Tensor,
    expected: torch.Tensor,
    *,
    kind: Kind = Kind.AUTO,
    dims: dict[str, int] | None = None,
    **arguments: Any,
) -> Failure:
    """`actual` where `expected` was wanted; at least one element is beyond a few roundings."""
    if actual.is_floating_point():
        wanted = expected.double()
        tolerance = ROUNDINGS * torch.finfo(actual.dtype).eps * wanted.abs() + 1e-12
        bad = ~((actual.double() - wanted).abs() <= tolerance)
        bad &= ~(torch.isnan(actual) & torch.isnan(wanted))
        bad &= ~(torch.isinf(wanted) & (actual.double() == wanted))
    else:
        wanted, tolerance = expected.to(torch.int64), None
        bad = actual.to(torch.int64) != wanted
    assert bool(bad.any())
    return Failure(
        output="out0",
        kind=kind,
        actual=actual,
        expected=wanted,
        bad=bad,
        tolerance=tolerance,
        deviation=None,
        compute=FLOAT_FORMATS["float32"],
        accumulate=FLOAT_FORMATS["float32"],
        arguments=arguments,
        dims=dims or {},
    )


def replaced(right: torch.Tensor, where: Any, value: Any) -> torch.Tensor:
    """`right` with `value` at an index."""
    wrong = right.clone()
    wrong[where] = value
    return wrong


def causes(pattern: Pattern, failure: Failure) -> list[Cause]:
    return [clue.cause for clue in pattern(failure)]


def only(pattern: Pattern, failure: Failure) -> Clue:
    """What the pattern says, which is one thing."""
    (clue,) = pattern(failure)
    assert clue.output == "out0"
    assert 0 < clue.confidence <= 0.9
    return clue
