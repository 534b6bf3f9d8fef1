"""One row alone has other bits than among others."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.promises import broken
from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.property import Property
from opsdebug_ci.model.vocabulary import Cause


def batch_invariance(subject: Subject) -> Iterator[Finding]:
    """Fires when the first row's bits depend on the number of rows. Silent unless the contract promises otherwise."""
    if not subject.contract.batch_invariant:
        return
    for reading in broken(subject.observation, Property.BATCH_INVARIANCE):
        facts = reading.evidence
        statement = (
            f"`{facts['output']}`: {quantity(reading.broken, 'element')} of the first row alone (`{facts['dim']}` = 1) "
            f"{'differs' if reading.broken == 1 else 'differ'} in bits, by at most {facts['largest']:.3g}, from the "
            f"same row among {facts['rows']}, although the contract promises `batch_invariant=True`: the order of "
            "summation depends on the number of rows"
        )
        evidence: Evidence = {**facts, "differing": reading.broken, "compared": reading.compared}
        yield subject.finding(Cause.ACCUMULATION_ORDER, 0.9, statement, evidence)
