"""The tolerance of one output, element by element.

Decides what is green (statistically explained), amber (explained only by the worst case) and red (explained by
nothing a correct operator does). A tolerance is a statement about the contract, so the bound says its terms in words.

    tolerance  = u_o*|y| + eta_o + lambda * deviation
    worst case = u_o*|y| + eta_o + max(2 * lambda * deviation, worst deviation, lambda * operand deviation)

u_o: unit roundoff of the output dtype; eta_o: half its smallest subnormal (Higham, ASNA 2nd ed., eq. 2.8);
deviation: `spread`; lambda = max(6, sqrt(2*ln(N/1e-3))): at most one false green violation in a thousand outputs of N
elements if errors were Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.spread import Spread

MIN_LAMBDA = 6.0
"""Smallest multiple of the standard deviation that counts as explained."""

FALSE_ALARMS_PER_OUTPUT = 1e-3
"""Expected green violations per output under Gaussian errors."""

LICENCE = 3.0
"""How much more than the framework's own largest error in a row is forgiven in amber, where the kind is left open."""

LICENCE_CAP = 4.0
"""Tolerances beyond which the framework's error licenses nothing."""

ROOT_MEAN_SQUARE = 2.0
"""Largest one of errors in standard deviations of steps in half precision that such steps explain: twice theirs."""

COHERENCE = 4.0
"""Most standard deviations by which the rows' mean errors, taken away from zero, may lean to one side."""

SELF_REFERENCE = 2.0
"""Factor where the reference makes errors of the same size as the operator: both of them may be off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Bounds of one output, float64, shaped like it."""

    rounding: torch.Tensor
    """Part from rounding once to the output dtype."""

    tolerance: torch.Tensor
    """Green up to here."""

    worst_case: torch.Tensor
    """Amber up to here, red beyond."""

    exact: bool
    """Bits must agree, the sign of zero included."""

    text: str
    """The bound in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTerms:
    """What a bound is made of, besides the values themselves."""

    kind: Kind
    """Kind of the output."""

    output: FloatFormat
    """Format of the output."""

    compute: FloatFormat
    """Format of the operator's elementwise steps."""

    accumulate: FloatFormat
    """Format of its accumulators."""

    flushes: bool
    """The contract lets subnormals of the compute format become zero."""

    self_reference: bool
    """The reference works in the operator's own precision."""


def bound_of(expected: torch.Tensor, spread: Spread | None, terms: BoundTerms, contract: Contract) -> Bound:
    """Bounds around `expected` (float64, any shape). Where it is not finite they are zero: classes judge there.

    Raises:
        InternalError: a bound came out as NaN, which nothing could exceed and nothing could meet.
    """
    size = torch.where(torch.isfinite(expected), expected.abs(), torch.zeros_like(expected))
    if contract.overrides_tolerance:
        return _overridden(size, contract)
    if terms.kind in (Kind.EXACT, Kind.INDEX):
        zero = torch.zeros_like(size)
        return Bound(rounding=zero, tolerance=zero, worst_case=zero, exact=True, text="exact: bits must agree")
    bound = _statistical(size, spread, terms)
    if bool(torch.isnan(bound.tolerance).any() | torch.isnan(bound.worst_case).any()):
        raise InternalError(f"a tolerance of {terms.kind} is NaN; it would judge nothing")
    return bound


def _statistical(size: torch.Tensor, spread: Spread | None, terms: BoundTerms) -> Bound:
    eta = terms.output.min_subnormal / 2
    if terms.flushes:
        eta = max(eta, terms.compute.min_normal, terms.output.min_normal if terms.output.bits == 32 else 0.0)
    gain = SELF_REFERENCE if terms.self_reference else 1.0
    # Doubled before it is halved: half the smallest subnormal of float64 is 0 in float64.
    rounding = gain * terms.output.unit_roundoff * size + max(gain * eta, gain * terms.output.min_subnormal / 2)
    multiple = deviation_multiple(size.numel())
    if spread is None:
        tolerance, worst_case = rounding, 2 * rounding
    else:
        steps = multiple * spread.deviation
        tolerance = rounding + gain * steps
        explained = 2 * steps
        if spread.worst is not None:
            explained = torch.maximum(explained, spread.worst)
        if spread.operand is not None:
            explained = torch.maximum(explained, multiple * spread.operand)
        worst_case = rounding + gain * explained
    return Bound(
        rounding=rounding, tolerance=tolerance, worst_case=worst_case, exact=False, text=_words(terms, multiple, eta)
    )


def licensed(
    bound: Bound, expected: torch.Tensor, native: torch.Tensor, actual: torch.Tensor, low: torch.Tensor | None = None
) -> Bound:
    """`bound` for an open kind, whose amber reaches as far as the framework or steps in half precision license.

    Nothing is declared about where such an operator rounds in between. A framework that rounds its intermediates to
    half precision shows what is usual: LICENCE times its largest error in the same row, beyond the one rounding to the
    output dtype that is granted anyway; but never more than LICENCE_CAP tolerances or what steps in half precision
    explain, so that a bad framework kernel licenses nothing. Where the framework keeps its steps wide, an operator of
    single steps is still no worse than those steps make it: errors that look like theirs are licensed by them.

    Args:
        bound: the bound so far.
        expected: float64 reference.
        native: float64 copy of the framework's result at its own precision, same shape.
        actual: float64 copy of the operator's result, same shape.
        low: standard deviation of the reference with every step in half precision; None where that is not known.
    """
    error = torch.nan_to_num((native - expected).abs(), nan=0.0, posinf=0.0, neginf=0.0)
    inside = (error - bound.rounding).clamp_min_(0.0)
    row = inside.amax(-1, keepdim=True) if inside.ndim and inside.numel() else inside
    cap = LICENCE_CAP * bound.tolerance
    multiple = deviation_multiple(expected.numel())
    steps = None if low is None else bound.rounding + multiple * low
    licence = torch.minimum(bound.rounding + LICENCE * row, cap if steps is None else torch.maximum(cap, steps))
    text = f"{bound.text}; amber as the framework's own error licenses, at most {LICENCE_CAP:g} x the tolerance"
    if low is not None and steps is not None:
        text += f" or {multiple:.1f}*sigma of steps in half precision"
        if _looks_like_noise(actual - expected, expected, low):
            licence = torch.maximum(licence, bound.rounding + 2 * multiple * low)
            text += f", {2 * multiple:.1f} where the errors look like theirs"
    return replace(bound, worst_case=torch.maximum(bound.worst_case, licence), text=text)


def _looks_like_noise(error: torch.Tensor, expected: torch.Tensor, deviation: torch.Tensor) -> bool:
    """Errors of about that standard deviation, which do not lean to one side: a wrong factor makes all rows too large
    or too small. Elements of a row may share what they are made of, so that rows are what is counted."""
    usable = torch.isfinite(error) & torch.isfinite(deviation) & (deviation > 0)
    units = torch.where(usable, error / deviation, torch.zeros_like(error))
    if not bool(usable.any()) or float(units.square().sum() / usable.sum()) > ROOT_MEAN_SQUARE**2:
        return False
    away = units * expected.sign()
    rows = away.mean(-1) if away.ndim > 1 else away
    return abs(float(rows.mean())) <= COHERENCE / math.sqrt(rows.numel())


def deviation_multiple(elements: int) -> float:
    """lambda for an output of `elements` elements."""
    return max(MIN_LAMBDA, math.sqrt(2 * math.log(max(elements, 1) / FALSE_ALARMS_PER_OUTPUT)))


def _overridden(size: torch.Tensor, contract: Contract) -> Bound:
    atol, rtol = contract.atol or 0.0, contract.rtol or 0.0
    tolerance = atol + rtol * size
    return Bound(
        rounding=torch.zeros_like(size),
        tolerance=tolerance,
        worst_case=tolerance,
        exact=False,
        text=f"overridden by the contract: atol={atol:g} + rtol={rtol:g} * |y|",
    )


def _words(terms: BoundTerms, multiple: float, eta: float) -> str:
    text = (
        f"{terms.kind}: u_o*|y| + eta + {multiple:.1f}*sigma; u_o=2^-{terms.output.precision} ({terms.output.name}), "
        f"eta={eta:.2g}, sigma from {terms.compute.name} steps and {terms.accumulate.name} sums"
    )
    flush = "; subnormals may flush to zero" if terms.flushes else ""
    doubled = "; doubled, the reference works in the same precision" if terms.self_reference else ""
    operand = f", {multiple:.1f}*sigma of rounded operands" if terms.kind is Kind.AUTO else ""
    worst = f"; worst case: max({2 * multiple:.1f}*sigma, all roundings of a sum conspiring{operand}) for the last term"
    return text + flush + doubled + worst
