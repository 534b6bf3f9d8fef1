"""A reference was entered while the operator ran."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.promises import broken
from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.property import Property
from opsdebug_ci.model.vocabulary import Cause


def own_work(subject: Subject) -> Iterator[Finding]:
    """Fires for each reference the operator entered. Silent when operator and reference are one function.

    Never more than a remark: an operator may honestly fall back to a slow path that somebody also declared.
    """
    for reading in broken(subject.observation, Property.OWN_WORK):
        for reference, place in reading.evidence.items():
            statement = (
                f"the operator called reference `{reference}` ({place}) while it ran: agreeing with that reference "
                "proves little"
            )
            yield subject.finding(Cause.CHEATING, 0.5, statement, {"reference": reference, "place": place})
