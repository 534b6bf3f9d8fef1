"""What the worker's own rules read off the tensors and off extra launches."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding


def clues(subject: Subject) -> Iterator[Finding]:
    """Hands on every clue of the worker, as sure as it is. Silent when the worker found none."""
    for clue in subject.observation.clues:
        evidence: Evidence = {"output": clue.output, "rule": clue.rule, **clue.evidence}
        statement = f"`{clue.output}`: {clue.statement}"
        yield subject.finding(clue.cause, clue.confidence, statement, evidence, blame=clue.blame)
