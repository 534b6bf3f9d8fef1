"""Error pattern to cause, from the tensors of one failing output alone: the rules, in one list.

Adding one: a module here with one function, a line in PATTERNS, a planted defect and a clean twin in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.numerics.failure import Failure

Pattern = Callable[[Failure], Iterable[Clue]]
"""Yields nothing when it has nothing to say. Its docstring gives its statistic, its threshold and its rivals."""

PATTERNS: tuple[Pattern, ...] = ()
"""Every rule that needs nothing but the tensors."""


def patterns(failure: Failure) -> list[Clue]:
    """What every rule says of `failure`, most probable first."""
    found = [clue for pattern in PATTERNS for clue in pattern(failure)]
    return sorted(found, key=lambda clue: -clue.confidence)
