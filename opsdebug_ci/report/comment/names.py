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
    words = [(f"{name(operator)} ({_causes(found)})", found.total()) for operator, found in causes.items()]
    return _few(words, most)


def _causes(found: Counter[str]) -> str:
    each = [(f"{count:,} x {cause}" if count > 1 else cause, count) for cause, count in found.items()]
    return _few([(md_text(words, NAME_LIMIT), count) for words, count in each], NAMED)


def _few(words: Sequence[tuple[str, int]], most: int) -> str:
    """The first of them; of the rest, how many failures they stand for."""
    shown, hidden = [word for word, _ in words[:most]], sum(count for _, count in words[most:])
    return f"{', '.join(shown)} and {hidden:,} more" if hidden else listed(shown, most)
