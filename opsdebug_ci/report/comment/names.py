"""Names of operators and causes in a sentence.

Decides how many are named and how long each may be.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.publication import FailureKey
from opsdebug_ci.report.escape import md_text

NAMED = 3
"""Operators that a sentence names; whoever wants all of them reads the list."""

NAME_LIMIT = 60
"""Characters of a name inside a sentence."""


def name(operator: str) -> str:
    """An operator in a sentence."""
    return md_text(operator, NAME_LIMIT)


def listed(words: Sequence[str], most: int = NAMED) -> str:
    """`a`, `a and b`, `a, b and 3 more`."""
    hidden = len(words) - most
    if hidden > 0:
        return f"{', '.join(words[:most])} and {hidden:,} more"
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def with_cause(key: FailureKey) -> str:
    """`softmax (tail_mask)`."""
    return f"{name(key.operator)} ({md_text(key.cause, NAME_LIMIT)})"
