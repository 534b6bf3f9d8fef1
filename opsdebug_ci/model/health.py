"""Unhealthy values inside one run of an operator: which step lets them appear, pass or vanish."""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.vocabulary import Word


class StepSource(Word):
    """Where a step was seen."""

    CHECKPOINT = "checkpoint"
    CALL = "call"
    """An ATen call, where operator and reference make the same ones."""
    LAUNCH = "launch"
    """A launch of a compiled kernel."""
    OUTPUT = "output"


class Flow(Word):
    """What became of unhealthy values in a step."""

    APPEAR = "appear"
    PROPAGATE = "propagate"
    DISAPPEAR = "disappear"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthEvent:
    """A step of the operator with unhealthy values: NaN, infinities, magnitudes above the limit."""

    position: int
    """Which step, from 0, of all that were looked at."""

    name: str
    """Checkpoint or ATen call."""

    source: StepSource
    """Where it was seen."""

    flow: Flow
    """What became of them here."""

    shape: tuple[int, ...]
    """Shape of its result."""

    dtype: str
    """Dtype of its result."""

    nan: int
    """NaN in the result."""

    infinite: int
    """Infinities in the result."""

    over_limit: int
    """Finite elements of the result above the limit in magnitude."""

    first_index: tuple[int, ...] | None
    """First unhealthy element of the result; None: it has none."""

    legal: bool
    """The reference has as many of each kind at the same step."""

    sampled: int | None = None
    """Elements looked at; None: all of them."""

    place: str | None = None
    """`file:line` in the user's code; None: not known."""
