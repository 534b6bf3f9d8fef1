"""The operator raised."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import EvidenceValue, Finding
from opsdebug_ci.model.observation import ExceptionFacts
from opsdebug_ci.model.vocabulary import Cause, Status

MESSAGE_LENGTH = 160
"""Characters of the exception's message a statement quotes."""


def exception(subject: Subject) -> Iterator[Finding]:
    """Fires when the operator's own call raised. Silent when inputs or a reference did."""
    if subject.observation.status is not Status.RAISED:
        return
    facts = subject.observation.exception
    statement = f"the operator raised {exception_text(facts)}" if facts else "the operator raised an exception"
    yield subject.finding(Cause.EXCEPTION, 0.8, statement, exception_evidence(facts))


def exception_text(facts: ExceptionFacts) -> str:
    """`ValueError: message` on one line, and the place in the person's code, else the innermost frame."""
    message = " ".join(facts.message.split())
    shown = message if len(message) <= MESSAGE_LENGTH else message[: MESSAGE_LENGTH - 1] + "…"
    place = facts.place or next(reversed(facts.frames), None)
    where = f" (at {place})" if place else ""
    return f"{facts.type}: {shown}{where}" if shown else f"{facts.type}{where}"


def exception_evidence(facts: ExceptionFacts | None) -> dict[str, EvidenceValue]:
    """Type, message and innermost frame, by name."""
    if facts is None:
        return {}
    return {
        "exception": facts.type,
        "message": facts.message,
        "frame": facts.frames[-1] if facts.frames else None,
    }
