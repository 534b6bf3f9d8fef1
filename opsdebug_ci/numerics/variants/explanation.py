"""Whether an alternative result explains a failure: does it reproduce what the operator returned?

Decides what counts as reproduced. Deliberately does not know where the alternative comes from.
"""

from __future__ import annotations

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
        return sure if self.elements <= FEW or self.chance < 0.5 else sure - 0.25 * self.chance


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
    allowed = None if failure.tolerance is None else _allowed(failure, candidate)[failure.bad]
    shifted = None if allowed is None else allowed.roll(1)
    chance = float(_equal(wrong, wanted.roll(1), shifted).double().mean()) if wrong.numel() > 1 else 0.0
    return Explanation(
        bad=share,
        good=float(good.double().mean()) if good.numel() else 1.0,
        chance=chance,
        elements=int(bad.sum()),
        overall=float(match.double().mean()),
        ratio=one_ratio(failure, candidate) if share == 1.0 else None,
    )


def _reproduced(failure: Failure, candidate: torch.Tensor) -> torch.Tensor:
    if failure.tolerance is None:
        return _equal(failure.actual, candidate, None)
    return _equal(failure.actual, candidate, _allowed(failure, candidate))


def _allowed(failure: Failure, candidate: torch.Tensor) -> torch.Tensor:
    """The tolerance around the reference, and where the candidate is larger the same share of it."""
    assert failure.tolerance is not None  # noqa: S101 - the callers have looked
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
