"""An answer of any size, taken piece by piece: as rows, or as a Parquet file.

Decides how much of an answer is in memory at a time, and how long a query may take. Deliberately spells no value as
text: whoever prints does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from opsdebug_ci.errors import QueryError
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.sql.query import Question, question

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
    with question(location, sql, decode=True, timeout_s=timeout_s) as asked:
        asked.attendant.have(lambda: asked.connection.execute(asked.sql))
        names = tuple(str(column[0]) for column in asked.connection.description or [])
        yield Answer(columns=names, pieces=_pieces(asked), faults=asked.faults)


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
    with question(location, sql, decode=True, timeout_s=timeout_s) as asked, _storable():
        asked.attendant.have(lambda: _store(asked, sink))
        return asked.faults


def distinct(names: Sequence[str]) -> list[str]:
    """`names` with its place, or a larger number, behind each repeated one, as keys of one object."""
    found: list[str] = []
    for place, name in enumerate(names, 1):
        free = name if name not in found else next(f"{name}_{n}" for n in count(place) if f"{name}_{n}" not in found)
        found.append(free)
    return found


def _pieces(asked: Question) -> Iterator[Sequence[tuple[object, ...]]]:
    while rows := asked.attendant.have(lambda: asked.connection.fetchmany(ROWS_AT_A_TIME)):
        yield rows


def _store(asked: Question, sink: BinaryIO) -> None:
    reader = asked.connection.sql(asked.sql).to_arrow_reader(GROUP_ROWS)
    names = distinct(reader.schema.names)
    schema = pa.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema), GROUP_ROWS)


@contextmanager
def _storable() -> Iterator[None]:
    """Say what to do about a type that Parquet does not have."""
    try:
        yield
    except pa.ArrowNotImplementedError as error:
        raise QueryError(
            f"the answer cannot be written as Parquet: {error}; wanted types that Parquet has",
            next_step="cast that column in the query, e.g. `column::varchar`",
        ) from error
