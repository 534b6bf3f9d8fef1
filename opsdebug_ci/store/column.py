"""What a table of the store is made of: columns with a type, a unit and a comment, and the rows a run gives it.

Decides how a table is described. Deliberately knows no table: those are literals under `tables/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from opsdebug_ci.model import Calibration, RunDocument

Row = Mapping[str, Any]
"""One row by column name, in pyarrow's plain form; lives only between a table's module and the Parquet encoding."""

TEXT = pa.string()
INTEGER = pa.int64()
REAL = pa.float64()
FLAG = pa.bool_()
INSTANT = pa.timestamp("us", tz="UTC")
TEXTS = pa.list_(pa.string())
INTEGERS = pa.list_(pa.int64())
TEXT_MAP = pa.map_(pa.string(), pa.string())
INTEGER_MAP = pa.map_(pa.string(), pa.int64())

SQL_TYPES: Mapping[pa.DataType, str] = {
    TEXT: "VARCHAR",
    INTEGER: "BIGINT",
    REAL: "DOUBLE",
    FLAG: "BOOLEAN",
    INSTANT: "TIMESTAMPTZ",
}
"""DuckDB's name of every scalar type a column may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """What is stored of one run."""

    document: RunDocument
    """What it found."""

    calibrations: tuple[Calibration, ...] = ()
    """What the probes of its machine measured."""

    bundles_elsewhere: Mapping[str, str] = field(default_factory=dict)
    """sha256 -> where the bundle is, in words, for those that its rows name and the store does not hold."""


RowsFunction = Callable[[StoredRun], Sequence[Row]]
"""Rows a run adds to a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column."""

    name: str
    """Name, the same in files, views and documentation."""

    type: pa.DataType
    """Arrow type."""

    comment: str
    """What it holds, and when it is null."""

    unit: str = ""
    """Unit; empty when it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table."""

    name: str
    """Name of its directory and of its view."""

    comment: str
    """What one row is."""

    columns: tuple[Column, ...]
    """Its columns, in order."""

    rows: RowsFunction
    """Rows a run adds."""

    order: tuple[str, ...] = ()
    """Columns that put the rows of a run in order; empty: they are in the order in which they lie in the file."""

    of_run: bool = True
    """Rows belong to a run through `run_id`, and are visible only with it."""

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of its files."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])


def no_rows(stored: StoredRun) -> Sequence[Row]:  # noqa: ARG001 - one signature for all tables
    """For a table that no run fills: its view exists, so that SQL over it has an answer."""
    return ()


def sql_type(data_type: pa.DataType) -> str:
    """DuckDB's spelling of an Arrow type used by a column."""
    if pa.types.is_list(data_type):
        return f"{sql_type(data_type.value_type)}[]"
    if pa.types.is_map(data_type):
        return f"MAP({sql_type(data_type.key_type)}, {sql_type(data_type.item_type)})"
    if pa.types.is_struct(data_type):
        fields = [data_type.field(position) for position in range(data_type.num_fields)]
        return "STRUCT(" + ", ".join(f'"{field.name}" {sql_type(field.type)}' for field in fields) + ")"
    return SQL_TYPES[data_type]
