"""No reference was there to compare with."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Blame, Cause, Status


def no_reference(subject: Subject) -> Iterator[Finding]:
    """Fires when the operator ran and no reference answered, none of them for a fault. Silent otherwise."""
    readings = subject.observation.references
    if subject.observation.status is not Status.RAN or any(r.answered or r.fault for r in readings):
        return
    reasons = "; ".join(f"`{r.reference}`: {r.reason}" for r in readings if r.reason)
    statement = "nothing to compare with: no reference answered" + (f" ({reasons})" if reasons else "")
    yield subject.finding(Cause.UNKNOWN, 0.9, statement, {"references": len(readings)}, blame=Blame.REFERENCE)
