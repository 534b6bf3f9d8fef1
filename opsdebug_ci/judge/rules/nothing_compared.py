"""An output without elements: only its shape and dtype could be compared."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Blame, Cause, Status

_AT_FAULT = (Status.RAN, Status.RAISED, Status.CRASHED, Status.TIMED_OUT)


def nothing_compared(subject: Subject) -> Iterator[Finding]:
    """Fires for each output without elements: only its shape and dtype were compared. Silent when it has some."""
    for output in subject.observation.outputs:
        if output.accuracy is None or output.accuracy.compared:
            continue
        shape, dtype = output.actual.shape, output.actual.dtype
        what = "has no elements" if 0 in shape else "had no comparable element"
        statement = f"`{output.name}` {what}: only shape {list(shape)} and dtype {dtype} were compared"
        evidence: Evidence = {"output": output.name, "compared": 0, "shape": str(list(shape)), "dtype": dtype}
        yield subject.finding(Cause.EMPTY_OR_ZERO_DIM, 0.2, statement, evidence, blame=Blame.INPUT)
