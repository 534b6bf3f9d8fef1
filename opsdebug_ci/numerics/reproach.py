"""What may be held against an output within its bounds: misrounding, and errors far worse than the framework's.

Decides which elements are reproached on top of those beyond a bound, and who else accepts them. A kind that is declared
promises its steps in a wide format, so a reproach is red there; where the kind is left open it is amber.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.model.observation import MisroundingReading
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.bounds import Bound
from opsdebug_ci.numerics.misrounding import BIAS_ROUNDINGS, LIKE_FRAMEWORK, mean_bias, misrounding, resembles
from opsdebug_ci.numerics.slices import far_worse

DECLARED = frozenset(Kind) - {Kind.EXACT, Kind.INDEX, Kind.QUANTIZE, Kind.AUTO}
"""Kinds that promise how an output is computed."""

SUMMING = frozenset({Kind.REDUCTION, Kind.MATMUL, Kind.SCAN})
"""Kinds whose amber zone is an order of summation, in which no framework's error is a measure of another's."""

SPARE_BITS = 5
"""Bits by which the steps must be wider than the output for its misrounding to say anything: VISIBLE is 2**-4.3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproach:
    """What is held against an output."""

    elements: torch.Tensor
    """bool, shaped like the output: elements reproached."""

    judged: bool
    """They are red; else amber."""

    misrounding: MisroundingReading | None
    """Its reading, when it was taken."""

    bias: float | None
    """Mean relative error in roundings, when it is worth telling."""

    worse_slices: int
    """Elements in slices far worse than the framework."""

    @property
    def flagged(self) -> bool:
        """Misrounding is a flag."""
        return self.misrounding is not None and self.misrounding.flagged


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What a reproach is read off."""

    kind: Kind
    """Kind of the output."""

    actual: torch.Tensor
    """The output."""

    expected: torch.Tensor
    """float64 truth, better than the output's format."""

    native: torch.Tensor | None
    """The framework's own result in the output's dtype, when there is one of this shape."""

    bound: Bound
    """Bounds around the truth."""

    output: FloatFormat
    """Format of the output."""

    compute: FloatFormat
    """Format of the operator's steps."""


def reproach(examined: Examined, over: torch.Tensor) -> Reproach | None:
    """What may be held against an output; None where nothing can be.

    Args:
        examined: the output and what it is held against.
        over: bool, elements beyond the green bound already.
    """
    if examined.bound.exact or examined.kind is Kind.QUANTIZE:
        return None
    if examined.output.precision + SPARE_BITS > examined.compute.precision:
        bias = _telling_bias(examined)
        nothing = torch.zeros((), dtype=torch.bool, device=over.device).expand(over.shape)
        return Reproach(elements=nothing, judged=False, misrounding=None, bias=bias, worse_slices=0)
    found = misrounding(examined.actual, examined.expected, examined.bound)
    reading = found.reading
    elements = torch.zeros_like(over)
    if reading.flagged:
        reading = replace(reading, like_framework=_like_framework(examined, reading))
        elements = found.unexplained
    worse = _worse_slices(examined, over)
    judged = examined.kind in DECLARED and not reading.like_framework
    return Reproach(
        elements=elements | worse if judged else elements,
        judged=judged,
        misrounding=reading,
        bias=None,
        worse_slices=int(worse.sum()),
    )


def accepts(truth: torch.Tensor, examined: Examined) -> torch.Tensor:
    """Elements another float64 reference, `truth`, does not hold to be misrounded."""
    return ~misrounding(examined.actual, truth, examined.bound).unexplained


def _like_framework(examined: Examined, reading: MisroundingReading) -> bool:
    if examined.native is None:
        return False
    return resembles(reading, misrounding(examined.native, examined.expected, examined.bound).reading)


def _telling_bias(examined: Examined) -> float | None:
    """The mean error of a float32 output where it is large and the framework's is not."""
    if examined.output.name != "float32" or examined.compute.name != "float32":
        return None
    own = mean_bias(examined.actual, examined.expected, examined.bound)
    if own is None or abs(own) <= BIAS_ROUNDINGS:
        return None
    theirs = None if examined.native is None else mean_bias(examined.native, examined.expected, examined.bound)
    return own if theirs is None or LIKE_FRAMEWORK * abs(theirs) < abs(own) else None


def _worse_slices(examined: Examined, over: torch.Tensor) -> torch.Tensor:
    """Amber elements of a declared kind in slices far worse than a framework that is itself within reason."""
    none = torch.zeros_like(over)
    if examined.native is None or examined.kind not in DECLARED - SUMMING or not bool(over.any()):
        return none
    bound, truth = examined.bound, examined.expected
    mine, theirs = (_inside(side, truth, bound) for side in (examined.actual, examined.native))
    suspect = bool((theirs > FRAMEWORK_CAP * bound.tolerance).any())
    return none if suspect else over & far_worse(mine, theirs, truth, examined.output.unit_roundoff)


FRAMEWORK_CAP = 4.0
"""Tolerances beyond which the framework's own low precision is suspect and measures nobody."""


def _inside(values: torch.Tensor, truth: torch.Tensor, bound: Bound) -> torch.Tensor:
    """|values - truth| beyond one rounding; 0 where that is not finite."""
    error = torch.nan_to_num((values.double() - truth).abs(), nan=0.0, posinf=0.0, neginf=0.0)
    return (error - bound.rounding).clamp_min_(0.0)
