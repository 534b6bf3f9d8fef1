"""Table `timings`: measured times, one row per launch of a comparison, one per profiled case, one per imported time.

Decides how all of them lie in the same columns, so that one query follows an operator's time whoever measured it:
`min_ns` and `median_ns` are there in all of ours, and in imported ones as far as their source tells. Times are real
numbers, because a call of a short kernel is averaged over the calls of a sample. Deliberately keeps of a launch what
the rule asks for, not its samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from opsdebug_ci.model import RunDocument
from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.model.profile_document import ProfileEntry
from opsdebug_ci.model.speed import Comparing, Comparison, ComparisonRun, LaunchTime, Round
from opsdebug_ci.store.case_columns import CASE_COLUMNS, case_cells
from opsdebug_ci.store.column import FLAG, INTEGER, REAL, TEXT, Column, Row, StoredRun, Table
from opsdebug_ci.store.imported_rows import IMPORTED, IMPORTED_COLUMNS, imported_cells, read_imported_time
from opsdebug_ci.store.profile_rows import (
    FLOOR_COLUMNS,
    PARTS_COLUMNS,
    PROFILE,
    WATCH_COLUMNS,
    profile_cells,
    read_profile,
)

HEAD = "head"
"""Arm of the code under test, which is what profiles time."""

NOT_LAUNCHED = (PROFILE, IMPORTED)
"""Values of `round` of rows that are no launch of a comparison."""

COLUMNS = (
    Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
    Column(name="position", type=INTEGER, comment="order of the rows of a run, from 0"),
    *CASE_COLUMNS,
    Column(
        name="round",
        type=TEXT,
        comment="screen or confirm: a launch of a comparison; profile: a profiled case; imported: of another tool",
    ),
    Column(name="why", type=TEXT, comment="change, control or ladder; null: a profile, or imported"),
    Column(
        name="comparison",
        type=INTEGER,
        comment="its row of `comparisons`: `comparisons.position`; null: a profile, or imported",
    ),
    Column(name="arm", type=TEXT, comment="head, base, base again (in a control), or the name of a rung of the ladder"),
    Column(name="commit", type=TEXT, comment="full hash of that arm; empty outside git; null: not recorded"),
    Column(
        name="base_commit",
        type=TEXT,
        comment="full hash of the arm compared with; null: a profile, imported, or not recorded",
    ),
    Column(name="dirty", type=FLAG, comment="the arm's work tree differed from its commit; null: not recorded"),
    Column(name="launch", type=INTEGER, comment="which fresh process of its round and arm, from 0"),
    Column(
        name="contaminated",
        type=FLAG,
        comment="the run's controls say that its comparisons cannot be trusted; null: imported",
    ),
    Column(
        name="min_ns",
        type=REAL,
        comment="shortest sample; null: it could not be timed, or it is imported and its source does not tell",
        unit="ns",
    ),
    Column(
        name="p10_ns", type=REAL, comment="tenth percentile of the samples; null: a profile, or imported", unit="ns"
    ),
    Column(name="median_ns", type=REAL, comment="median of the samples; null: as min_ns", unit="ns"),
    Column(name="samples", type=INTEGER, comment="number of samples; null: as min_ns"),
    Column(name="calls", type=INTEGER, comment="calls averaged in one sample", unit="calls"),
    Column(
        name="samples_ns",
        type=pa.list_(REAL),
        comment="every sample; null: a launch, whose samples are not kept, or imported without them",
        unit="ns",
    ),
    *IMPORTED_COLUMNS,
    *PARTS_COLUMNS,
    *FLOOR_COLUMNS,
    *WATCH_COLUMNS,
)


def rows(stored: StoredRun) -> Sequence[Row]:
    """Profiled cases in order, then the launches of every comparison and of every control, then imported times."""
    document = stored.document
    performance = document.performance
    if performance is None:
        return ()
    profiles = (_profile_row(entry, document) for entry in performance.profiles)
    launches = () if performance.comparison is None else _launch_rows(performance.comparison)
    imported = (_imported_row(time, document) for time in performance.imported)
    return [
        {"run_id": document.run.id, "position": position, **row}
        for position, row in enumerate((*profiles, *launches, *imported))
    ]


def read_profiles(stored: Sequence[Row]) -> tuple[ProfileEntry, ...]:
    """The profiled cases, in order."""
    return tuple(read_profile(row) for row in _ordered(stored) if row["round"] == PROFILE)


def read_launches(stored: Sequence[Row]) -> Mapping[int, tuple[LaunchTime, ...]]:
    """Position of a comparison -> its launches, in order."""
    found: dict[int, tuple[LaunchTime, ...]] = {}
    for row in _ordered(stored):
        if row["round"] not in NOT_LAUNCHED:
            found[row["comparison"]] = (*found.get(row["comparison"], ()), _read_launch(row))
    return found


def read_imported(stored: Sequence[Row]) -> tuple[ImportedTime, ...]:
    """The imported times, in order."""
    return tuple(read_imported_time(row) for row in _ordered(stored) if row["round"] == IMPORTED)


def _ordered(stored: Sequence[Row]) -> list[Row]:
    return sorted(stored, key=lambda row: int(row["position"]))


def _profile_row(entry: ProfileEntry, document: RunDocument) -> dict[str, Any]:
    return {
        **profile_cells(entry),
        "arm": HEAD,
        "launch": 0,
        "commit": document.run.commit,
        "dirty": document.run.revision.dirty,
        "contaminated": False,
    }


def _imported_row(time: ImportedTime, document: RunDocument) -> dict[str, Any]:
    run = document.run
    return {**imported_cells(time), "arm": HEAD, "launch": 0, "commit": run.commit, "dirty": run.revision.dirty}


def _launch_rows(run: ComparisonRun) -> Iterator[dict[str, Any]]:
    arms = {arm.name: arm for arm in run.arms}
    for position, comparison in enumerate((*run.comparisons, *run.controls)):
        base = arms.get(comparison.base)
        for launch in comparison.launches:
            # NOTE: both arms of a control are the base, whatever the second is called.
            arm = base if comparison.why is Comparing.CONTROL else arms.get(launch.arm)
            yield {
                **_launch_cells(comparison, launch),
                "comparison": position,
                "commit": None if arm is None else arm.commit,
                "dirty": None if arm is None else arm.dirty,
                "base_commit": None if base is None else base.commit,
                "contaminated": run.contaminated is not None,
            }


def _launch_cells(comparison: Comparison, launch: LaunchTime) -> dict[str, Any]:
    return {
        **case_cells(comparison.case),
        "round": launch.round.value,
        "why": comparison.why.value,
        "arm": launch.arm,
        "launch": launch.launch,
        "min_ns": launch.min_ns,
        "p10_ns": launch.p10_ns,
        "median_ns": launch.median_ns,
        "samples": launch.samples,
        "calls": launch.calls,
        "throttled": launch.throttled,
    }


def _read_launch(row: Row) -> LaunchTime:
    return LaunchTime(
        arm=row["arm"],
        round=Round(row["round"]),
        launch=row["launch"],
        min_ns=row["min_ns"],
        p10_ns=row["p10_ns"],
        median_ns=row["median_ns"],
        samples=row["samples"],
        calls=row["calls"],
        throttled=row["throttled"],
    )


TABLE = Table(
    name="timings",
    comment="One row per launch of a comparison, one per profiled case, and one per time imported from another tool.",
    columns=COLUMNS,
    rows=rows,
    order=("position",),
)
