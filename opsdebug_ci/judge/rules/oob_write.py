"""Bytes around a tensor were overwritten."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.guarded import limit, moment
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.memory import MemoryReading
from opsdebug_ci.model.vocabulary import Cause, Side


def oob_write(subject: Subject) -> Iterator[Finding]:
    """Fires when bytes around a tensor's elements changed: beside its storage, or in it between its elements.

    Silent about the tensor's own elements.
    """
    for reading in subject.observation.memory:
        if not reading.inside:
            value = "" if reading.value is None else f", value {reading.value}"
            statement = (
                f"the operator wrote {quantity(reading.bytes_changed, 'byte')} {_where(reading)}{value}"
                f"{moment(reading.step, reading.place)}"
            )
            evidence: Evidence = {
                "argument": reading.argument,
                "role": str(reading.role),
                "side": str(reading.side),
                "bytes": reading.bytes_changed,
                "offset": reading.first_offset,
                "nearest_bytes": reading.nearest_bytes,
                "farthest_bytes": reading.farthest_bytes,
                "wanted_hex": reading.wanted_hex,
                "found_hex": reading.found_hex,
                "value": reading.value,
                "step": reading.step,
                "place": reading.place,
                "limit": limit(subject),
            }
            yield subject.finding(Cause.OOB_WRITE, 0.97, statement, evidence)


def _where(reading: MemoryReading) -> str:
    nearest = quantity(reading.nearest_bytes, "byte")
    if reading.side is Side.TAIL:
        return f"behind `{reading.argument}` (nearest {nearest} past its end)"
    if reading.side is Side.HEAD:
        return f"before `{reading.argument}` (nearest {nearest} before its beginning)"
    offset = f"first at byte {reading.first_offset:,} from its first element"
    return f"between or around the elements of `{reading.argument}`, in its own storage ({offset})"
