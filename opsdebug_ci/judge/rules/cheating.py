"""Results that do not come from the inputs, and launches that stop working."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.promises import broken
from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.repeat import MORE_LAUNCHES
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.property import Property, PropertyReading
from opsdebug_ci.model.vocabulary import Cause


def stale_result(subject: Subject) -> Iterator[Finding]:
    """Fires when other inputs gave, bit for bit, the outputs of the launch before. Silent where they tell nothing."""
    for reading in broken(subject.observation, Property.FRESH_INPUTS):
        where, constant = reading.evidence["where"], bool(reading.evidence.get("constant"))
        statement = (
            f"`{reading.evidence['output']}`: on other values, {where}, {reading.broken:,} of "
            f"{quantity(reading.compared, 'element')} that had to change kept every bit of the launch before: the "
            f"result does not come from the inputs' values{', it is one value throughout' if constant else ''}"
        )
        evidence: Evidence = {**reading.evidence, "unchanged": reading.broken, "compared": reading.compared}
        yield subject.finding(Cause.CHEATING, 0.6 if constant else 0.95, statement, evidence)


def lost_work(subject: Subject) -> Iterator[Finding]:
    """Fires when a later launch on the same inputs gave zeros, raised, or gave other bits. Silent where all agree."""
    for reading in broken(subject.observation, Property.LATER_LAUNCHES):
        evidence: Evidence = {**reading.evidence, "differing": reading.broken, "compared": reading.compared}
        yield _lost(subject, reading, evidence)


def _lost(subject: Subject, reading: PropertyReading, evidence: Evidence) -> Finding:
    facts = reading.evidence
    if "raised" in facts:
        statement = f"a later launch on the same inputs raised {facts['raised']}: {facts['message']}"
        return subject.finding(Cause.EXCEPTION, 0.85, statement, evidence, options=MORE_LAUNCHES)
    if facts["zero"]:
        statement = (
            f"`{facts['output']}`: a later launch on the same inputs gave zeros for all that was none at first: the "
            "work is skipped after some launches"
        )
        return subject.finding(Cause.CHEATING, 0.93, statement, evidence, options=MORE_LAUNCHES)
    statement = (
        f"`{facts['output']}`: {quantity(reading.broken, 'element')} changed bits in a later launch on the same "
        "inputs, with other inputs in between, although the contract promises `deterministic=True`"
    )
    return subject.finding(Cause.NONDETERMINISM_RACE, 0.8, statement, evidence, options=MORE_LAUNCHES)
