"""One way to alter a reference, and how it is told.

Decides the words: what the operator does instead, by which ratio, and what else would look the same. Runs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants import Alternative
from opsdebug_ci.numerics.variants.explanation import Explanation

EVERYWHERE = -1
"""Stands for the place of an alteration made at every call it fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """One way to alter the reference."""

    name: str
    """Name of the alternative."""

    argument: str | None = None
    """Argument it replaces; None: it replaces the result of a call."""

    call: int = EVERYWHERE
    """Which call, counted from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An alteration and what it would mean."""

    alteration: Alteration
    """What to alter."""

    alternative: Alternative
    """What it is called and evidence of."""

    where: str = ""
    """Which of several such calls, in words; empty where there is one, and for arguments."""

    call: str = ""
    """Name of the call; empty for arguments."""


def as_well(candidate: Candidate, rival: tuple[Explanation, Candidate] | None) -> str:
    """What else gives an output of nothing but NaN and infinities."""
    if not by_zero(candidate) or rival is None or not rival[0].complete:
        return ""
    return f"; at this size so does another: {rival[1].alternative.statement}"


def by_zero(candidate: Candidate) -> bool:
    """Whether it divides by nothing where the reference does not."""
    counts = candidate.alternative.counts
    return counts is not None and counts[0] == 0


def said(explanation: Explanation, candidate: Candidate) -> str:
    """`the divisor of the variance is n-1 = 249, not n = 250 (outputs off by a ratio of 0.9980 = sqrt(249/250))`."""
    words = f"{candidate.alternative.statement}{candidate.where}"
    ratio, counts = explanation.ratio, candidate.alternative.counts
    if ratio is None or not (ratio.fraction(counts) or candidate.alternative.cause is Cause.WRONG_SCALE):
        return words  # one ratio by the values of this case, as of another eps
    return f"{words} (outputs off by a ratio of {ratio.told(counts)})"


def measured(explanation: Explanation) -> dict[str, EvidenceValue]:
    """The ratio as evidence; empty: there is none."""
    ratio = explanation.ratio
    if ratio is None:
        return {}
    return {"ratio": ratio.value, "ratio_measured": ratio.measured, "ratio_spread": ratio.spread}
