"""Stored times of every series on one machine, run by run: what a history is made of.

Decides which runs are in it: stages of `opsdebug ci` on an unmodified work tree, outside pull requests and merge
groups. Of those only launches of the code under test count, not of the arms it was compared with, nor profiles, which
are one process each, nor what other tools recorded. Throttled and contaminated runs are handed out with a mark, so that
whoever leaves them out can count them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from opsdebug_ci.store.memory.recording import RECORD
from opsdebug_ci.store.places.marker import is_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.tables.timings import HEAD, NOT_LAUNCHED

MOST_RUNS = 400
"""Newest runs of a machine that are read: more than a year of nights."""

_LAUNCHED = f"arm = '{HEAD}' and round not in ({', '.join(map(repr, NOT_LAUNCHED))})"

OF_HISTORY = f"{RECORD} and id in (select run_id from timings where {_LAUNCHED})"  # noqa: S608 - our own words
"""Condition over `runs`: a record of its commit in which the code under test was timed."""

_SERIES = f"""
    with chosen as (
        select id, "commit", started_at,
               list_filter(performance.comparison.arms, lambda a: a.name = ?)[1].tree as tree
        from runs
        where machine_key = ? and {OF_HISTORY}
        order by started_at desc, id desc limit ?
    ),
    launched as (
        select distinct run_id, case_id, round, launch, min_ns, throttled, contaminated, device
        from timings where {_LAUNCHED} and min_ns is not null
    ),
    timed_probes as (
        select run_id, device, probe, size_bytes, min(list_min(samples_ns))::double as ns
        from calibrations where len(samples_ns) > 0 group by all
    ),
    probed as (
        select run_id, device, list(struct_pack(probe := probe, size_bytes := size_bytes, ns := ns)
                                    order by probe, size_bytes) as probes
        from timed_probes group by run_id, device
    )
    select case_id, id, "commit", coalesce(tree, ''), started_at, list(min_ns order by round, launch),
           bool_or(coalesce(throttled, false)), bool_or(coalesce(contaminated, false)), any_value(probes)
    from chosen join launched on launched.run_id = id
         left join probed on probed.run_id = id and probed.device = launched.device
    group by case_id, id, "commit", tree, started_at
    order by case_id, started_at, id
"""  # noqa: S608 - our own condition

# NOTE: what is accepted on a pull request says nothing of the default branch, whose runs these are: it may stay away.
_ACCEPTED = """
    select operator, max(accepted_at) from in_force(?::timestamptz)
    where fingerprint is null and pull_request is null group by operator
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTime:
    """What one probe took in a run."""

    probe: str
    """Its name, e.g. `memcpy`."""

    size_bytes: int
    """Its size."""

    ns: float
    """Shortest repetition, of the fastest dtype where there are several; ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRun:
    """One series in one stored run."""

    run_id: str
    """Which run."""

    commit: str
    """Full hash of the commit under test; empty outside git."""

    tree: str
    """Hash of its tree; empty where it was not recorded."""

    started_at: datetime
    """When the run started; UTC."""

    minima_ns: tuple[float, ...]
    """Minimum of every launch; ns per call."""

    probes: tuple[ProbeTime, ...]
    """Probes of the device it ran on, by name and size; empty: none were recorded."""

    throttled: bool
    """The clocks were held down in at least one launch."""

    contaminated: bool
    """The run's controls say that its comparisons cannot be trusted."""


def stored_series(location: str | os.PathLike[str], machine_key: str) -> Mapping[str, tuple[SeriesRun, ...]]:
    """Case id -> its runs on that machine, oldest first; empty without a store.

    Args:
        location: the store.
        machine_key: its key; times of others may not be compared with those.
    """
    if not is_store(location):
        return {}
    given = (HEAD, machine_key, MOST_RUNS)
    found: dict[str, list[SeriesRun]] = {}
    for case_id, *cells in query(location, _SERIES, given).rows:
        found.setdefault(str(case_id), []).append(_read_run(cells))
    return {case_id: tuple(runs) for case_id, runs in found.items()}


def accepted_levels(location: str | os.PathLike[str], now: datetime) -> Mapping[str, datetime]:
    """Operator -> when a person last accepted by hand how fast it was, unless that lapsed; empty without a store."""
    if not is_store(location):
        return {}
    rows = query(location, _ACCEPTED, (now,)).rows
    return {str(operator): at for operator, at in rows if isinstance(at, datetime)}


def _read_run(cells: Sequence[object]) -> SeriesRun:
    run_id, commit, tree, started_at, minima, throttled, contaminated, probes = cells
    assert isinstance(started_at, datetime)  # noqa: S101 - column `started_at` is an instant
    assert isinstance(minima, list)  # noqa: S101 - list() makes one
    return SeriesRun(
        run_id=str(run_id),
        commit=str(commit),
        tree=str(tree),
        started_at=started_at,
        minima_ns=tuple(map(float, minima)),
        probes=tuple(ProbeTime(**probe) for probe in probes) if isinstance(probes, list) else (),
        throttled=bool(throttled),
        contaminated=bool(contaminated),
    )
