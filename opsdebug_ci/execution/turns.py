"""In which order cases are handed out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from opsdebug_ci.model import Case


def take_turns(cases: Iterable[Case]) -> list[Case]:
    """Operators take turns, each in its given order, so that a slow one does not come before all the others."""
    waiting: dict[str, deque[Case]] = {}
    for case in cases:
        waiting.setdefault(case.operator, deque()).append(case)
    turns = []
    while waiting:
        turns += [pending.popleft() for pending in waiting.values()]
        waiting = {operator: pending for operator, pending in waiting.items() if pending}
    return turns
