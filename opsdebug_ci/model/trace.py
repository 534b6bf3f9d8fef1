"""A traced case: the steps of an operator against those of its references.

Decides what the worker measures for `opsdebug trace`. Deliberately draws no verdict about the operator: a step is read
by the bounds an output of its own would have.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.accuracy import ClassMismatch
from opsdebug_ci.model.attribution import Split
from opsdebug_ci.model.health import HealthEvent, StepSource
from opsdebug_ci.model.memory import LayoutChange
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Zone


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the operator beside the same step of the best reference."""

    name: str
    """Name of the checkpoint, call or output; `name #2` the second time."""

    source: StepSource
    """Where it was seen."""

    shape: tuple[int, ...]
    """Shape in the operator."""

    dtype: str
    """Dtype in the operator."""

    unpaired: str | None = None
    """Why it was not compared; None when it was."""

    max_abs_err: float | None = None
    """Largest |actual - expected| where both are finite."""

    units: float | None = None
    """Largest error in units of u*|y|, u the unit roundoff of the step's dtype; None for integers."""

    ratio: float | None = None
    """Largest error in units of the step's tolerance."""

    worst_index: tuple[int, ...] | None = None
    """Where the error is largest relative to the tolerance."""

    actual: float | None = None
    """Operator there; None when not finite."""

    expected: float | None = None
    """Reference there; None when not finite."""

    compared: int = 0
    """Elements compared."""

    bad: int = 0
    """Elements beyond the tolerance, or of a wrong class."""

    zone: Zone | None = None
    """Worst zone of any element; None: not judged, since nothing says how far correct steps lie apart."""

    classes: tuple[ClassMismatch, ...] = ()
    """Disallowed pairs of number classes."""

    split: Split | None = None
    """What separates its bad elements from its good ones; None when there are not both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """Which call spoils an output: with the reference's results up to this one it is right, without this one wrong."""

    output: str
    """Name of the output."""

    step: str
    """Name of the call."""

    replaced: int
    """Calls whose results were the reference's when it came right, this one the last."""

    shared: int
    """Calls with which operator and reference both begin."""

    alone: bool
    """It is right too with the result of this call alone replaced."""

    launches: int
    """Launches of the operator it took, those for outputs before it included."""

    place: str | None = None
    """`file:line` in the user's code; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTrace:
    """Answer to `TraceCase`."""

    case_id: str
    """Which case."""

    observation: Observation
    """What happened when it ran: status `ran` when it could be traced."""

    reference: str | None = None
    """What the steps were compared with, in words."""

    steps: tuple[Step, ...] = ()
    """In the order of the operator."""

    health: tuple[HealthEvent, ...] = ()
    """Unhealthy steps in order; only in mode `health`."""

    looked_at: int = 0
    """Steps whose health was looked at."""

    layouts: tuple[LayoutChange, ...] = ()
    """Arguments that lie otherwise in memory after a `step`; checkpoints, where no step is named, that lie otherwise in
    the operator (`after`) than in the reference (`before`)."""

    bisections: tuple[Bisection, ...] = ()
    """One per wrong output that could be bisected; only where that was asked for."""

    notes: tuple[str, ...] = ()
    """What a reader must know: no checkpoints, marks without a partner, where the calls part."""
