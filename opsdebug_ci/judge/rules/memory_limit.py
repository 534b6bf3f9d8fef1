"""The case needed more memory than it may use."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.ending import blamed_for_ending
from opsdebug_ci.judge.rules.crash import phase_text, process_evidence
from opsdebug_ci.judge.rules.exception import exception_evidence
from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause, Status


def memory_limit(subject: Subject) -> Iterator[Finding]:
    """Fires when memory ran out. The vocabulary names no cause for that: `exception` when one was raised."""
    observation = subject.observation
    if observation.status is not Status.OUT_OF_MEMORY:
        return
    where = f" {phase_text(observation.process)}" if observation.process else ""
    why = f": {observation.reason}" if observation.reason else ""
    yield subject.finding(
        Cause.EXCEPTION if observation.exception else Cause.UNKNOWN,
        0.8,
        f"ran out of memory{where}{why}",
        {**process_evidence(observation.process), **exception_evidence(observation.exception)},
        blame=blamed_for_ending(observation),
    )
