"""Output elements nobody wrote, or computed from memory nobody wrote."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause


def uninitialised(subject: Subject) -> Iterator[Finding]:
    """Fires when output elements follow whatever fresh memory is filled with. Silent when they do not."""
    count, computed = subject.observation.unwritten, subject.observation.from_scratch
    if count:
        were, they = ("was", "it follows") if count == 1 else ("were", "they follow")
        if computed == count:
            what = f"{were} computed from memory nobody wrote: {they} the fill of fresh memory"
        else:
            what = f"{were} never written: {they} the fill of fresh memory"
            what += f"; {computed:,} of them through a computation" if computed else ""
        evidence: Evidence = {"unwritten": count, "from_scratch": computed}
        yield subject.finding(Cause.UNINITIALISED, 0.96, f"{quantity(count, 'output element')} {what}", evidence)
