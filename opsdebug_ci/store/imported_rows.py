"""A time that another tool recorded as a row of table `timings`, and back; both directions are total."""

from __future__ import annotations

from typing import Any

from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.store.case_columns import case_cells, read_case
from opsdebug_ci.store.column import REAL, TEXT, Column, Row

IMPORTED = "imported"
"""Value of column `round` that says that the row was imported: none of our rules may judge by it."""

IMPORTED_COLUMNS = (
    Column(name="mean_ns", type=REAL, comment="mean of the samples; null: not imported, or not told there", unit="ns"),
    Column(name="stddev_ns", type=REAL, comment="standard deviation of the samples; null: as mean_ns", unit="ns"),
    Column(name="source", type=TEXT, comment="tool and version an imported row is of; null: it is ours"),
)
"""What only imported rows have."""

_NUMBERS = ("min_ns", "median_ns", "mean_ns", "stddev_ns", "samples", "calls")
"""Fields that are columns of the same name."""


def imported_cells(time: ImportedTime) -> dict[str, Any]:
    """Columns of one imported time."""
    return {
        **case_cells(time.case),
        "round": IMPORTED,
        "source": time.source,
        "samples_ns": None if time.samples_ns is None else list(time.samples_ns),
        **{name: getattr(time, name) for name in _NUMBERS},
    }


def read_imported_time(row: Row) -> ImportedTime:
    """Inverse of `imported_cells`."""
    samples = row["samples_ns"]
    return ImportedTime(
        case=read_case(row),
        source=row["source"],
        samples_ns=None if samples is None else tuple(samples),
        **{name: row[name] for name in _NUMBERS},
    )
