"""An argument was written that the contract does not list."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause


def input_mutated(subject: Subject) -> Iterator[Finding]:
    """Fires when elements of an argument changed that the contract does not list. Silent about bytes around it."""
    for reading in subject.observation.memory:
        if reading.inside:
            statement = (
                f"argument `{reading.argument}` was written ({quantity(reading.bytes_changed, 'byte')}, first "
                f"at offset {reading.first_offset:,}) although `Contract.mutates` does not list it"
            )
            evidence: Evidence = {
                "argument": reading.argument,
                "bytes": reading.bytes_changed,
                "offset": reading.first_offset,
            }
            yield subject.finding(Cause.INPUT_MUTATED, 0.95, statement, evidence)
