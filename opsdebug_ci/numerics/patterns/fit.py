"""Whether a formula reproduces what bad elements hold: to the tolerance, and far better than the reference does.

Decides what counts as reproduced. Deliberately knows no formula: the rules bring theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.placement import MANY_BAD, bad_places

FITTING = 0.98
"""Share of the elements a formula must reproduce."""

LEFT = 1e-2
"""Largest share of the error's energy it may leave."""

VARIED = 4
"""Distinct values from which elements tell formulas apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BadElements:
    """Some bad elements that are finite on both sides, in float64, all of one length."""

    places: torch.Tensor
    """int64: flat positions."""

    actual: torch.Tensor
    """What the operator returned."""

    expected: torch.Tensor
    """The reference."""

    allowed: torch.Tensor
    """The tolerance; half a unit for integers, twice as wide as float64 needs at least."""

    @property
    def error(self) -> torch.Tensor:
        """actual - expected."""
        return self.actual - self.expected

    def __len__(self) -> int:
        return len(self.places)

    def fits(self, wanted: torch.Tensor, grown: torch.Tensor | float = 1.0, left: float = LEFT) -> bool:
        """Whether `wanted` is what the elements hold.

        Args:
            wanted: float64, one per element; a NaN does not fit.
            grown: by how much the tolerance grows with the formula, at least 1: a doubled value is twice as rough.
            left: share of the error's energy that may stay.
        """
        gap = (self.actual - wanted).abs()
        close = gap <= self.allowed * grown
        if int(torch.count_nonzero(close)) < FITTING * len(self):
            return False
        energy = self.error[close].square().sum()
        return bool(gap[close].square().sum() <= left * energy) and bool(energy > 0)


def bad_elements(failure: Failure, most: int = 4096) -> BadElements | None:
    """At most `most` bad elements; None when fewer than MANY_BAD are finite on both sides, or a tenth is not."""
    places = bad_places(failure.bad, most)
    found = elements_at(failure, places)
    return found if len(found) >= max(MANY_BAD, 0.9 * len(places)) else None


def elements_at(failure: Failure, places: torch.Tensor) -> BadElements:
    """The elements at flat positions, without those that are not finite."""
    actual = failure.actual.flatten()[places].double()
    expected = failure.expected.flatten()[places].double()
    if failure.tolerance is None:
        allowed = torch.full_like(expected, 0.5)
    else:
        allowed = failure.tolerance.expand(failure.bad.shape).flatten()[places].double()
    allowed = torch.maximum(allowed, expected.abs() * 2.0**-51)
    known = torch.isfinite(actual) & torch.isfinite(expected)
    return BadElements(places=places[known], actual=actual[known], expected=expected[known], allowed=allowed[known])


def varied(values: torch.Tensor) -> bool:
    """At least VARIED distinct values, and no single one on nine tenths."""
    _, counts = torch.unique(values, return_counts=True)
    return len(counts) >= VARIED and int(counts.max()) <= 0.9 * len(values)
