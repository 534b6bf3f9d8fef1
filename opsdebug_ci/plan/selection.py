"""Which operators: names or globs, as typed.

Decides what a pattern means. Deliberately keeps the order of discovery, whatever the order of the patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.description import OperatorDescription


def select(descriptions: Sequence[OperatorDescription], patterns: Sequence[str]) -> tuple[OperatorDescription, ...]:
    """The operators whose names match any of `patterns`; all of them when there are no patterns.

    Raises:
        UsageError: a pattern matches nothing; names every such pattern at once.
    """
    wanted = select_names([description.name for description in descriptions], patterns)
    return tuple(description for description in descriptions if description.name in wanted)


def select_names(names: Sequence[str], patterns: Sequence[str]) -> frozenset[str]:
    """The names that match any of `patterns`, all of them when there are none; raises as `select` does."""
    missed = [pattern for pattern in patterns if not any(_matches(name, pattern) for name in names)]
    if missed:
        raise _nothing_matches(missed, names)
    return frozenset(name for name in names if matches_any(name, patterns))


def matches_any(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name is among those of `patterns`; all are when there are none."""
    return not patterns or any(_matches(name, pattern) for pattern in patterns)


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or (is_glob(pattern) and fnmatchcase(name, pattern))


def is_glob(pattern: str) -> bool:
    """Whether `pattern` may stand for several operators."""
    return any(character in pattern for character in "*?[")


def _nothing_matches(missed: Sequence[str], names: Sequence[str]) -> UsageError:
    close = {pattern: get_close_matches(pattern, names, n=3) for pattern in missed if not is_glob(pattern)}
    lines = [
        f"no operator matches `{pattern}`"
        + (f"; did you mean {' or '.join(f'`{name}`' for name in close[pattern])}?" if close.get(pattern) else "")
        for pattern in missed
    ]
    available = ", ".join(sorted(names)[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")
    return UsageError(
        "; ".join(lines),
        next_step=f"pick from the {len(names)} available: {available}"
        if names
        else "no operator was found: check `operators` in the configuration",
    )


SHOWN_NAMES = 12
"""Names listed in the message, so that it stays one screen."""
