"""A clue: what one rule of the worker read off a failure's own tensors, or off the launches it made to tell.

Decides what the worker may say about a cause. Deliberately no finding: the judge ranks clues beside its own rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Blame, Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Clue:
    """Cause, confidence, blame and the numbers that speak for it."""

    rule: str
    """Rule that says so: the name of its module."""

    cause: Cause
    """Named root cause."""

    confidence: float
    """0 to 1: how sure the rule is; docs/causes.md has the scale."""

    output: str
    """Output it was read off."""

    statement: str
    """One sentence with numbers, without the name of the output."""

    evidence: Mapping[str, EvidenceValue]
    """The numbers behind the statement, by name."""

    blame: Blame = Blame.OPERATOR
    """Whom it holds responsible."""
