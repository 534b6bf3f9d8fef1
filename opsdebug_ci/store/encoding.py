"""A run as Parquet files, and back.

Decides bytes and relative paths of a run's files; deliberately touches no disk, so that every backend writes the
same. Layout: `<table>/date=<UTC day>/<run id>.parquet`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opsdebug_ci.errors import InternalError, StoreError
from opsdebug_ci.model import Calibration, RunDocument
from opsdebug_ci.store.column import PARTITION, Column, Row, Table
from opsdebug_ci.store.performance import read_performance
from opsdebug_ci.store.schema import FORMAT_VERSION, TABLES
from opsdebug_ci.store.tables import accuracy, comparisons, histories, runs, sweeps, timings

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""What a run id may be: it becomes a file name."""

SUFFIX = ".parquet"

READ_BACK: tuple[Table, ...] = (
    runs.TABLE,
    accuracy.TABLE,
    timings.TABLE,
    comparisons.TABLE,
    histories.TABLE,
    sweeps.TABLE,
)
"""Tables that a document is made of again; the others say the same in another form, or what no document has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """The rows one run adds to one table."""

    table: str
    """Table name."""

    path: str
    """Path below the store, with forward slashes."""

    data: bytes = field(repr=False)
    """Parquet."""


def encode_run(document: RunDocument, calibrations: Sequence[Calibration]) -> tuple[TableFile, ...]:
    """Files of a run in the order they must appear; tables it adds nothing to have none; `runs` is last.

    Raises:
        InternalError: the run id is no file name, or a value does not fit its column.
    """
    run = document.run
    if not RUN_ID.fullmatch(run.id):
        raise InternalError(f"run id is `{run.id}`; wanted letters, digits, `-` and `_`, at most 100")
    day = runs.start_of(run).date().isoformat()
    filled = [(table, rows) for table in TABLES if (rows := table.rows(document, calibrations))]
    return tuple(
        TableFile(
            table=table.name,
            path=f"{table.name}/{PARTITION}={day}/{run.id}{SUFFIX}",
            data=encode_rows(table, rows),
        )
        for table, rows in filled
    )


def decode_run(files: Mapping[str, bytes]) -> RunDocument:
    """Document of a run from its files by table; `runs` must be among them, a table it added nothing to is not."""
    stored = {table.name: decode_rows(table, files[table.name]) for table in READ_BACK if table.name in files}
    run = stored[runs.TABLE.name][0]
    return runs.read_document(
        run,
        accuracy.read_observations(stored.get(accuracy.TABLE.name, ())),
        read_performance(run["performance"], stored),
    )


def encode_rows(table: Table, rows: Sequence[Row]) -> bytes:
    """Rows as a Parquet file that carries the columns' comments and the format version."""
    columns = [_array(column, [row.get(column.name) for row in rows]) for column in table.columns]
    sink = pa.BufferOutputStream()
    # NOTE: no copy of the Arrow schema: Parquet's own types say the same, and a store of small files opens 3x faster.
    with pq.ParquetWriter(sink, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(pa.table(columns, schema=table.schema))
        writer.add_key_value_metadata(file_metadata(table))
    return bytes(sink.getvalue())


def file_metadata(table: Table) -> dict[str, str]:
    """What a file says about itself: its table, the format version, and what each column holds."""
    columns = {
        column.name: f"{column.comment} [{column.unit}]" if column.unit else column.comment for column in table.columns
    }
    return {
        "opsdebug.table": table.name,
        "opsdebug.format_version": str(FORMAT_VERSION),
        "opsdebug.columns": json.dumps(columns),
    }


def decode_rows(table: Table, data: bytes) -> list[dict[str, Any]]:
    """Rows of a Parquet file of any accepted version; what an older one lacks is None."""
    try:
        stored = pq.read_table(pa.BufferReader(data), partitioning=None).to_pylist()
    except pa.ArrowException as error:
        raise StoreError(
            f"a file of table `{table.name}` is not Parquet that can be read: {error}",
            next_step="restore the file from a copy of the store, or remove this run's files",
        ) from error
    return [{column.name: row.get(column.name) for column in table.columns} for row in stored]


def _array(column: Column, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, column.type)
    except UnicodeEncodeError:
        return pa.array([_encodable(value) for value in values], column.type)
    except (pa.ArrowException, OverflowError) as error:
        raise InternalError(f"column `{column.name}` wants {column.type}: {error}") from error


def _encodable(value: Any) -> Any:
    """The same value with what UTF-8 cannot spell (half a surrogate pair, in an exception's text) spelled out."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    return value
