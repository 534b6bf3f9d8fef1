"""The operator cost the process its device, or suffered from another case that had."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.exception import exception_evidence, exception_text
from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.device_fault import context_lost
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Blame, Cause, Status


def lost_device(subject: Subject) -> Iterator[Finding]:
    """Fires when the operator raised an error after which its device context is lost, alone in a process too."""
    observation = subject.observation
    raised = observation.exception
    if observation.status is not Status.RAISED or raised is None or not context_lost(raised.type, raised.message):
        return
    alone = " Alone in a fresh process it does so too." if observation.rerun is not None else ""
    statement = f"the operator lost the device: {exception_text(raised)}.{alone}"
    yield subject.finding(Cause.CRASH_SEGFAULT, 0.9, statement.rstrip("."), exception_evidence(raised))


def suffered(subject: Subject) -> Iterator[Finding]:
    """Remarks that the first process of a case had lost its device, and that the case is fine alone."""
    observation = subject.observation
    if observation.rerun is None or observation.status is Status.RAISED:
        return
    statement = f"{observation.rerun}; alone in a fresh process it did not"
    yield subject.finding(
        Cause.CRASH_SEGFAULT, 0.3, statement, {"first_process": observation.rerun}, blame=Blame.RUNTIME
    )
