"""Properties beyond values: what holds, or does not, between launches rather than between an output and a reference.

Decides which properties there are and what the worker may say of them. Deliberately no verdict: the judge knows which
of them a contract promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Word


class Property(Word):
    """What is asked of an operator besides right values."""

    FRESH_INPUTS = "fresh_inputs"
    """Other inputs give other outputs, whatever address, object or version the inputs have."""
    LATER_LAUNCHES = "later_launches"
    """The same inputs give the same outputs later on, with other inputs in between."""
    OTHER_SEEDS = "other_seeds"
    """Random generators seeded otherwise give the same outputs, where no reference draws from them."""
    OWN_WORK = "own_work"
    """No reference is entered while the operator runs."""
    BATCH_INVARIANCE = "batch_invariance"
    """One row alone gives the bits it has among others."""
    OPCHECK = "opcheck"
    """`torch.library.opcheck` accepts a custom operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyReading:
    """One property of one operator, as one case showed it."""

    property: Property
    """Which one."""

    compared: int
    """What was looked at: elements; references for `own_work`; tests for `opcheck`. Never 0."""

    broken: int
    """How many of them contradict the property; 0: it holds."""

    evidence: Mapping[str, EvidenceValue]
    """The numbers and names behind it."""
