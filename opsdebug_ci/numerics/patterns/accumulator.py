"""Sums that carry fewer bits than promised: the size of a noise-like error tells how many.

Decides from one observation, so it cannot tell a narrow accumulator from narrow operands: both are named alike.
Deliberately silent where the error has a shape of its own: in position, in an argument, in sign, or of low rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import float_format
from opsdebug_ci.numerics.patterns.sample import (
    Numbers,
    Sample,
    aligned_at,
    at,
    exponents_at,
    rms,
    sampled_finite,
    share,
    summing,
    von_neumann,
)

SUPPORT = 24
"""Elements needed: the median of so many |z| is known to about a fifth."""

LOST = 4.0
"""Median error in standard deviations of a correct evaluation from which bits are missing everywhere."""

NORMAL_MEDIAN = 0.6745
"""Median of |z| of a standard normal number."""

SIZE = 0.05
"""Largest rms error relative to the rms of the output: larger ones are wrong values, not imprecise ones."""

LEAST_BITS = 3.0
"""Fewest bits that are still called a precision: those of the coarsest format."""

NOISE = 1.0
"""Least von Neumann ratio of a noise-like sequence of SUPPORT or more elements: 2 - 2 * 2 / sqrt(24) is 1.2."""

RANK_SHARE = 0.5
"""Most of the error's energy one rank may hold: a dropped term of a product holds all, noise of n x n elements 4/n."""

FORMAT_BITS = (11, 8)
"""Significand bits of float16 and TF32, and of bfloat16 (IEEE 754-2019, table 3.5, and their definitions)."""

BITS_OFF = 1.5
"""How far the bits of a step rounded to a format may seem from its own: several roundings add up, one may be hidden."""

CROP = 96
"""Rows and columns of the error whose rank is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noise:
    """Error of some elements in standard deviations of correct evaluations."""

    elements: int
    """How many."""

    ratio: float
    """Robust standard deviation: the median of |z| over that of a normal number."""

    bits: float
    """Significand bits the sums seem to carry."""

    toward_zero: float
    """Share of elements smaller in magnitude than their reference."""


def accumulator(failure: Failure) -> Iterator[Clue]:
    """z = error / deviation noise-like with a median |z| >= 4: the sums carry p - log2(rms z) bits, not p.

    Noise-like: tails no heavier than a normal number's, mixed signs, a von Neumann ratio >= 1 in C order, along the
    output and every aligned argument, no half of the energy in one rank. Where the output itself is narrow, read where
    its own rounding is small beside that: near zero.
    """
    if failure.deviation is None or not failure.actual.is_floating_point():
        return
    if failure.kind in (Kind.EXACT, Kind.QUANTIZE, Kind.INDEX):
        return
    noise = _noise(failure, sampled_finite(failure))
    if noise is not None:
        yield _clue(failure, noise)


def _noise(failure: Failure, seen: Sample) -> _Noise | None:
    assert failure.deviation is not None  # noqa: S101 - `accumulator` has looked
    if len(seen) < SUPPORT or rms(seen.error) > SIZE * rms(seen.expected):
        return None
    deviation = at(failure.deviation, seen.places)
    own, promised = float_format(failure.actual.dtype), failure.accumulate
    heard = deviation > 0
    if own.precision < promised.precision:  # elements whose internal error, at the output's precision, would be seen
        heard &= promised.unit_roundoff * seen.expected.abs() <= deviation
    if int(heard.sum()) < SUPPORT:
        return None
    z = seen.error[heard] / deviation[heard]
    ratio = float(z.abs().median()) / NORMAL_MEDIAN
    toward_zero = share((z * seen.expected[heard]) < 0)
    bits = promised.precision - math.log2(ratio) if ratio > 0 else math.inf
    if ratio * NORMAL_MEDIAN < LOST or bits < LEAST_BITS or not _normal_like(z / ratio, toward_zero):
        return None
    if _shaped(failure, z, seen.places[heard], seen.expected[heard]) or _of_low_rank(failure):
        return None
    return _Noise(elements=z.numel(), ratio=ratio, bits=bits, toward_zero=toward_zero)


def _normal_like(z: torch.Tensor, toward_zero: float) -> bool:
    """At most 3 % beyond 6, at most a quarter below 0.1, neither sign nor direction rare, or all stagnating alike."""
    positive = share(z > 0)
    return (
        share(z.abs() > 6) <= 0.03
        and share(z.abs() < 0.1) <= 0.25
        and 0.15 <= positive <= 0.85
        and 0.15 <= toward_zero <= 0.85
    )


def _shaped(failure: Failure, z: torch.Tensor, places: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether neighbours, in C order, along an argument or the output, err alike. A scan's do, by one term each."""
    if von_neumann(z) < NOISE and not (failure.kind is Kind.SCAN and von_neumann(z.diff()) >= NOISE):
        return True
    exponents = [exponents_at(failure, places)] if failure.kind is Kind.SOFTMAX and failure.expected.ndim else []
    arguments = (expected, *exponents, *aligned_at(failure, places).values())
    distinct = (x for x in arguments if bool((x != x[0]).any()))
    return any(von_neumann(z[x.argsort(stable=True)]) < NOISE for x in distinct)


def _of_low_rank(failure: Failure) -> bool:
    """Whether one outer product explains most of the error of the first matrix of the output."""
    if failure.actual.ndim < 2 or min(failure.actual.shape[-2:]) < 6:
        return False
    first = (0,) * (failure.actual.ndim - 2)
    crop = (failure.actual[first][:CROP, :CROP].double() - failure.expected[first][:CROP, :CROP]).nan_to_num()
    energy = torch.linalg.svdvals(crop).square()
    return bool(energy[0] > RANK_SHARE * energy.sum())


def _clue(failure: Failure, noise: _Noise) -> Clue:
    promised = failure.accumulate.precision
    evidence: Numbers = {
        "elements": noise.elements,
        "error_in_deviations": noise.ratio,
        "bits": noise.bits,
        "promised_bits": promised,
        "toward_zero": noise.toward_zero,
    }
    error = f"the error looks like noise, {noise.ratio:.3g} x what correct evaluations show"
    if summing(failure):
        statement = f"{error}: the sums carry about {noise.bits:.0f} bits, not {promised}"
        return failure.clue("accumulator", Cause.LOW_PRECISION_ACCUM, 0.76, statement, evidence)
    statement = f"{error}: steps on the way carry about {noise.bits:.0f} bits, not {promised}"
    of_a_format = min(abs(noise.bits - bits) for bits in FORMAT_BITS) <= BITS_OFF
    if failure.kind is Kind.TRANSCENDENTAL and not of_a_format:
        coarse = f"{error}: about {noise.bits:.0f} bits, no format's, as from a table or a coarse instruction"
        return failure.clue("accumulator", Cause.APPROXIMATION, 0.6, coarse, evidence)
    return failure.clue("accumulator", Cause.DTYPE_PROMOTION, 0.6, statement, evidence)
