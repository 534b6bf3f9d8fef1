"""What `plan` is told of the event that started this run."""

from __future__ import annotations

from opsdebug_ci.github.event import Event
from opsdebug_ci.plan.baseline_commit import Trigger


def trigger_of(event: Event, changed: str | None = None) -> Trigger:
    """Facts of the event by which a baseline commit is chosen.

    Args:
        event: what started this run.
        changed: what the person compares with; counts outside CI only, where no event says it.
    """
    return Trigger(
        event=event.name,
        head_commit=event.head_commit,
        base_commit=event.base_commit if event.name else changed or "",
        base_branch=event.base_branch,
        default_branch=event.default_branch,
        on_default_branch=bool(event.name) and event.recording,
    )
