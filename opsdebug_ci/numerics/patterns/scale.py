"""Bad elements that are the reference times one number.

Decides the number and, where it has one, its name. Deliberately leaves factors that differ per row to `argument_use`
and `block_scale`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.constants import Constant, constants
from opsdebug_ci.numerics.patterns.fit import BadElements, bad_elements, varied

NEAR = 0.02
"""Largest share of |factor - 1| by which a named constant may miss it; else any constant near 1 would do."""

SMALLEST = 1e-140
"""Least tolerance: its square can still be inverted."""

EVERYWHERE = 0.98
"""Share of elements a wrong factor would show on that are bad: the factor is everywhere, not in some place."""


def scale(failure: Failure) -> Iterator[Clue]:
    """Fires when the bad elements are q times the reference, to q times the tolerance, q by weighted least squares.

    Fitted: FITTING of them, and at most a hundredth of the error's energy stays. Silent about q = 0 and where the
    reference hardly varies. A q with a name is `wrong_constant_eps`, without one `wrong_scale`, -1 is `sign_flip`;
    less sure where only some place has it. Rivals: `row_tail` for such places, `argument_use`.
    """
    seen = bad_elements(failure)
    if seen is None or not varied(seen.expected.abs()):
        return
    factor = _fitted(seen)
    if not math.isfinite(factor) or factor == 0 or not seen.fits(factor * seen.expected, max(1.0, abs(factor))):
        return
    spread = _uncertainty(failure, seen, factor)
    named = next((one for one in constants(failure) if _is(factor, one.value, spread)), None)
    everywhere = _everywhere(failure, factor)
    count = int(torch.count_nonzero(failure.bad))
    statement = f"the {count:,} bad elements are {factor:.6g} times the reference"
    statement += _meaning(named) + ("" if everywhere else "; the others are right as they are")
    evidence: dict[str, EvidenceValue] = {
        "factor": factor,
        "uncertainty": spread,
        "bad": count,
        "of": failure.bad.numel(),
    }
    yield failure.clue("scale", *_cause(named, everywhere), statement, evidence)


def _meaning(named: Constant | None) -> str:
    if named is None:
        return ", a number without a name"
    return f" (= {named.name})" + (f": {named.meaning}" if named.meaning else "")


def _cause(named: Constant | None, everywhere: bool) -> tuple[Cause, float]:
    if named is None:
        return Cause.WRONG_SCALE, 0.8 if everywhere else 0.6
    if named.cause is Cause.SIGN_FLIP:
        return named.cause, 0.9 if everywhere else 0.82
    return named.cause, 0.88 if everywhere else 0.75


def _weights(seen: BadElements) -> torch.Tensor:
    """Inverse variances up to a constant: what rounding does is proportional to the tolerance."""
    return seen.allowed.clamp(min=SMALLEST).pow(-2)


def _fitted(seen: BadElements) -> float:
    """Slope through 0 by weighted least squares."""
    weights = _weights(seen)
    return float((weights * seen.actual * seen.expected).sum() / (weights * seen.expected.square()).sum())


def _uncertainty(failure: Failure, seen: BadElements, factor: float) -> float:
    """Relative: four standard errors of the slope, and four roundoffs for the constant's own rounding."""
    weights = _weights(seen)
    residual = (weights * (seen.actual - factor * seen.expected).square()).sum()
    slope = math.sqrt(float(residual / (weights * seen.expected.square()).sum()) / len(seen)) / abs(factor)
    return 4 * (slope + failure.compute.unit_roundoff)


def _is(factor: float, constant: float, uncertainty: float) -> bool:
    gap = abs(factor - constant)
    return gap <= uncertainty * abs(constant) and gap <= NEAR * abs(factor - 1)


def _everywhere(failure: Failure, factor: float) -> bool:
    """Whether nearly all elements on which the factor would show are bad."""
    if failure.tolerance is None:
        shows = failure.expected != 0
    else:
        shows = (factor - 1) * failure.expected.abs().double() if factor > 1 else (1 - factor) * failure.expected.abs()
        shows = shows > 2 * failure.tolerance
    total = int(torch.count_nonzero(shows))
    return int(torch.count_nonzero(shows & failure.bad)) >= EVERYWHERE * total
