"""Table `histories`: what the stored history said of a series when a run looked at it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from opsdebug_ci.model.history import ChangePoint, HistoryReading
from opsdebug_ci.model.wire import from_json
from opsdebug_ci.store.case_columns import CASE_COLUMNS, case_cells, read_case
from opsdebug_ci.store.column import FLAG, INTEGER, REAL, TEXT, Column, Row, StoredRun, Table
from opsdebug_ci.store.struct import to_struct

CHANGE = pa.struct([("ratio", REAL), ("before", TEXT), ("after", TEXT), ("at", TEXT), ("p_value", REAL)])
"""Model value `ChangePoint`."""

_PLAIN = (
    "runs",
    "left_out",
    "observed_ns",
    "expected_ns",
    "low_ns",
    "high_ns",
    "suspected",
    "drifting",
    "detectable",
    "covariate",
    "statement",
)
"""Fields of `HistoryReading` that are columns as they are."""

COLUMNS = (
    Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
    Column(name="position", type=INTEGER, comment="order of the rows of a run, from 0"),
    *CASE_COLUMNS,
    Column(name="runs", type=INTEGER, comment="stored runs of this segment that count", unit="runs"),
    Column(name="left_out", type=INTEGER, comment="runs that do not: throttled or contaminated", unit="runs"),
    Column(name="observed_ns", type=REAL, comment="median of this run's launch minima", unit="ns"),
    Column(name="expected_ns", type=REAL, comment="centre of the prediction; null: too few runs", unit="ns"),
    Column(name="low_ns", type=REAL, comment="lower end of the prediction interval; null as above", unit="ns"),
    Column(name="high_ns", type=REAL, comment="upper end of it; null: too few runs", unit="ns"),
    Column(name="suspected", type=FLAG, comment="above the interval by more than half the threshold"),
    Column(name="drifting", type=TEXT, comment="slow drift with its commit range; null: there is none"),
    Column(name="detectable", type=REAL, comment="smallest slowdown it could show; null: too few runs", unit="1"),
    Column(name="covariate", type=TEXT, comment="probe that helps to explain the series; null: none does"),
    Column(name="changes", type=pa.list_(CHANGE), comment="where its level changed, oldest first"),
    Column(name="statement", type=TEXT, comment="one sentence with numbers"),
)


def rows(stored: StoredRun) -> Sequence[Row]:
    """One row per series."""
    document = stored.document
    history = () if document.performance is None else document.performance.history
    return [
        {
            "run_id": document.run.id,
            "position": position,
            **case_cells(reading.case),
            **{name: getattr(reading, name) for name in _PLAIN},
            "changes": to_struct(reading.changes),
        }
        for position, reading in enumerate(history)
    ]


def read_history(stored: Sequence[Row]) -> tuple[HistoryReading, ...]:
    """Inverse of `rows`."""
    return tuple(
        HistoryReading(
            case=read_case(row),
            changes=tuple(from_json(change, ChangePoint) for change in row["changes"]),
            **{name: row[name] for name in _PLAIN},
        )
        for row in sorted(stored, key=lambda row: int(row["position"]))
    )


TABLE = Table(
    name="histories",
    comment="One row per series: what its stored history said of the newest value, and where its level changed.",
    columns=COLUMNS,
    rows=rows,
    order=("position",),
)
