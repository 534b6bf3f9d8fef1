"""Other bits on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.promises import broken
from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.hunt import HuntReading
from opsdebug_ci.model.property import Property
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.model.wilson import wilson

MORE_LAUNCHES = ("--repeat", "10")
"""Ten launches show an every-other-launch race with probability 1 - 2**-9."""


def nondeterminism(subject: Subject) -> Iterator[Finding]:
    """Fires when two launches differ and the contract promises they do not. Silent when it promises nothing."""
    observation = subject.observation
    count, hunt = observation.repeat_mismatches, observation.hunt
    if not subject.contract.deterministic or not (count or (hunt is not None and hunt.raised)):
        return
    evidence: Evidence = {"repeat_mismatches": count}
    said = "between two launches on the same inputs"
    options = MORE_LAUNCHES
    if hunt is not None and hunt.odd:
        evidence = {**evidence, "launches": hunt.launches, "odd": hunt.odd, "distinct": hunt.distinct}
        said = hunt_text(hunt)
        options = ("--repeat", str(hunt.launches))
    changed = (
        f"{quantity(count, 'output element')} changed {'its' if count == 1 else 'their'} bits "
        if count
        else "the operator failed "
    )
    statement = f"{changed}{said}, although the contract promises `deterministic=True`"
    yield subject.finding(
        Cause.NONDETERMINISM_RACE, 0.6 if observation.unwritten else 0.9, statement, evidence, options=options
    )


def unseeded(subject: Subject) -> Iterator[Finding]:
    """Fires when outputs follow random generators that no reference draws from, and the contract promises the same
    bits on every launch. Silent when it promises nothing."""
    if not subject.contract.deterministic:
        return
    for reading in broken(subject.observation, Property.OTHER_SEEDS):
        whose = "its" if reading.broken == 1 else "their"
        statement = (
            f"{quantity(reading.broken, 'output element')} changed {whose} bits with "
            "the seed of the process's random generators, which the operator draws from and its reference does not, "
            "although the contract promises `deterministic=True`"
        )
        evidence: Evidence = {**reading.evidence, "differing": reading.broken, "compared": reading.compared}
        yield subject.finding(Cause.NONDETERMINISM_RACE, 0.9, statement, evidence)


def hunt_text(hunt: HuntReading) -> str:
    """`in 3 of 1,000 launches on the same inputs (0.3 %, 95 %: 0.102 to 0.878 %), first in launch 412`."""
    rate = wilson(hunt.odd, hunt.launches)
    share, low, high = (f"{100 * value:.3g}" for value in (hunt.odd / hunt.launches, rate.low, rate.high))
    raised = f", {hunt.raised} of them by an exception" if hunt.raised else ""
    launches = quantity(hunt.launches, "launch", "launches")
    return (
        f"in {hunt.odd:,} of {launches} on the same inputs ({share} %, 95 %: {low} to {high} %), "
        f"first in launch {hunt.first_odd or 0:,}{raised}"
    )
