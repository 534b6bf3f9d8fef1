"""The worker process died."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.ending import blamed_for_ending, surfaced_later
from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import EvidenceValue, Finding
from opsdebug_ci.model.observation import ProcessFacts
from opsdebug_ci.model.vocabulary import Cause, Phase, Status

LOG_LENGTH = 500
"""Last characters of the worker's log kept as evidence."""


_WHILE = {
    Phase.DISCOVER: "while operators were loaded",
    Phase.INPUTS: "while inputs were made",
    Phase.FUNCTION: "while the operator ran",
    Phase.REFERENCE: "while the reference ran",
    Phase.COMPARE: "while outputs were compared",
    Phase.PROBE: "while the cause was looked for",
}
"""What was going on, in a reader's words."""


def crash(subject: Subject) -> Iterator[Finding]:
    """Fires when a case ended its worker. Silent for timeouts and the memory limit."""
    observation = subject.observation
    if observation.status is not Status.CRASHED:
        return
    blame = blamed_for_ending(observation)
    process = observation.process
    if process is None:
        yield subject.finding(Cause.CRASH_SEGFAULT, 0.5, "the worker process died", {}, blame=blame)
        return
    at = "" if process.place is None else f" (at {process.place})"
    statement = f"the process died of {_manner(process)} {phase_text(process)}{at}"
    confidence = 0.8
    if surfaced_later(observation):
        statement += ", after the operator had run: most likely it overwrote memory, less likely that step is at fault"
        confidence = 0.5
    yield subject.finding(Cause.CRASH_SEGFAULT, confidence, statement, process_evidence(process), blame=blame)


def phase_text(process: ProcessFacts) -> str:
    """`while the operator ran (detail)`."""
    return _WHILE[process.phase] + (f" ({process.detail})" if process.detail else "")


def process_evidence(process: ProcessFacts | None) -> dict[str, EvidenceValue]:
    """How the process ended, by name."""
    if process is None:
        return {}
    return {
        "signal": process.signal,
        "exit_code": process.exit_code,
        "phase": str(process.phase),
        "detail": process.detail,
        "place": process.place,
        "log_tail": process.log_tail[-LOG_LENGTH:],
    }


def _manner(process: ProcessFacts) -> str:
    if process.signal == "SIGKILL":
        return "SIGKILL (often the system's answer to too much memory)"
    if process.signal is not None:
        return process.signal
    return f"its own exit with status {process.exit_code}"
