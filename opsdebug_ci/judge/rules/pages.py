"""The processor caught an access to memory that is not the operator's."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.memory import PageFault
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Access, Cause, Side, Status

CAUGHT = 0.98
"""Confidence where the access itself is the defect: the processor stopped the very instruction."""

NEUTRAL = 0.7
"""That of a read that neither an output was seen to follow nor a process to die of: vector code may do so by design."""

_WHERE = {Side.TAIL: "behind the end of", Side.HEAD: "before the beginning of"}


def pages(subject: Subject) -> Iterator[Finding]:
    """Fires for every access that watched pages caught. Silent where none were watched, or none was touched."""
    for fault in subject.observation.pages:
        statement = f"{fault_text(fault)}{_seen_besides(fault, subject.observation)}"
        yield subject.finding(_cause(fault), _confidence(fault, subject.observation), statement, _evidence(fault))


def _seen_besides(fault: PageFault, observation: Observation) -> str:
    """What guard zones and outputs show of the same access: how much, and whose."""
    if fault.access is Access.WRITE:
        zones = [reading for reading in observation.memory if reading.side is fault.side and not reading.inside]
        return "".join(
            f"; {quantity(reading.bytes_changed, 'byte')} beside `{reading.argument}` changed, the nearest "
            f"{quantity(reading.nearest_bytes, 'byte')} away"
            for reading in zones[:1]
        )
    follow = [read for read in observation.reads if read.side is fault.side]
    return "".join(
        f"; {quantity(read.elements, 'element')} of `{read.output}` {'follows' if read.elements == 1 else 'follow'} it"
        for read in follow[:1]
    )


def fault_text(fault: PageFault) -> str:
    """`writes behind the end of a tensor at ops.py:20 in bad_store: ...`, one clause."""
    at = place_text(fault)
    line = "" if fault.source is None else f": `{fault.source}`"
    if fault.side is Side.INSIDE:
        what = "an argument" if fault.argument is None else f"argument `{fault.argument}`"
        return f"writes into {what} that the contract lets nobody write{at}{line} (dies when it can only be read)"
    unnamed = "a tensor of its own" if fault.own else "a tensor"
    whose = unnamed if fault.argument is None else f"`{fault.argument}`"
    how = "touched, not when they can be read" if fault.access is Access.READ else "written"
    return f"{fault.access}s {_WHERE[fault.side]} {whose}{at}{line} (dies when the pages there cannot be {how})"


def place_text(fault: PageFault) -> str:
    """` at ops.py:20 in bad_store`, of the person's own line or else the innermost; nothing when there is none."""
    own = [frame for frame in fault.frames if fault.place is not None and frame.startswith(f"{fault.place} ")]
    frame = next(reversed(own or fault.frames), None)
    if frame is None:
        return ""
    place, _, function = frame.rpartition(" ")
    return f" at {place.replace(chr(92), '/').rpartition('/')[2]} in {function}"


def _cause(fault: PageFault) -> Cause:
    if fault.side is Side.INSIDE:
        return Cause.INPUT_MUTATED
    return Cause.OOB_READ if fault.access is Access.READ else Cause.OOB_WRITE


def _confidence(fault: PageFault, observation: Observation) -> float:
    if fault.access is Access.WRITE or observation.reads:
        return CAUGHT
    wrote = any(other.access is Access.WRITE for other in observation.pages)
    return CAUGHT if observation.status is Status.CRASHED and not wrote else NEUTRAL


def _evidence(fault: PageFault) -> Evidence:
    return {
        "access": str(fault.access),
        "side": str(fault.side),
        "argument": fault.argument,
        "place": fault.place,
        "source": fault.source,
        "frame": fault.frames[-1] if fault.frames else None,
        "modes": ", ".join(fault.modes),
    }
