"""The inputs, the references or the tool broke: never the operator's fault."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.exception import exception_evidence, exception_text
from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Blame, Cause, Status

_BROKEN = {
    Status.INPUTS_BROKEN: ("the inputs could not be made", Blame.INPUT),
    Status.REFERENCE_BROKEN: ("no reference could answer", Blame.REFERENCE),
    Status.WORKER_BROKEN: ("the worker broke", Blame.RUNTIME),
}


def breakage(subject: Subject) -> Iterator[Finding]:
    """Fires when the inputs, all references or the worker broke. Silent when the operator ran or ended the process."""
    observation = subject.observation
    if observation.status not in _BROKEN:
        return
    what, blame = _BROKEN[observation.status]
    facts = observation.exception
    why = observation.reason or (exception_text(facts) if facts else "no reason was recorded")
    cause = Cause.EXCEPTION if facts else Cause.UNKNOWN
    yield subject.finding(cause, 0.9, f"{what}: {why}", exception_evidence(facts), blame=blame)
