"""What is tried, and what a trial can come to.

Decides the interface between the minimiser and whoever runs candidates. Deliberately runs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from opsdebug_ci.failures.shrinking.values import Values
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.vocabulary import Word


class Outcome(Word):
    """What one trial came to, seen from the failure that is shrunk."""

    SAME = "same"
    """It fails for the same cause."""
    PASSES = "passes"
    OTHER = "other"
    """It fails for another cause: a finding of its own, never followed."""
    INVALID = "invalid"
    """It lies outside the operator's domain: it was skipped, or its inputs or references broke."""
    UNSETTLED = "unsettled"
    """Nothing can be said: inconclusive, out of time, or our own worker broke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of a candidate, judged."""

    outcome: Outcome
    """What it came to."""

    finding: str = ""
    """Names the other cause, for `other`; equal names are one finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something to run: a case, and the values it runs on."""

    case: Case
    """Dims, layout, dtype, family, seed and checks."""

    values: Values | None = None
    """Kept values; None: made from the case."""

    @property
    def key(self) -> str:
        """Equal for candidates that would run alike."""
        kept = "" if self.values is None else self.values.table.digest
        return hashlib.sha256(f"{self.case.id} {kept}".encode()).hexdigest()[:24]


TrialFunction = Callable[[Candidate], Trial]
"""Runs a candidate once."""
