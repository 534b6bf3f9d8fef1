"""Outputs that are not the rounded truth although nothing the operator may do inside explains it.

Rounding to a narrow output format grants every element half a unit in its last place, and hides errors inside that are
smaller than this: a wrong eps, a divisor of n - 1, a tanh for an erf. They still show where they carry the truth y
across the boundary between two neighbours of the format. An output a other than y rounded to nearest has made an error
inside of at least the distance from y to the edge of the numbers that round to a; where that exceeds the worst case of
the steps, it is *unexplained*, and no correct evaluation rounded once to nearest can show it, whatever y is.

Decides what is counted and from where on the count is a flag. Deliberately not what follows: that is `comparison`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch

from opsdebug_ci.model.observation import MisroundingReading
from opsdebug_ci.numerics.bounds import MIN_LAMBDA, Bound
from opsdebug_ci.numerics.formats import float_format, is_finite, rounded, signed_bits, ulp_of

VISIBLE = 0.05
"""Largest tolerance of the steps, in ulp of the output, at which an element counts: above it a correct kernel misrounds
often as well."""

RATE = 0.01
"""Misrounding rate that is a flag by itself. Good kernels show 0.00 to 0.2 %, a second rounding to the same format
36 %, accumulators in the output format 71 %."""

EXPECTED_RATES = 5.0
"""The rate must also exceed this many times the one that a correct kernel is expected to have at most."""

BIASED_COUNT, BIAS_Z = 30, 8.0
"""Misrounded elements, and the binomial z of the share that grow |y|, above which their direction is a flag."""

FEWEST_UNEXPLAINED = 8
"""Unexplained elements without which nothing is a flag: a single one may be a reference's own."""

LIKE_FRAMEWORK = 3.0
"""A framework whose own rate is at least that fraction of the operator's misrounds in the same way."""

BLOCK, MOST_BLOCKS = 1 << 13, 32
"""Elements looked at in one go, and how many times: of a larger output, evenly spaced blocks. A rate of 0.1 % still
shows 260 times among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misrounding:
    """Reading of one output, and where it comes from."""

    reading: MisroundingReading
    """The counts."""

    unexplained: torch.Tensor
    """bool, shaped like the output: misrounded by an error inside beyond the worst case."""


def misrounding(actual: torch.Tensor, expected: torch.Tensor, bound: Bound) -> Misrounding:
    """Count misrounded elements of a float output much narrower than the operator's steps.

    Equivalent to: for every finite normal y whose tolerance without rounding, t, is below VISIBLE ulp: the element is
    misrounded when a != RN(y); its error inside is at least |y - m|, m the midpoint between a and its neighbour towards
    y; it is unexplained when that exceeds the worst case without rounding. With errors inside of standard deviation s
    and y anywhere between two numbers, a correct kernel misrounds E|error|/ulp <= s/ulp of the elements; twice that is
    taken as expected (verification by counting: D. Goldberg, ACM Comput. Surv. 23(1), 1991, section 1.2 for ulp).

    Args:
        actual: output, any float dtype narrower than float64, any shape.
        expected: float64 reference, not rounded, same shape.
        bound: bounds around it; neither exact nor a user's own.

    Returns:
        Counts and the mask. NaN, infinities, zeros, subnormals and sign changes are left to classes and bounds, and so
        is what lies outside the MOST_BLOCKS blocks of an output of more than BLOCK * MOST_BLOCKS elements.
    """
    a, y = actual.detach().reshape(-1), expected.reshape(-1)
    sides = (a, y, bound.rounding.reshape(-1), bound.tolerance.reshape(-1), bound.worst_case.reshape(-1))
    unexplained = torch.zeros(a.numel(), dtype=torch.bool, device=a.device)
    counts = torch.zeros(4, dtype=torch.float64)
    number = min(MOST_BLOCKS, -(-a.numel() // BLOCK))
    edges = [a.numel() * index // max(number, 1) for index in range(number + 1)]
    for start, end in itertools.pairwise(edges):
        looked_at = slice(start, min(end, start + BLOCK))
        found, mask = _block(*(side[looked_at] for side in sides))
        counts += found
        unexplained[looked_at] = mask
    visible, misrounded, growing, expected_count = counts.tolist()
    reading = MisroundingReading(
        visible=int(visible),
        misrounded=int(misrounded),
        growing=int(growing),
        unexplained=int(unexplained.sum()),
        expected_rate=expected_count / visible if visible else 0.0,
        flagged=False,
    )
    return Misrounding(reading=_flagged(reading), unexplained=unexplained.reshape(expected.shape))


def resembles(reading: MisroundingReading, framework: MisroundingReading) -> bool:
    """Whether the framework's own result misrounds at least a third as often, so that the operator does as it does."""
    return framework.unexplained > 0 and LIKE_FRAMEWORK * framework.rate >= reading.rate


def _block(
    a: torch.Tensor, y: torch.Tensor, rounding: torch.Tensor, tolerance: torch.Tensor, worst: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(visible, misrounded, growing, expected misrounded) and which are unexplained, for flat elements."""
    number_format = float_format(a.dtype)
    size, ulp, inside = y.abs(), ulp_of(y, number_format), tolerance - rounding
    usual = (size >= 2 * number_format.min_normal) & (size <= number_format.max_finite / 2) & is_finite(a)
    visible = usual & (inside < VISIBLE * ulp) & (torch.sign(a.double()) == torch.sign(y))
    wrong = visible & (a != rounded(y, a.dtype))
    expected = (inside * (2.0 / MIN_LAMBDA) / ulp)[visible].sum()
    unexplained = torch.zeros_like(wrong)
    where = wrong.nonzero().flatten()
    growing = a[where].double().abs() > size[where]
    unexplained[where] = _error_inside(a[where], y[where], growing) > (worst - rounding)[where]
    counts = torch.stack([visible.sum(), wrong.sum(), growing.sum(), expected]).to("cpu", torch.float64)
    return counts, unexplained


def _error_inside(a: torch.Tensor, y: torch.Tensor, growing: torch.Tensor) -> torch.Tensor:
    """Distance from y to the midpoint between `a` and its neighbour towards y; `a` is not y rounded to nearest."""
    bits = signed_bits(a)
    neighbour = (bits + torch.where(growing, -1, 1).to(bits.dtype)).view(a.dtype)
    midpoint = (a.double() + neighbour.double()) / 2
    distance = torch.where(growing, midpoint.abs() - y.abs(), y.abs() - midpoint.abs())
    return distance.clamp_min_(0.0)


def _flagged(reading: MisroundingReading) -> MisroundingReading:
    often = reading.rate > max(RATE, EXPECTED_RATES * reading.expected_rate)
    biased = reading.misrounded > BIASED_COUNT and abs(reading.bias_z) > BIAS_Z
    flagged = reading.unexplained >= FEWEST_UNEXPLAINED and (often or biased)
    return MisroundingReading(
        visible=reading.visible,
        misrounded=reading.misrounded,
        growing=reading.growing,
        unexplained=reading.unexplained,
        expected_rate=reading.expected_rate,
        flagged=flagged,
    )


def mean_bias(actual: torch.Tensor, expected: torch.Tensor, bound: Bound) -> float | None:
    """Mean signed relative error of an output as wide as the operator's steps, in units of its unit roundoff.

    Over normal elements with a relative error below WELL_CONDITIONED_ERROR whose tolerance without rounding is at most
    WELL_CONDITIONED roundings: elsewhere the condition of the formula decides, not its constants. Of a large output,
    evenly spaced elements.

    Args:
        actual: output, any float dtype, any shape.
        expected: float64 reference, same shape.
        bound: bounds around it.

    Returns:
        The mean; None where fewer than BIAS_ELEMENTS elements count. NaN and infinities never do.
    """
    number_format = float_format(actual.dtype)
    step = actual.numel() // (BLOCK * MOST_BLOCKS) + 1
    sides = (actual.detach(), expected, bound.tolerance, bound.rounding)
    a, y, tolerance, rounding = (side.reshape(-1)[::step] for side in sides)
    u, size, error = number_format.unit_roundoff, y.abs(), a.double() - y
    usual = torch.isfinite(error) & (size >= 2 * number_format.min_normal)
    calm = tolerance - rounding <= WELL_CONDITIONED * u * size
    counted = usual & calm & (error.abs() < WELL_CONDITIONED_ERROR * size)
    if int(counted.sum()) < BIAS_ELEMENTS:
        return None
    mean = (error[counted] / y[counted]).mean().item() / u
    return mean if math.isfinite(mean) else None


WELL_CONDITIONED = 48.0
"""Roundings: 6 standard deviations of 8 roundings each."""

WELL_CONDITIONED_ERROR = 2.0**-10
"""Relative error above which an element is wrong for another reason than a bias."""

BIAS_ELEMENTS = 64
"""Fewest elements whose mean says something."""

BIAS_ROUNDINGS = 8.0
"""Mean relative error, in unit roundoffs, from where it is told."""
