"""Bytes around a tensor were overwritten."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause


def oob_write(subject: Subject) -> Iterator[Finding]:
    """Fires when bytes of a storage outside the tensor changed. Silent about the tensor's own elements."""
    for reading in subject.observation.memory:
        if not reading.inside:
            side = "before" if reading.first_offset < 0 else "past or between"
            were = "was" if reading.bytes_changed == 1 else "were"
            statement = (
                f"{quantity(reading.bytes_changed, 'byte')} {side} the elements of `{reading.argument}` {were} "
                f"overwritten, first at byte {reading.first_offset:,} from its first element"
            )
            evidence: Evidence = {
                "argument": reading.argument,
                "bytes": reading.bytes_changed,
                "offset": reading.first_offset,
            }
            yield subject.finding(Cause.OOB_WRITE, 0.97, statement, evidence)
