"""Output elements nobody wrote."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause


def uninitialised(subject: Subject) -> Iterator[Finding]:
    """Fires when output elements keep whatever fresh memory is filled with. Silent when all are written."""
    count = subject.observation.unwritten
    if count:
        were, they = ("was", "it follows") if count == 1 else ("were", "they follow")
        statement = f"{quantity(count, 'output element')} {were} never written: {they} the fill of fresh memory"
        yield subject.finding(Cause.UNINITIALISED, 0.96, statement, {"unwritten": count})
