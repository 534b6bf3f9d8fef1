"""Which broken properties are broken promises, and which exceptions are not.

Decides from the worker's readings and the contract. Deliberately not the cause: rules name it.
"""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.property import Property, PropertyReading
from opsdebug_ci.model.vocabulary import Empty, Refusal


def broken(observation: Observation, which: Property) -> Iterator[PropertyReading]:
    """Readings that contradict a property."""
    return (reading for reading in observation.properties if reading.property is which and reading.broken)


def breaks_promise(reading: PropertyReading, contract: Contract) -> bool:
    """Whether an operator with this reading fails.

    Entering a reference is none: an operator may honestly fall back to it. Of what `opcheck` says, only an undeclared
    write is, and an undeclared alias unless the contract allows it.
    """
    if not reading.broken:
        return False
    if reading.property is Property.BATCH_INVARIANCE:
        return contract.batch_invariant
    if reading.property is Property.OPCHECK:
        undeclared = reading.evidence.get("undeclared")
        return undeclared == "mutation" or (undeclared == "aliasing" and not contract.may_alias)
    if reading.property is Property.OTHER_SEEDS:
        return contract.deterministic
    return reading.property in (Property.FRESH_INPUTS, Property.LATER_LAUNCHES)


def excuses(observation: Observation, contract: Contract) -> bool:
    """Whether what the operator raised holds nothing against it; on empty inputs the contract may say otherwise."""
    strict = observation.refusal is Refusal.EMPTY and contract.empty == Empty.FAIL
    return observation.refusal is not None and not strict
