"""Many tries of one case, some to a worker.

Decides that a process makes at most so many of them: what an operator does to its process must not decide whether a
failure shows again. Deliberately does not know what a try came to; who asked does, and says when it is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from opsdebug_ci.execution.lane import Lane
from opsdebug_ci.execution.lost_device import alone_if_lost
from opsdebug_ci.model import Observation
from opsdebug_ci.model.message import Describe, RunCase

TRIES_PER_WORKER = 5
"""Tries after which a worker is replaced by a fresh one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Tries that belong together."""

    key: str
    """What the caller knows them by."""

    requests: tuple[RunCase, ...]
    """One per try, in order."""

    more: Callable[[], bool]
    """Asked before each try, from any thread: whether there is to be another."""

    seen: Callable[[Observation], None]
    """Told of each try as it ends, from any thread."""


def batches(series: Series) -> tuple[Series, ...]:
    """The parts of a series that one worker makes."""
    return tuple(
        Series(
            key=series.key,
            requests=series.requests[start : start + TRIES_PER_WORKER],
            more=series.more,
            seen=series.seen,
        )
        for start in range(0, len(series.requests), TRIES_PER_WORKER)
    )


def make_tries(lane: Lane, batch: Series, operators: Describe) -> int:
    """Make the tries of one batch in a fresh worker; how many there were."""
    made = 0
    for request in batch.requests:
        if not batch.more():
            break
        if made == 0:
            lane.renew()
        batch.seen(alone_if_lost(partial(lane.about, request.case, request, Observation, operators), lane.retire))
        made += 1
    return made
