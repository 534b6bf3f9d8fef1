"""Outputs that share memory with what the caller holds."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause, Role


def aliasing(subject: Subject) -> Iterator[Finding]:
    """Fires when an output lies in an argument's memory or in another output's, undeclared and unlike the reference.

    Never more than a remark: the values are right, until somebody writes one of the two.
    """
    for reading in subject.observation.aliases:
        other = f"argument `{reading.other}`" if reading.role is Role.INPUT else f"output `{reading.other}`"
        statement = (
            f"`{reading.output}` shares {quantity(reading.bytes_shared, 'byte')} with {other}, which the reference's "
            "does not: writing either changes both, and the contract does not say `may_alias=True`"
        )
        evidence: Evidence = {
            "output": reading.output,
            "other": reading.other,
            "role": str(reading.role),
            "bytes": reading.bytes_shared,
        }
        yield subject.finding(Cause.ALIASING_INPLACE, 0.6, statement, evidence)
