"""Whether the outputs are off by one ratio: told only where the altered reference says so and the outputs show it.

Decides what counts as one ratio and how it is written. Deliberately asks for no cause: an alternative has one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import float_format, is_float_dtype

LEAST = 4
"""Elements below which any ratio is one ratio."""

ONE = 0.02
"""Spread, relative to the distance from 1, up to which ratios are one: the digits that are printed stand."""

DIGITS = 4
"""Decimals of a ratio; more where it is so close to 1 that they would not show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Outputs over what they should be, at the bad elements."""

    value: float
    """Of the altered reference, median; its spread is below ONE."""

    measured: float
    """Of the operator, median."""

    spread: float
    """Of the operator, 95th less 5th percentile: as wide as the rounding of the outputs."""

    def __str__(self) -> str:
        """`0.9980`; `250`."""
        if abs(self.value - round(self.value)) < 1e-6 * abs(self.value):
            return f"{round(self.value):,}"
        if not 0.1 <= abs(self.value) <= 10:
            return f"{self.value:.{DIGITS}g}"
        return f"{self.value:.{max(DIGITS, 1 + math.ceil(-math.log10(abs(1 - self.value))))}f}"

    def told(self, counts: tuple[float, float] | None) -> str:
        """`0.9980 = sqrt(249/250)`, where that is what it is, eps and rounding aside."""
        formula = self.fraction(counts)
        return f"{self} = {formula}" if formula and formula != f"{self}/1" else str(self)

    def fraction(self, counts: tuple[float, float] | None) -> str | None:
        """`sqrt(249/250)`; None: it is no fraction of them, nor a root of one."""
        one, other = counts or (0, 0)
        if one <= 0 or other <= 0:
            return None
        for top, bottom in ((one, other), (other, one)):
            for name, value in (
                (f"{top:g}/{bottom:g}", top / bottom),
                (f"sqrt({top:g}/{bottom:g})", math.sqrt(top / bottom)),
            ):
                if abs(value - self.value) <= ONE * abs(1 - value):
                    return name
        return None


def one_ratio(failure: Failure, candidate: torch.Tensor) -> Ratio | None:
    """The ratio by which every bad element is off in the altered reference, if the operator's are off by it as well."""
    actual, expected = failure.actual, failure.expected
    if failure.tolerance is None or not is_float_dtype(actual.dtype) or expected.is_complex():
        return None
    got, wanted, altered = (each.double()[failure.bad] for each in (actual, expected, candidate))
    usable = torch.isfinite(got) & torch.isfinite(wanted) & torch.isfinite(altered) & (wanted != 0)
    if int(usable.sum()) < LEAST or not bool(usable.all()):
        return None
    altered, got = altered / wanted, got / wanted
    value = float(altered.median())
    away = abs(1 - value)
    if value in (0.0, -1.0) or not away or float(altered.max() - altered.min()) > ONE * away:
        return None
    low, middle, high = got.quantile(torch.tensor([0.05, 0.5, 0.95], dtype=got.dtype, device=got.device)).tolist()
    if abs(middle - value) > ONE * away + float_format(actual.dtype).unit_roundoff * abs(value):
        return None
    return Ratio(value=value, measured=middle, spread=high - low)
