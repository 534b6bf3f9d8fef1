"""An output of another dtype than the reference's."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause


def wrong_dtype(subject: Subject) -> Iterator[Finding]:
    """Fires for each output of another dtype than the reference's. Silent about its values."""
    for output in subject.observation.outputs:
        got, wanted = output.actual.dtype, output.expected.dtype
        if got != wanted:
            statement = f"`{output.name}` has dtype {got}, wanted {wanted}"
            evidence: Evidence = {"output": output.name, "actual": got, "expected": wanted}
            yield subject.finding(Cause.DTYPE_PROMOTION, 0.95, statement, evidence)
