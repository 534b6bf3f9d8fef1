"""The health of one operator's run: a quick look at everything, and where that shows anything, a full one.

Decides what is legal: unhealthy values that the torch reference has at a like step, or in a like output. Deliberately
names no cause.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.dtype import compute_format
from opsdebug_ci.model.health import Flow, HealthEvent
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.trace import HealthWatch, Limits, Survey
from opsdebug_ci.worker.watched_runs import intercept_operator, listen_to_operator, watch_reference

ONLY_MARKS = "the operator does not run while its calls are watched: only its checkpoints were looked at"
"""Said of an operator that raises under a dispatch mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReading:
    """What a run showed."""

    events: tuple[HealthEvent, ...]
    """Unhealthy steps in order."""

    looked_at: int
    """Steps looked at."""

    notes: tuple[str, ...] = ()
    """What a reader must know."""

    @property
    def origin(self) -> HealthEvent | None:
        """The first step that lets NaN or infinities appear where the reference has none."""
        return next((event for event in self.events if is_origin(event)), None)


def is_origin(event: HealthEvent) -> bool:
    """Whether NaN or infinities appear here that the reference does not have."""
    return event.flow is Flow.APPEAR and not event.legal and bool(event.nan or event.infinite)


def survey_health(
    operator: Operator, arguments: Arguments, case: Case, limits: Limits, limit: int | None
) -> Survey | None:
    """A quick look at one launch; None when the operator does not run while it is watched."""
    survey = Survey(limits, case.id, limit)
    return survey if intercept_operator(operator, arguments, case, survey) is not None else None


def read_health(
    operator: Operator, arguments: Arguments, case: Case, limits: Limits, limit: int | None = None
) -> HealthReading:
    """A full look at one launch, and at the torch reference's steps for what is legal."""
    notes: tuple[str, ...] = ()
    watch = HealthWatch(limits, limit)
    if intercept_operator(operator, arguments, case, watch) is None:
        watch, notes = HealthWatch(limits, limit), (ONLY_MARKS,)
        listen_to_operator(operator, arguments, case, watch)
    events = tuple(watch.events)
    if events:
        wide = replace(limits, overflow=compute_format(case.dtype).max_finite)
        reference = HealthWatch(wide)
        watch_reference(operator, arguments, case, reference)
        known = Counter(_likeness(event) for event in reference.events)
        events = tuple(replace(event, legal=known[_likeness(event)] > 0) for event in events)
    return HealthReading(events=events, looked_at=watch.looked_at, notes=notes)


def _likeness(event: HealthEvent) -> tuple[str, tuple[int, ...], int, int]:
    """Where and what, without the scope and the count of the name: the reference takes its own way there."""
    return event.name.rsplit("/", 1)[-1].split(" #")[0], event.shape, event.nan, event.infinite
