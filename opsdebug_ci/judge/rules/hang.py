"""The case did not finish in time."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.ending import blamed_for_ending
from opsdebug_ci.judge.rules.crash import phase_text, process_evidence
from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause, Status


def hang(subject: Subject) -> Iterator[Finding]:
    """Fires when the time limit ended the case; the last breadcrumb says in which step. Silent otherwise."""
    observation = subject.observation
    if observation.status is not Status.TIMED_OUT:
        return
    process = observation.process
    where = "" if process is None else f" {phase_text(process)}"
    where += "" if process is None or process.place is None else f" (at {process.place})"
    why = f": {observation.reason}" if observation.reason else ""
    yield subject.finding(
        Cause.HANG,
        0.8,
        f"did not finish within the time limit{where}{why}",
        process_evidence(process),
        blame=blamed_for_ending(observation),
    )
