"""A case with a zero dim fails."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause, Status

_AT_FAULT = (Status.RAN, Status.RAISED, Status.CRASHED, Status.TIMED_OUT)


def zero_dim(subject: Subject) -> Iterator[Finding]:
    """Fires when a case with a zero dim fails: that is what sets it apart. Silent when every dim is positive."""
    if subject.zero_dims and subject.observation.status in _AT_FAULT:
        dims = ", ".join(f"{name}=0" for name in subject.zero_dims)
        statement = f"fails where {dims}: an empty tensor has nothing to launch on, and a sum over nothing is 0"
        yield subject.finding(Cause.EMPTY_OR_ZERO_DIM, 0.85, statement, {"zero dims": dims})
