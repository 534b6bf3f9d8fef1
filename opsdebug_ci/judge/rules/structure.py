"""Outputs of another number or type than the reference's."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause


def structure(subject: Subject) -> Iterator[Finding]:
    """Fires when the outputs differ from the reference's in number or type. Silent about shape and dtype."""
    difference = subject.observation.structure
    if difference is not None:
        yield subject.finding(Cause.UNKNOWN, 0.9, f"the outputs differ in structure: {difference}", {})
