"""Elements beyond their bounds that are as right as the reference's."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject, share_text
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Blame, Cause


def unspecified(subject: Subject) -> Iterator[Finding]:
    """Fires where evaluations that are equal in exact arithmetic differ, so nothing is specified. Silent elsewhere."""
    for output in subject.observation.outputs:
        if output.unspecified and output.accuracy is not None:
            statement = (
                f"`{output.name}`: {share_text(output.unspecified, output.accuracy.compared)} differ from "
                f"`{output.used}` where right evaluations do (special values, the range of the precision, a border "
                "that is crossed, the framework's own rounding); not held against the operator"
            )
            evidence: Evidence = {"output": output.name, "unspecified": output.unspecified}
            yield subject.finding(Cause.UNKNOWN, 0.2, statement, evidence, blame=Blame.INPUT)
