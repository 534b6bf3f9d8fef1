"""An argument was written, or turned into another tensor, that the contract does not list."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.guarded import moment
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
                f"{moment(reading.step, reading.place)}"
            )
            evidence: Evidence = {
                "argument": reading.argument,
                "bytes": reading.bytes_changed,
                "offset": reading.first_offset,
                "wanted_hex": reading.wanted_hex,
                "found_hex": reading.found_hex,
                "step": reading.step,
                "place": reading.place,
            }
            yield subject.finding(Cause.INPUT_MUTATED, 0.95, statement, evidence)


def layout_changed(subject: Subject) -> Iterator[Finding]:
    """Fires when an argument has another shape, stride, offset, storage or dtype than before, undeclared.

    Silent about what the contract lists: `out` may be resized.
    """
    for change in subject.observation.layout_changes:
        statement = (
            f"the {change.field} of argument `{change.tensor}` was {change.before} and is {change.after} after the "
            f"call, although `Contract.mutates` does not list it{moment(change.step, None)}"
        )
        evidence: Evidence = {
            "argument": change.tensor,
            "field": change.field,
            "before": change.before,
            "after": change.after,
        }
        yield subject.finding(Cause.INPUT_MUTATED, 0.95, statement, evidence)
