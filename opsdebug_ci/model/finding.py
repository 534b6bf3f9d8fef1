"""A finding: one statement about an observation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from opsdebug_ci.model.vocabulary import Blame, Cause

EvidenceValue = Union[str, int, float, bool, None]
"""What one piece of evidence may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Cause, confidence, blame, evidence, next command."""

    cause: Cause
    """Named root cause."""

    confidence: float
    """0 to 1: how sure the rule is."""

    blame: Blame
    """Whom it holds responsible."""

    statement: str
    """One sentence with numbers."""

    evidence: Mapping[str, EvidenceValue]
    """The numbers behind the statement, by name."""

    next: str
    """Command to run next."""
