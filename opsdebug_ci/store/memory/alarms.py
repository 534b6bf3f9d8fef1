"""What the store remembers of our own false alarms: controls, and which way verdicts went.

Decides which rows count, by the same rule as `model.controls` for one run. Deliberately not what the counts say.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from opsdebug_ci.model.controls import UNTOLD, ControlCount
from opsdebug_ci.model.speed import Comparing, SpeedVerdict
from opsdebug_ci.store.places.marker import is_store
from opsdebug_ci.store.sql.query import query

_CONTROLS = """
    with told as (
        select c.run_id, c.verdict = ? as alarm, c.complete and c.contaminated is null as believed
        from comparisons c join runs r on r.id = c.run_id
        where c.why = ? and not list_contains(?::varchar[], c.verdict)
          and (?::varchar is null or r.machine_key = ?)
    )
    select count(*) filter (where alarm), count(*)
    from told where believed or run_id in (select run_id from told where alarm)
"""

_DIRECTIONS = """
    select count(distinct (case_id, base_commit, "commit")) filter (where verdict = ?),
           count(distinct (case_id, base_commit, "commit")) filter (where verdict = ?)
    from comparisons where why = ? and contaminated is null
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directions:
    """Which way the verdicts on changes went; the same two commits count once per series."""

    regressed: int
    """Called regressed."""

    faster: int
    """Called faster."""


def alarm_counts(location: str | os.PathLike[str], machine_key: str | None = None) -> ControlCount:
    """Controls of every stored run.

    Args:
        location: the store; one that does not exist yet has none.
        machine_key: machine they ran on; None: any.
    """
    if not is_store(location):
        return ControlCount(alarms=0, of=0)
    untold = [verdict.value for verdict in UNTOLD]
    values = (SpeedVerdict.REGRESSED.value, Comparing.CONTROL.value, untold, machine_key, machine_key)
    ((alarms, of),) = query(location, _CONTROLS, values).rows
    return ControlCount(alarms=int(str(alarms)), of=int(str(of)))


def directions(location: str | os.PathLike[str]) -> Directions:
    """Verdicts on changes in every stored run; none without a store."""
    if not is_store(location):
        return Directions(regressed=0, faster=0)
    values = (SpeedVerdict.REGRESSED.value, SpeedVerdict.FASTER.value, Comparing.CHANGE.value)
    ((regressed, faster),) = query(location, _DIRECTIONS, values).rows
    return Directions(regressed=int(str(regressed)), faster=int(str(faster)))
