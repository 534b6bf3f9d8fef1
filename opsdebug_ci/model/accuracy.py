"""How far an output is from its reference: readings, classes, bounds.

Decides what is reported about one output. Readings (cosine, ULP, percentiles) inform; classes and bounds judge.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.vocabulary import Zone

NUMBER_CLASSES: tuple[str, ...] = ("nan", "+inf", "-inf", "+0", "-0", "subnormal", "normal")
"""The seven classes every element falls into, compared before any arithmetic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Exact percentiles of a per-element error over the elements finite on both sides; None when there are none."""

    p50: float | None
    """Median."""

    p95: float | None
    """95th percentile."""

    p99: float | None
    """99th percentile."""

    max: float | None
    """Largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMismatch:
    """One off-diagonal cell of the confusion matrix."""

    expected: str
    """Class of the reference, one of NUMBER_CLASSES."""

    actual: str
    """Class of the output."""

    count: int
    """Elements in this cell."""

    first_index: tuple[int, ...]
    """The first of them in C order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstElement:
    """The element that decided: largest error relative to its tolerance."""

    index: tuple[int, ...]
    """Where."""

    actual: float | None
    """Output there; None when not finite."""

    expected: float | None
    """Reference there; None when not finite."""

    tolerance: float | None
    """Green bound there, same units as the output."""

    rounding: float | None
    """Part of the tolerance from rounding once to the output dtype: u_o * |y| + eta."""

    internal: float | None
    """Part from the operator's own arithmetic at its compute dtype."""

    worst_case: float | None
    """Amber bound there: beyond it lies nothing a correct operator of the contract does."""

    @property
    def ratio(self) -> float | None:
        """Error in units of the tolerance; None where either is undefined or the tolerance is zero."""
        if self.actual is None or self.expected is None or not self.tolerance:
            return None
        return abs(self.actual - self.expected) / self.tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Elementwise error of one output against the reference that was used."""

    output: str
    """Output name."""

    compared: int
    """Elements judged. Zero is never a pass by itself."""

    cosine: float | None
    """Cosine similarity in float64 after scaling by max |.|; None when not finite or nothing compared."""

    max_abs_err: float | None
    """Largest |actual - expected| over elements finite on both sides."""

    max_abs_index: tuple[int, ...] | None
    """Where it is."""

    rel_err: Quantiles
    """|e| / max(|y|, 2**-20 * RMS(y), min normal)."""

    ulp: Quantiles
    """Distance in units in the last place of the output dtype to the reference rounded to it; None for integers."""

    significant_digits: float | None
    """-log10 of the median relative error, capped at the format's own digits; None for integers."""

    misrounding_rate: float | None
    """Share of finite elements that differ from the reference rounded to nearest; None for integers."""

    zone: Zone
    """Worst zone of any element, class mismatches included."""

    over_tolerance: int
    """Elements beyond the green bound, class mismatches included."""

    over_worst_case: int
    """Elements beyond the amber bound, class mismatches included."""

    class_mismatches: tuple[ClassMismatch, ...]
    """Disallowed cells of the confusion matrix."""

    worst: WorstElement | None
    """Element with the largest error relative to its tolerance; None when nothing finite was compared."""

    bound: str
    """Which bound decided, in words, with its terms; names a user's override as such."""

    @property
    def severity(self) -> tuple[int, int, float]:
        """Sorts outputs: worst zone first, then elements beyond the amber bound, then error over tolerance."""
        ratio = self.worst.ratio if self.worst is not None else None
        return (tuple(Zone).index(self.zone), self.over_worst_case, -1.0 if ratio is None else ratio)
