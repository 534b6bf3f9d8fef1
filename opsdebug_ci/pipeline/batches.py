"""The order in which the cases of a run are handed out, where an operator may have enough failures before its last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opsdebug_ci.model import Case


def batches(cases: Sequence[Case], size: int | None) -> list[list[Case]]:
    """All cases at once, or in each batch the next `size` of every operator."""
    if size is None:
        return [list(cases)]
    made: list[list[Case]] = []
    seen: Counter[str] = Counter()
    for case in cases:
        number = seen[case.operator] // size
        seen[case.operator] += 1
        made += [[] for _ in range(number + 1 - len(made))]
        made[number].append(case)
    return made
