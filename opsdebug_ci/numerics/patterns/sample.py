"""What rules about numbers look at: some elements of a failing output, flat and in float64, with the arguments there.

Decides which elements: all of them, or MOST of them, one from each of as many equal stretches, so that the cost of a
rule does not grow with the output. Deliberately draws no conclusion.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.places import indices_of

MOST = 1 << 14
"""Elements a rule looks at; the shares it computes are then known to 0.4 % (binomial standard deviation at a half)."""

SUMMING = (
    Kind.REDUCTION,
    Kind.MATMUL,
    Kind.SOFTMAX,
    Kind.LOG_SOFTMAX,
    Kind.NORM,
    Kind.ATTENTION,
    Kind.SCAN,
)
"""Kinds whose formula has a sum of many terms in it."""


FEW_ROUNDINGS = 4.0
"""Standard deviation, in unit roundoffs of the output, correct evaluations of a few elementwise steps stay below."""

Numbers = dict[str, EvidenceValue]
"""The numbers behind a statement, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Some elements of a failing output, in C order; float64 unless said otherwise."""

    places: torch.Tensor
    """int64: their flat positions."""

    actual: torch.Tensor
    """What the operator returned."""

    expected: torch.Tensor
    """The reference, not rounded."""

    bad: torch.Tensor
    """bool: beyond the green bound."""

    @property
    def error(self) -> torch.Tensor:
        """actual - expected; NaN where either is not finite."""
        error = self.actual - self.expected
        return error.masked_fill_(~torch.isfinite(error), float("nan"))

    def __len__(self) -> int:
        return self.places.numel()


def sampled(failure: Failure, where: torch.Tensor | None = None) -> Sample:
    """Elements of `failure`, only those `where` (bool, its shape) if that is given. NaN and infinities included."""
    if where is None:
        places = torch.arange(failure.actual.numel(), device=failure.actual.device)
    else:
        places = where.reshape(-1).nonzero().flatten()
    places = _thinned(places)
    return Sample(
        places=places,
        actual=failure.actual.detach().reshape(-1)[places].double(),
        expected=failure.expected.detach().reshape(-1)[places].double(),
        bad=failure.bad.reshape(-1)[places],
    )


def sampled_finite(failure: Failure) -> Sample:
    """Elements of `failure` that are finite on both sides."""
    if not failure.actual.is_floating_point():
        return sampled(failure)
    seen = sampled(failure)
    finite = torch.isfinite(seen.actual) & torch.isfinite(seen.expected)
    return Sample(
        places=seen.places[finite], actual=seen.actual[finite], expected=seen.expected[finite], bad=seen.bad[finite]
    )


def at(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """float64 elements of a tensor, shaped like the output, at flat positions."""
    return values.detach().reshape(-1)[places].double()


def aligned(failure: Failure) -> dict[str, torch.Tensor]:
    """Tensor arguments that broadcast to the output's shape, expanded to it; those of its own shape first."""
    shape = failure.actual.shape
    found = {name: value.detach() for name, value in failure.tensors.items() if _broadcasts(value, shape)}
    ordered = sorted(found.items(), key=lambda item: item[1].shape != shape)
    return {name: value.expand(shape) for name, value in ordered if not value.is_complex()}


def aligned_at(failure: Failure, places: torch.Tensor) -> dict[str, torch.Tensor]:
    """`aligned`, gathered at flat positions as float64."""
    index = indices_of(places, failure.actual.shape) if failure.actual.ndim else ()
    return {
        name: (value[index] if index else value.reshape(1)[places]).double() for name, value in aligned(failure).items()
    }


def exponents_at(failure: Failure, places: torch.Tensor) -> torch.Tensor:
    """What a softmax output's terms are exponentials of, at flat positions: log(p / largest p of the last axis)."""
    largest = failure.expected.amax(-1, keepdim=True).clamp_min(1e-300)
    return at(failure.expected / largest, places).clamp_min(1e-300).log()


def summing(failure: Failure) -> bool:
    """Whether the formula sums many terms: its kind says so, or, left open, its arguments or its deviation do.

    An argument that does not fit the output was reduced; a few steps elementwise deviate by a rounding or two.
    """
    if failure.kind is not Kind.AUTO:
        return failure.kind in SUMMING
    if any(not _broadcasts(value, failure.actual.shape) for value in failure.tensors.values()):
        return True
    if failure.deviation is None:
        return False
    size = failure.expected.abs() * failure.accumulate.unit_roundoff
    return bool((failure.deviation > FEW_ROUNDINGS * size).double().mean() > 0.5)


def von_neumann(values: torch.Tensor) -> float:
    """Mean square successive difference over variance: about 2 for noise, near 0 for a smooth sequence.

    von Neumann, "Distribution of the ratio of the mean square successive difference to the variance", Ann. Math.
    Statist. 12(4), 1941. Values that do not vary at all count as smooth.
    """
    centred = values - values.mean()
    energy = float(centred.square().sum())
    return float(values.diff().square().sum()) / energy if energy > 0 else 0.0


def rms(values: torch.Tensor) -> float:
    """Root mean square; 0 for nothing."""
    return float(values.square().mean().sqrt()) if values.numel() else 0.0


def share(mask: torch.Tensor) -> float:
    """Share of True; 0 for nothing."""
    return float(mask.double().mean()) if mask.numel() else 0.0


def _broadcasts(value: torch.Tensor, shape: torch.Size) -> bool:
    """Whether `value` expands to `shape`."""
    if value.ndim > len(shape):
        return False
    pairs = zip(reversed(value.shape), reversed(shape), strict=False)
    return all(have in (1, want) for have, want in pairs)


def _thinned(places: torch.Tensor) -> torch.Tensor:
    """MOST of them at most: one from each of MOST equal stretches, at a place drawn from a fixed seed."""
    count = places.numel()
    if count <= MOST:
        return places
    jitter = torch.rand(MOST, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    chosen = ((torch.arange(MOST, dtype=torch.float64) + jitter) * (count / MOST)).long().clamp_(max=count - 1)
    return places[chosen.to(places.device)]
