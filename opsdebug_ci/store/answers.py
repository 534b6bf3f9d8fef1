"""An answer of any size, taken piece by piece: as rows, or as a Parquet file.

Decides how much of an answer is in memory at a time, and how long a query may take. Deliberately spells no value as
text: whoever prints does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import BinaryIO

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from opsdebug_ci.errors import QueryError
from opsdebug_ci.store.heads import FileFault
from opsdebug_ci.store.query import question

ROWS_AT_A_TIME = 10_000
"""Rows taken from DuckDB at once: some MiB of Python values, and few enough calls to cost nothing."""

GROUP_ROWS = 65_536
"""Rows of a row group of an answer in Parquet, as in packs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a query answers, while it is being asked."""

    columns: tuple[str, ...]
    """Column names, in order; a name may repeat."""

    pieces: Iterator[Sequence[tuple[object, ...]]]
    """The rows, some at a time; can be gone through once."""

    faults: tuple[FileFault, ...]
    """Damaged files of the tables it asks, which are left out."""


@contextmanager
def answering(location: str | os.PathLike[str], sql: str, timeout_s: float | None = None) -> Iterator[Answer]:
    """Ask one SELECT and hand out its rows as they come.

    Args:
        location: the store.
        sql: one SELECT, as of `query`.
        timeout_s: longest time until the last row is taken; None: as long as it takes.

    Raises:
        QueryError: as of `query`, or the time was over.
        StoreError: there is no store, or a file of it cannot be read.
    """
    # NOTE: rows that were handed out cannot be taken back, so files without a recorded hash are decoded beforehand.
    with question(location, sql, decode=True) as asked, _within(asked.connection, timeout_s):
        asked.connection.execute(asked.sql)
        names = tuple(str(column[0]) for column in asked.connection.description or [])
        yield Answer(
            columns=names, pieces=iter(lambda: asked.connection.fetchmany(ROWS_AT_A_TIME), []), faults=asked.faults
        )


def write_parquet(
    location: str | os.PathLike[str], sql: str, sink: BinaryIO, timeout_s: float | None = None
) -> tuple[FileFault, ...]:
    """Write the answer of one SELECT as Parquet, with DuckDB's types; HUGEINT, which Parquet lacks, as DECIMAL(38, 0).

    Args:
        location: the store.
        sql: one SELECT, as of `query`.
        sink: where to.
        timeout_s: as of `answering`.

    Returns:
        Damaged files of the tables it asks, which are left out.

    Raises:
        QueryError: as of `answering`, or a column is of a type that Parquet does not have.
        StoreError: there is no store, or a file of it cannot be read.
    """
    with question(location, sql, decode=True) as asked, _within(asked.connection, timeout_s), _in_terms_of_duckdb():
        reader = asked.connection.sql(asked.sql).to_arrow_reader(GROUP_ROWS)
        names = distinct(reader.schema.names)
        schema = pa.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema), GROUP_ROWS)
        return asked.faults


def distinct(names: Sequence[str]) -> list[str]:
    """`names` with its place, or a larger number, behind each repeated one, as keys of one object."""
    found: list[str] = []
    for place, name in enumerate(names, 1):
        free = name if name not in found else next(f"{name}_{n}" for n in count(place) if f"{name}_{n}" not in found)
        found.append(free)
    return found


@contextmanager
def _within(connection: duckdb.DuckDBPyConnection, timeout_s: float | None) -> Iterator[None]:
    """Interrupt what `connection` does once the time is over."""
    if timeout_s is None:
        yield
        return
    timer = threading.Timer(timeout_s, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException as error:
        raise QueryError(
            f"the query was not answered within {timeout_s:g} s; wanted an answer by then",
            next_step="raise `--timeout`, or ask for less: one operator, or a `limit`",
        ) from error
    finally:
        timer.cancel()


@contextmanager
def _in_terms_of_duckdb() -> Iterator[None]:
    """Errors of Arrow as DuckDB would have told them."""
    try:
        yield
    except pa.ArrowNotImplementedError as error:
        raise QueryError(
            f"the answer cannot be written as Parquet: {error}; wanted types that Parquet has",
            next_step="cast that column in the query, e.g. `column::varchar`",
        ) from error
    except pa.ArrowException as error:
        raise duckdb.Error(str(error)) from error
