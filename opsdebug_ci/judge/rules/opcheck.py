"""What `torch.library.opcheck` says of a custom operator."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.promises import breaks_promise, broken
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.property import Property
from opsdebug_ci.model.vocabulary import Cause

_UNDECLARED = {"mutation": Cause.INPUT_MUTATED, "aliasing": Cause.ALIASING_INPLACE}
"""What the schema test saw, and its cause."""


def undeclared_effect(subject: Subject) -> Iterator[Finding]:
    """Fires when the schema hides a write or an alias. Silent about aliases that the contract allows."""
    for reading in broken(subject.observation, Property.OPCHECK):
        kind = str(reading.evidence.get("undeclared"))
        if breaks_promise(reading, subject.contract):
            statement = f"`torch.library.opcheck` test_schema: {reading.evidence['test_schema']}"
            yield subject.finding(_UNDECLARED[kind], 0.9, statement, {"test": "test_schema", "undeclared": kind})


def opcheck(subject: Subject) -> Iterator[Finding]:
    """Fires for each other failed test, as a remark. Silent when all pass, and about what `undeclared_effect` says."""
    for reading in broken(subject.observation, Property.OPCHECK):
        fails = breaks_promise(reading, subject.contract)
        for test, line in reading.evidence.items():
            if test == "undeclared" or (fails and test == "test_schema"):
                continue
            evidence: Evidence = {"test": test, "failed": reading.broken, "tests": reading.compared}
            yield subject.finding(Cause.UNKNOWN, 0.4, f"`torch.library.opcheck` {test}: {line}", evidence)
