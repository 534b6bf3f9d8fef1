"""A run as Parquet files, and back.

Decides bytes and relative paths of a run's files; deliberately touches no disk, so that every backend writes the
same. Layout: `<table>/date=<UTC day>/<run id>.parquet`.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timezone
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opsdebug_ci.errors import DamagedFileError, InternalError
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.store.column import Column, Row, StoredRun, Table
from opsdebug_ci.store.files.contents import FileFacts
from opsdebug_ci.store.files.layout import RUN_ID, TablePath
from opsdebug_ci.store.performance import read_performance
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.schema import FORMAT_VERSION, TABLES
from opsdebug_ci.store.tables import acceptances, accuracy, calibrations, comparisons, histories, runs, sweeps, timings

PAGES_KEY = "opsdebug.pages_sha256"
"""Metadata of a file: sha256 of everything in it before its footer."""

UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, InternalError)
"""What values raise when they are made of cells that no program of ours wrote: a word that is none of its vocabulary,
null where something must be, a struct that lacks a member."""

READ_BACK: tuple[Table, ...] = (
    runs.TABLE,
    accuracy.TABLE,
    timings.TABLE,
    comparisons.TABLE,
    histories.TABLE,
    sweeps.TABLE,
    calibrations.TABLE,
)
"""Tables that a run is made of again: `failures` says the same in another form, `acceptances` are of no run."""


def encode_run(stored: StoredRun) -> tuple[StoreFile, ...]:
    """Files of a run in the order they must appear; tables it adds nothing to have none; `runs` is last, and names the
    others with their hashes.

    Raises:
        InternalError: the run id is no file name, or a value does not fit its column.
    """
    run = stored.document.run
    if not RUN_ID.fullmatch(run.id):
        raise InternalError(
            f"run id is `{run.id}`; wanted letters, digits, `-` and `_`, at most 100, and no `pack-` in front"
        )
    day = runs.start_of(run).date().isoformat()
    others = [(table, rows) for table in TABLES if table is not runs.TABLE and (rows := table.rows(stored))]
    files = [(file_of(table, day, run.id, encode_rows(table, rows)), len(rows)) for table, rows in others]
    facts = [facts_of(table, file.data, rows) for (table, _), (file, rows) in zip(others, files, strict=True)]
    (row,) = runs.TABLE.rows(stored)
    whole = {**row, "files": [asdict(fact) for fact in facts]}
    return (*(file for file, _ in files), file_of(runs.TABLE, day, run.id, encode_rows(runs.TABLE, [whole])))


def encode_acceptance(acceptance: Acceptance) -> StoreFile:
    """The file of an acceptance, which holds nothing else.

    Raises:
        InternalError: its id is no file name.
    """
    if not RUN_ID.fullmatch(acceptance.id):
        raise InternalError(f"acceptance id is `{acceptance.id}`; wanted letters, digits, `-` and `_`, at most 100")
    data = encode_rows(acceptances.TABLE, [acceptances.row_of(acceptance)])
    return file_of(acceptances.TABLE, acceptance.at.astimezone(timezone.utc).date().isoformat(), acceptance.id, data)


def file_of(table: Table, day: str, name: str, data: bytes) -> StoreFile:
    """A file of a table, at its place."""
    return StoreFile(path=str(TablePath(table=table.name, day=day, name=name)), data=data)


def facts_of(table: Table, data: bytes, rows: int) -> FileFacts:
    """What is recorded of a file."""
    return FileFacts(table=table.name, sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data), rows=rows)


def decode_run(stored: Mapping[str, Sequence[Row]]) -> StoredRun:
    """A run from its rows by table, in order; those of `runs` must be among them, and none of a table it added nothing
    to.

    Raises:
        DamagedFileError: the rows hold what no program of ours writes, such as a verdict that there is not.
    """
    (run,) = stored[runs.TABLE.name]
    try:
        return _decode(run, stored)
    except UNREADABLE as error:
        raise DamagedFileError(
            f"run `{run['id']}` holds what no program of ours writes: {type(error).__name__}: {error}",
            next_step="restore its files from a copy of the store, or remove them",
        ) from error


def _decode(run: Row, stored: Mapping[str, Sequence[Row]]) -> StoredRun:
    document = runs.read_document(
        run,
        accuracy.read_observations(stored.get(accuracy.TABLE.name, ())),
        read_performance(run["performance"], stored),
    )
    runs.start_of(document.run)  # which says where the run lies: it is told now, if it is no instant
    return StoredRun(
        document=document,
        calibrations=calibrations.read_calibrations(stored.get(calibrations.TABLE.name, ())),
        bundles_elsewhere=dict(run["bundles_elsewhere"] or ()),
    )


def encode_rows(table: Table, rows: Sequence[Row]) -> bytes:
    """Rows as a Parquet file that carries the columns' comments and the format version."""
    columns = [_array(column, [row.get(column.name) for row in rows]) for column in table.columns]
    return encode_table(table, pa.table(columns, schema=table.schema))


def encode_table(
    table: Table, rows: pa.Table, metadata: Mapping[str, str] | None = None, *, row_group: int | None = None
) -> bytes:
    """Rows in Arrow's form as a Parquet file.

    Args:
        table: whose schema `rows` have.
        rows: at least one.
        metadata: what the file says beside `file_metadata`.
        row_group: most rows in one row group; None: the library's default.
    """
    sink = io.BytesIO()
    # NOTE: no copy of the Arrow schema: Parquet's own types say the same, and a store of small files opens 3x faster.
    with pq.ParquetWriter(
        sink, table.schema, compression="zstd", store_schema=False, write_page_checksum=True
    ) as writer:
        writer.write_table(rows, row_group_size=row_group)
        # NOTE: all pages are written now, and the footer is not: so the file can say what its own pages hash to. Files
        # of `runs` need it, whose hash is recorded nowhere else; to decode every page of them would take 100x as long.
        pages = {PAGES_KEY: hashlib.sha256(sink.getbuffer()).hexdigest()}
        writer.add_key_value_metadata({**file_metadata(table), **pages, **(metadata or {})})
    return sink.getvalue()


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


def rows_of(table: Table, stored: pa.Table) -> list[Row]:
    """Rows of one run from a file of any accepted version, in order; what an older one lacks is None."""
    rows = [{column.name: row.get(column.name) for column in table.columns} for row in stored.to_pylist()]
    return sorted(rows, key=lambda row: [-1 if row[name] is None else row[name] for name in table.order])


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
