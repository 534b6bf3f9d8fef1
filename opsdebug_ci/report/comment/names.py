"""Names of operators and causes in a sentence.

Decides how many are named and how long each may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

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


def with_causes(failures: Iterable[tuple[str, str]], most: int = NAMED) -> str:
    """`gelu (hang), softmax (tail_mask and 2 x exception) and 3 more`: each operator once, what is left out by failure.

    Args:
        failures: operator and cause of each.
        most: operators that are named.
    """
    causes: dict[str, Counter[str]] = {}  # in one pass: a stranger's run may have thousands
    for operator, cause in failures:
        causes.setdefault(operator, Counter())[cause] += 1
    named = list(causes.items())[:most]
    hidden = sum(found.total() for found in list(causes.values())[most:])
    words = [f"{name(operator)} ({listed([_times(*each) for each in found.items()])})" for operator, found in named]
    return f"{', '.join(words)} and {hidden:,} more" if hidden else listed(words, most)


def _times(cause: str, count: int) -> str:
    times = f"{count:,} x " if count > 1 else ""
    return f"{times}{md_text(cause, NAME_LIMIT)}"
