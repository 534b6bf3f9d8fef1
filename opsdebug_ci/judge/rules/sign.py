"""The right magnitude with the wrong sign."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject, index_text, share_text, value_text
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.vocabulary import Cause

OPPOSITE = -0.999
"""Cosine from which the whole output points the other way: 1 - |cos| is half the squared relative error."""


def sign_flip(subject: Subject) -> Iterator[Finding]:
    """Fires when the worst element is minus the reference within its tolerance. Silent where that is also zero."""
    for output in subject.observation.outputs:
        if output.rejected and _flipped(output):
            yield _finding(subject, output)


def _flipped(output: OutputReading) -> bool:
    worst = output.accuracy.worst if output.accuracy is not None else None
    if worst is None or worst.actual is None or worst.expected is None or worst.tolerance is None:
        return False
    return abs(worst.actual + worst.expected) <= worst.tolerance < abs(worst.expected)


def _finding(subject: Subject, output: OutputReading) -> Finding:
    accuracy = output.accuracy
    assert accuracy is not None and accuracy.worst is not None  # noqa: S101 - `_flipped` has looked
    worst, dtype = accuracy.worst, output.actual.dtype
    everywhere = accuracy.cosine is not None and accuracy.cosine <= OPPOSITE
    statement = (
        f"`{output.name}`: {share_text(output.rejected, accuracy.compared)} are wrong, and the worst, at "
        f"{index_text(worst.index)}, is the negative of the reference: got {value_text(worst.actual, dtype)}, "
        f"wanted {value_text(worst.expected, dtype)}" + (", as the whole output seems to be" if everywhere else "")
    )
    evidence: Evidence = {
        "output": output.name,
        "rejected": output.rejected,
        "compared": accuracy.compared,
        "cosine": accuracy.cosine,
        "actual": worst.actual,
        "expected": worst.expected,
    }
    return subject.finding(Cause.SIGN_FLIP, 0.95 if everywhere else 0.6, statement, evidence)
