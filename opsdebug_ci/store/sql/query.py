"""SQL over a store: one SELECT, read-only, that can reach nothing but the store's rows.

Decides what a query may do. DuckDB runs in memory and gets the tables as Arrow datasets, so it needs no file at all:
its own access to files, network and extensions is off and locked before the query is parsed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from opsdebug_ci.errors import DamagedFileError, QueryError
from opsdebug_ci.store.files.dataset import StoreRows, TableRows, store_rows
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.soundness import identity_column
from opsdebug_ci.store.places.directory import DirectoryBackend
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.sql.attended import Attendant
from opsdebug_ci.store.sql.examples import EXAMPLES, ExampleQuery
from opsdebug_ci.store.sql.macros import MACROS, Macro
from opsdebug_ci.store.sql.touched import touched_tables
from opsdebug_ci.store.sql.views import DERIVED_VIEWS, VIEW_NAMES, rows_name, view_statements

CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
"""Settings of every connection: no extension from anywhere, no Python variable as a table."""


LOCK = (
    "set TimeZone = 'UTC'",
    "set temp_directory = ''",
    "set enable_external_access = false",
    "set lock_configuration = true",
)
"""What confines a connection, for good, before anything is read with it."""

EXPLAIN = re.compile(r"\s*explain\s+(?:analyze\s+|\([^()]*\)\s*(?=\s|[a-z]))?", re.IGNORECASE)
"""What stands ahead of the query that is explained; with anything else there, such as a comment, it is refused."""

PIVOT = "list them, as in `pivot failures on cause in ('unknown') using count(*)`"
"""What to do about a PIVOT that has to look at the rows before it knows its columns, which makes several statements."""

FILE_FAULTS = ("reading the stream registered as", "get_next failed")
"""What DuckDB says when rows could not be read, as opposed to a query that cannot be answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """What a query answered."""

    columns: tuple[str, ...]
    """Column names, in order; a name may repeat."""

    types: tuple[str, ...]
    """DuckDB's type of each column."""

    rows: tuple[tuple[object, ...], ...]
    """Values: numbers, text, None, dates, lists, mappings."""

    faults: tuple[FileFault, ...] = ()
    """Files of the store that are not what they should be; the answer is without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One SELECT that was let through, and who answers it."""

    connection: duckdb.DuckDBPyConnection
    """A connection that can reach nothing but the store's rows."""

    attendant: Attendant
    """Who has all work with it done."""

    sql: str
    """The query."""

    faults: tuple[FileFault, ...]
    """Files of the store that are not what they should be; no answer has their rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableListing:
    """One table or view of a store."""

    name: str
    """What to select from."""

    comment: str
    """What one row is."""

    rows: int
    """Visible rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreListing:
    """What a store offers to SQL."""

    location: str
    """The store."""

    tables: tuple[TableListing, ...]
    """Every table and view."""

    faults: tuple[FileFault, ...]
    """Damaged files, whose rows are not counted."""

    macros: tuple[Macro, ...]
    """Every function."""

    examples: tuple[ExampleQuery, ...]
    """Queries to start from."""


def query(location: str | os.PathLike[str], sql: str, parameters: Sequence[object] = ()) -> QueryResult:
    """Answer one SELECT over the store at `location`.

    Args:
        location: directory of this machine that holds the store.
        sql: one SELECT (also FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW), with `?` or `$1`, `$2`... for parameters.
        parameters: their values.

    Raises:
        QueryError: the query is not one SELECT, does not run, or reaches for something outside the store.
        StoreError: there is no store, or a file of it cannot be read.
    """
    try:
        return _answer(location, sql, parameters, decode=False)
    except DamagedFileError:  # in a file of which no hash is recorded: find out which, and leave it out
        return _answer(location, sql, parameters, decode=True)


@contextmanager
def question(
    location: str | os.PathLike[str], sql: str, *, decode: bool = False, timeout_s: float | None = None
) -> Iterator[Question]:
    """One SELECT that may be executed while this lasts; errors of DuckDB inside come out as ours, as of `query`.

    Args:
        location: the store.
        sql: the SELECT.
        decode: files of which no hash is recorded, as older programs wrote them, are decoded before they are read.
        timeout_s: longest time for the answer; None: as long as it takes.

    Raises:
        DamagedFileError: such a file is damaged, and was not decoded before.
    """
    root = DirectoryBackend(location).mirror().root
    with duckdb.connect(":memory:", config=CONFIGURATION) as connection:
        for setting in LOCK:
            connection.execute(setting)
        _check_one_select(connection, sql)
        stored = store_rows(root, touched_tables(sql), decode=decode)
        _offer(connection, stored)
        try:
            yield Question(
                connection=connection, attendant=Attendant(connection, timeout_s), sql=sql, faults=stored.faults
            )
        except (duckdb.Error, pa.ArrowException) as error:
            raise _failure(root, error) from error


def tables(location: str | os.PathLike[str]) -> StoreListing:
    """Every table and view of the store with its rows, and queries to start from."""
    described = [(table.name, table.comment) for table in TABLES] + [
        (view.name, view.comment) for view in DERIVED_VIEWS
    ]
    # Names are ours: tables and views of this package.
    counts = " union all ".join(f"select '{name}', count(*) from {name}" for name, _ in described)  # noqa: S608 - names of our own views
    counted = query(location, counts)
    by_name = {str(name): int(str(rows)) for name, rows in counted.rows}
    return StoreListing(
        location=os.fspath(location),
        tables=tuple(TableListing(name=name, comment=comment, rows=by_name[name]) for name, comment in described),
        faults=counted.faults,
        macros=MACROS,
        examples=EXAMPLES,
    )


def _answer(location: str | os.PathLike[str], sql: str, parameters: Sequence[object], *, decode: bool) -> QueryResult:
    with question(location, sql, decode=decode) as asked:
        rows = asked.attendant.have(lambda: asked.connection.execute(asked.sql, parameters).fetchall())
        described = asked.connection.description or []
        return QueryResult(
            columns=tuple(str(column[0]) for column in described),
            types=tuple(str(column[1]) for column in described),
            rows=tuple(rows),
            faults=asked.faults,
        )


def _offer(connection: duckdb.DuckDBPyConnection, stored: StoreRows) -> None:
    """Make the store's views."""
    for rows in stored.tables:
        _offer_table(connection, rows)
    for statement in view_statements():
        connection.execute(statement)


def _offer_table(connection: duckdb.DuckDBPyConnection, rows: TableRows) -> None:
    """Make the relation with every row of a table that counts."""
    name = rows_name(rows.table)
    if not rows.partial:
        connection.register(name, rows.whole)
        return
    connection.register(f"{name}_0", rows.whole)
    parts = [f"from {name}_0"]
    for number, (without, some) in enumerate(rows.partial.items(), 1):
        connection.register(f"{name}_{number}", some)
        # Run ids of packs are those that `heads` let through: letters, digits, `-` and `_`.
        listed = ", ".join(f"'{run_id}'" for run_id in sorted(without))
        parts.append(f"from {name}_{number} where {identity_column(rows.table)} not in ({listed})")
    connection.execute(f"create view {name} as {' union all by name '.join(parts)}")


def _check_one_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _query_error(str(error)) from error
    kinds = [_kind(statement) for statement in statements]
    if kinds == ["MULTI"]:
        raise _query_error(f"got PIVOT over values that are not listed; wanted one SELECT: {PIVOT}")
    if kinds == ["EXPLAIN"]:
        kinds = _explained(connection, sql)
    if len(kinds) > 1 and set(kinds) == {"SELECT"}:
        raise _query_error(f"got {len(kinds)} SELECTs; wanted one at a time")
    if kinds != ["SELECT"]:
        raise _query_error(f"got {' and '.join(kinds) or 'no'} statement; wanted one SELECT: the store is read-only")


def _explained(connection: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    """What an EXPLAIN explains, which must be one SELECT."""
    found = EXPLAIN.match(sql)
    if found is None:
        return ["EXPLAIN"]
    try:
        return [_kind(statement) for statement in connection.extract_statements(sql[found.end() :])]
    except duckdb.Error:
        return ["EXPLAIN"]


def _kind(statement: duckdb.Statement) -> str:
    try:
        return statement.type.name
    except ValueError:  # NOTE: DuckDB's module has no name for statements such as `update extensions`.
        return "another"


def _failure(root: Path, error: duckdb.Error | pa.ArrowException) -> DamagedFileError | QueryError:
    """Whose fault an error is: a damaged file's, or the query's."""
    if not any(fault in str(error) for fault in FILE_FAULTS):
        return _query_error(str(error))
    return DamagedFileError(
        f"a file of store `{root}` cannot be read: {error}",
        next_step="`opsdebug baselines verify` says which one is damaged, and what to do",
    )


def _query_error(message: str) -> QueryError:
    return QueryError(
        f"the query cannot be answered: {message}\n  tables: {', '.join(VIEW_NAMES)}",
        next_step="`opsdebug sql` lists tables, functions and example queries; `describe TABLE` lists columns",
    )
