"""Other bits on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause

MORE_LAUNCHES = ("--repeat", "10")
"""Ten launches show an every-other-launch race with probability 1 - 2**-9."""


def nondeterminism(subject: Subject) -> Iterator[Finding]:
    """Fires when two launches differ and the contract promises they do not. Silent when it promises nothing."""
    count = subject.observation.repeat_mismatches
    if count and subject.contract.deterministic:
        statement = (
            f"{quantity(count, 'output element')} changed {'its' if count == 1 else 'their'} bits between two launches "
            "on the same inputs, although the contract promises `deterministic=True`"
        )
        evidence: Evidence = {"repeat_mismatches": count}
        confidence = 0.6 if subject.observation.unwritten else 0.9
        yield subject.finding(Cause.NONDETERMINISM_RACE, confidence, statement, evidence, options=MORE_LAUNCHES)
