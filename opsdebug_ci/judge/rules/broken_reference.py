"""One reference broke while others answered."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Blame, Cause


def broken_reference(subject: Subject) -> Iterator[Finding]:
    """Fires for each reference that should have answered and did not. Silent for an absent one."""
    for reading in subject.observation.references:
        if reading.fault and not reading.answered:
            statement = f"reference `{reading.reference}` broke: {reading.reason or 'no reason was recorded'}"
            evidence: Evidence = {"reference": str(reading.reference), "derived": reading.derived}
            yield subject.finding(Cause.EXCEPTION, 0.9, statement, evidence, blame=Blame.REFERENCE)
