"""Whether an alternative result explains a failure: does it reproduce what the operator returned?

Decides what counts as reproduced. Deliberately does not know where the alternative comes from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import float_format, is_float_dtype
from opsdebug_ci.numerics.variants.ratio import Ratio, one_ratio

COMPLETE = 0.98
"""Share of elements from which all of them count as reproduced; the rest may sit on a rounding boundary."""

MOSTLY = 0.95
"""Share of all elements from which a few right ones that it would make wrong are an edge of their own."""

PARTIAL = 0.5
"""Share of the bad elements from which an alternative explains a part of the failure."""

MOST_BITS = 24.0
"""Evidence of one element at most: as many bits as a float32 has."""

OF_ONE_VALUE = 6.0
"""Evidence of bad elements that hold one value, besides which they are: three cases of them are enough."""

MANY = 8
"""Elements from which it says something which of them are bad: 2**-8 by chance, were they drawn."""

FEW = 3
"""Bad elements below which an explanation may be chance, whatever its share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How much of a failing output an alternative reproduces."""

    bad: float
    """Share of the bad elements it reproduces, 0 to 1."""

    good: float
    """Share of the other elements it leaves as they are, 0 to 1; 1 when there are none."""

    chance: float
    """Share of the bad elements it would reproduce if its values stood one place further: near 1 for outputs of few
    distinct values, which prove little."""

    elements: int
    """Bad elements it reproduces."""

    overall: float
    """Share of all elements it reproduces, 0 to 1."""

    which: int = 0
    """Elements of the rarer kind, bad or good, that it tells from the other: evidence even of one value throughout."""

    bits: float = 0.0
    """Evidence: of every element reproduced, how much closer the candidate is than the reference was, in powers of two.
    A correct guess is worth little where the tolerance is nearly as wide as the error."""

    ratio: Ratio | None = None
    """By which every bad element is off, where it reproduces all of them and that is one; None: nothing to tell."""

    @property
    def complete(self) -> bool:
        """Reproduces all of the output."""
        return self.bad >= COMPLETE and self.good >= COMPLETE

    @property
    def confidence(self) -> float:
        """0 to 0.98: complete reproduction of many distinct values is as sure as it gets."""
        if self.complete:
            sure = 0.98 if self.elements > FEW else 0.9
        elif self.bad >= COMPLETE and (self.good >= PARTIAL or self.overall >= MOSTLY):
            sure = 0.85 if self.overall >= MOSTLY else 0.75
        elif self.bad >= PARTIAL and self.good >= COMPLETE and self.elements > FEW:
            sure = 0.45 + 0.3 * self.bad
        else:
            return 0.0
        if self.elements <= FEW or self.chance < 0.5:
            return sure
        return sure - (0.05 if self.complete and self.which >= MANY else 0.25) * self.chance


def explain(failure: Failure, candidate: torch.Tensor) -> Explanation | None:
    """How far `candidate` (the whole output as it would be) reproduces the output; None when it explains nothing.

    An element is reproduced when it has the candidate's class and, where finite, lies within the tolerance of the
    reference there, grown with the magnitude of the candidate.
    """
    if candidate.shape != failure.actual.shape or candidate.is_complex():
        return None
    match = _reproduced(failure, candidate)
    bad, good = match[failure.bad], match[~failure.bad]
    share = float(bad.double().mean())
    if share < PARTIAL:
        return None
    wrong, wanted = failure.actual[failure.bad], candidate[failure.bad]
    allowed = _allowed(failure, candidate)
    shifted = None if allowed is None else allowed[failure.bad].roll(1)
    chance = float(_equal(wrong, wanted.roll(1), shifted).double().mean()) if wrong.numel() > 1 else 0.0
    which = min(int(bad.sum()), int(good.sum()))
    return Explanation(
        bad=share,
        good=float(good.double().mean()) if good.numel() else 1.0,
        chance=chance,
        elements=int(bad.sum()),
        overall=float(match.double().mean()),
        which=which,
        bits=_informed(_bits(failure, match & failure.bad, allowed), chance, which),
        ratio=one_ratio(failure, candidate) if share == 1.0 else None,
    )


def _informed(bits: float, chance: float, which: int) -> float:
    """What is left of the evidence: of bad elements that hold one value, that it is this value, and which they are."""
    return bits * (1.0 - chance) + min(bits, OF_ONE_VALUE + which) * chance


def share_left(failure: Failure, candidate: torch.Tensor) -> float:
    """The median error of the bad elements beside `candidate`, relative to that beside the reference; infinity where
    they cannot be compared."""
    if candidate.shape != failure.actual.shape or candidate.is_complex():
        return math.inf
    got, wanted, instead = (each[failure.bad].double() for each in (failure.actual, failure.expected, candidate))
    finite = torch.isfinite(got) & torch.isfinite(wanted) & torch.isfinite(instead)
    if int(finite.sum()) < PARTIAL * len(got):
        return math.inf
    error, left = (got - wanted)[finite].abs().median(), (got - instead)[finite].abs().median()
    return float(left / error) if bool(error > 0) else math.inf


def contradicts(failure: Failure, candidate: torch.Tensor) -> bool:
    """Whether `candidate` would have shown in an output that is right."""
    if candidate.shape != failure.actual.shape or candidate.is_complex():
        return False
    return float(_reproduced(failure, candidate).double().mean()) < COMPLETE


def _bits(failure: Failure, reproduced: torch.Tensor, allowed: torch.Tensor | None) -> float:
    """log2(error / tolerance) of every element; where bits must agree, log2 of the number of values there are; one bit
    where NaN or an infinity stands for a number."""
    if not bool(reproduced.any()):
        return 0.0
    error = (failure.actual.double() - failure.expected.double()).abs()[reproduced]
    finite = torch.isfinite(error)
    if allowed is None or not bool((allowed > 0).any()):
        both = torch.cat([failure.actual.flatten().double(), failure.expected.flatten().double()])
        values = len(torch.unique(both))
        each = torch.full_like(error, min(MOST_BITS, math.log2(max(values, 2))))
    else:
        each = (error / allowed[reproduced]).log2().clamp(0.0, MOST_BITS)
    return float(torch.where(finite, each, 1.0).sum())


def _reproduced(failure: Failure, candidate: torch.Tensor) -> torch.Tensor:
    return _equal(failure.actual, candidate, _allowed(failure, candidate))


def _allowed(failure: Failure, candidate: torch.Tensor) -> torch.Tensor | None:
    """The tolerance around the reference, and where the candidate is larger the same share of it; None: none."""
    if failure.tolerance is None:
        return None
    if not bool((failure.tolerance > 0).any()):
        return failure.tolerance  # exact: bits must agree
    size = failure.expected.double().abs()
    usable = torch.isfinite(size) & (size > 0) & torch.isfinite(failure.tolerance)
    share = float((failure.tolerance[usable] / size[usable]).median()) if bool(usable.any()) else 0.0
    own = float_format(failure.actual.dtype).unit_roundoff if is_float_dtype(failure.actual.dtype) else 0.0
    grown = max(share, own) * candidate.double().abs()
    return torch.maximum(failure.tolerance, torch.nan_to_num(grown, nan=0.0, posinf=0.0))


def _equal(actual: torch.Tensor, candidate: torch.Tensor, allowed: torch.Tensor | None) -> torch.Tensor:
    if allowed is None and not candidate.is_floating_point() and not actual.is_floating_point():
        return actual.to(torch.int64) == candidate.to(torch.int64)
    got, wanted = actual.double(), candidate.double()
    if is_float_dtype(actual.dtype):
        wanted = torch.where(wanted.abs() > float_format(actual.dtype).max_finite, _overflowed(actual, wanted), wanted)
    same = (got == wanted) | (torch.isnan(got) & torch.isnan(wanted))
    if allowed is None:
        return same
    if not bool((allowed > 0).any()):
        return same & (torch.signbit(got) == torch.signbit(wanted))
    return same | ((got - wanted).abs() <= allowed)


def _overflowed(actual: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    largest = float_format(actual.dtype).max_finite
    return wanted.to(actual.dtype).double() if largest < 1e300 else wanted
