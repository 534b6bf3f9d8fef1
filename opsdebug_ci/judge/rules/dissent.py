"""The references do not agree with each other."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.reference import dissent_text, dissenters, outvoted
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.observation import OutputReading, Vote
from opsdebug_ci.model.vocabulary import Blame, Cause, Confidence


def dissent(subject: Subject) -> Iterator[Finding]:
    """Fires for each reference whose disagreement lowers the verdict. Silent while confidence is at least medium."""
    for output in subject.observation.outputs:
        if output.disputed or output.confidence is Confidence.LOW:
            for vote in dissenters(output):
                yield _finding(subject, output, vote)


def _finding(subject: Subject, output: OutputReading, vote: Vote) -> Finding:
    statement = f"`{output.name}`: compared with `{output.used}`, {dissent_text(vote)}{_consequence(output, vote)}"
    evidence: Evidence = {
        "output": output.name,
        "used": str(output.used),
        "dissenting": str(vote.reference),
        "elements": vote.elements,
        "disagreement": vote.disagreement,
        "sides_with_operator": vote.sides_with_operator,
    }
    confidence = 0.8 if outvoted(output) else 0.5
    return subject.finding(Cause.UNKNOWN, confidence, statement, evidence, blame=Blame.REFERENCE)


def _consequence(output: OutputReading, vote: Vote) -> str:
    if outvoted(output):
        return f", which clears the operator: `{vote.reference}` is suspect"
    if vote.sides_with_operator:
        return f", and it accepts {quantity(vote.sides_with_operator, 'element')} which `{output.used}` rejects"
    return ": no verdict can rest on either"
