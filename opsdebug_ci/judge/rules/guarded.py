"""Words that findings about guarded memory share."""

from __future__ import annotations

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Subject

BETWEEN = "between "
"""How a step begins that lies between two calls."""


def moment(step: str | None, place: str | None) -> str:
    """`, in step `aten.add #3` (ops.py:12)`; empty where neither is known."""
    if step is None:
        return "" if place is None else f", at {place}"
    where = f", {step}" if step.startswith(BETWEEN) else f", in step `{step}`"
    return where + (f" ({place})" if place else "")


def limit(subject: Subject) -> str | None:
    """What the guards cannot claim; None where nothing was guarded."""
    guard = subject.observation.guard
    if guard is None:
        return None
    if not guard.zone_bytes:
        return "writes outside the arguments are not seen"
    return f"writes further than {quantity(guard.zone_bytes, 'byte')} away are not seen"
