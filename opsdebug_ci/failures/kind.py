"""What happened to a failing case, in one word.

Decides by facts that every case of a defect shows, in a fixed order: how the process ended, then memory, then launches
that differ, then values. Deliberately not by the named cause, which may change with the time there was to look for it.
"""

from __future__ import annotations

from opsdebug_ci.model import FAILING_VERDICTS, Cause, Judgement, Observation, Role, Side, Status, Verdict
from opsdebug_ci.model.device_fault import context_lost
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.vocabulary import Access, Zone

OUT_OF_BOUNDS = ("oob_write", "scratch_oob", "oob_read")
"""Kinds that concern bytes of nobody's."""

MEMORY = (*OUT_OF_BOUNDS, "input_mutated", "uninit_output", "alias", "layout_change")
"""Kinds read off bytes: they say what is wrong whatever the values are, in every dtype."""

VALUES = ("nan_appear", "inf_appear", "special_lost", "mismatch")
"""Kinds read off the outputs' values."""

MEMORY_SIGNALS = ("crash:SIGSEGV", "crash:SIGBUS", "crash:SIGABRT", "crash:SIGTRAP")
"""Crashes of which one defect may show several: broken memory, and allocators that notice it."""

_NON_FINITE = ("nan", "+inf", "-inf")


def kind_of(judgement: Judgement) -> str:
    """The kind of a failing case."""
    observation = judgement.observation
    if observation.status is not Status.RAN:
        return _ending(observation)
    return (
        _memory_kind(observation)
        or _launches_kind(judgement)
        or _structure_kind(observation)
        or _values_kind(judgement)
    )


def failed(judgement: Judgement) -> bool:
    """Whether a case has a failure to be identified."""
    return judgement.verdict in FAILING_VERDICTS and bool(judgement.findings)


def bad_output(observation: Observation) -> OutputReading | None:
    """The first output that is wrong: which one is worst varies with the values."""
    wrong = (o for o in observation.outputs if o.rejected or (o.accuracy is not None and o.accuracy.zone is Zone.RED))
    odd = (o for o in observation.outputs if o.actual != o.expected)
    return next(wrong, next(odd, None))


def _ending(observation: Observation) -> str:
    process, raised = observation.process, observation.exception
    if observation.status is Status.TIMED_OUT:
        return "timeout"
    if observation.status is Status.OUT_OF_MEMORY:
        return "oom"
    if raised is not None:
        return "device_sticky" if context_lost(raised.type, raised.message) else f"exception:{raised.type}"
    return f"crash:{process.signal if process is not None and process.signal else 'exit'}"


def _memory_kind(observation: Observation) -> str:
    """What every case shows comes before what pages caught, since they are watched for one case of many."""
    outside = [reading for reading in observation.memory if not reading.inside]
    facts = (
        ("oob_write", any(reading.role is not Role.SCRATCH for reading in outside)),
        ("scratch_oob", bool(outside)),
        ("input_mutated", any(reading.inside for reading in observation.memory)),
        ("uninit_output", observation.unwritten > 0),
        ("oob_read", bool(observation.reads)),
        *((kind, _paged(observation, kind)) for kind in ("oob_write", "input_mutated", "oob_read")),
    )
    return next((name for name, holds in facts if holds), "")


def _paged(observation: Observation, kind: str) -> bool:
    """Watched pages caught an access of this kind."""
    for fault in observation.pages:
        inside = fault.side is Side.INSIDE
        found = "oob_read" if fault.access is Access.READ else "input_mutated" if inside else "oob_write"
        if found == kind:
            return True
    return False


def _launches_kind(judgement: Judgement) -> str:
    """Launches that differ: only where that is held against the operator, which the judge's findings tell.

    What a rule guesses from the values alone, that several writers met in a row, says nothing of other launches.
    """
    racing = any(f.cause is Cause.NONDETERMINISM_RACE and "rule" not in f.evidence for f in judgement.findings)
    return "nondeterministic" if racing else ""


def _structure_kind(observation: Observation) -> str:
    if observation.structure is not None or any(o.actual != o.expected for o in observation.outputs):
        return "structure"
    if bad_output(observation) is not None:
        return ""
    broken = [reading.property for reading in observation.properties if reading.broken]
    facts = (
        ("alias", bool(observation.aliases)),
        ("layout_change", bool(observation.layout_changes)),
        (f"property:{broken[0]}" if broken else "", bool(broken)),
    )
    return next((name for name, holds in facts if holds), "")


def _values_kind(judgement: Judgement) -> str:
    """`nan_appear` before `inf_appear` before `special_lost`: an infinity may become NaN one step later."""
    cells = [
        (cell.expected, cell.actual)
        for output in judgement.observation.outputs
        if output.accuracy is not None
        for cell in output.accuracy.class_mismatches
    ]
    if any(actual == "nan" for _, actual in cells):
        return "nan_appear"
    if any(actual in _NON_FINITE for _, actual in cells):
        return "inf_appear"
    if any(expected in _NON_FINITE for expected, _ in cells):
        return "special_lost"
    return "timeout" if judgement.verdict is Verdict.TIMEOUT else "mismatch"
