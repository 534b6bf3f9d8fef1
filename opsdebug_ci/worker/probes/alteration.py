"""One way to alter a reference, and how it is told.

Decides the words: what the operator does instead, by which ratio, and what else would look the same. Runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants import Alternative
from opsdebug_ci.numerics.variants.explanation import Explanation

EVERYWHERE = -1
"""Stands for the place of an alteration made at every call it fits."""

RESULT = "the result"
"""Stands for the name of an argument in an alteration of what the reference returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """One way to alter the reference."""

    name: str
    """Name of the alternative."""

    rule: str = ""
    """Rule that lists it; empty for arguments."""

    argument: str | None = None
    """Argument it replaces, or RESULT; None: it replaces the result of a call."""

    operation: str = ""
    """Name of the call whose result it replaces; empty: any it fits."""

    call: int = EVERYWHERE
    """Which call of that name, counted from 0."""

    where: str = ""
    """Which of several such calls, in words; empty where there is one, and for arguments."""

    besides: tuple[Alteration, ...] = ()
    """What is altered together with it."""

    @property
    def parts(self) -> tuple[Alteration, ...]:
        """It, and what is altered with it, each alone."""
        return (replace(self, besides=()), *self.besides)


def together(statements: Sequence[str]) -> str:
    """What several alterations are, as one sentence; the same end is said once: `x`, `y` and the result are in ...."""
    parts = [re.split(r" is (read|written) ", each, maxsplit=1) for each in statements]
    if len(parts) > 1 and len(parts[0]) == 3 and {each[-1] for each in parts} == {parts[0][2]}:
        *subjects, last = [each[0] for each in parts]
        verb = f"{parts[0][1]} " if len({each[1] for each in parts}) == 1 else ""
        return f"{', '.join(subjects)} and {last} are {verb}{parts[0][2]}"
    return ", and ".join(statements)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An alteration and what it would mean."""

    alteration: Alteration
    """What to alter."""

    alternative: Alternative
    """What it is called and evidence of."""

    call: str = ""
    """Name of the call; empty for arguments."""


def by_zero(candidate: Candidate) -> bool:
    """Whether it divides by nothing where the reference does not."""
    counts = candidate.alternative.counts
    return counts is not None and counts[0] == 0


def said(explanation: Explanation, candidate: Candidate) -> str:
    """`the divisor of the variance is n-1 = 249, not n = 250 (outputs off by a ratio of 0.9980 = sqrt(249/250))`."""
    words = candidate.alternative.statement
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
