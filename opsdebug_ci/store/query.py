"""SQL over a store: one SELECT, read-only, that can reach nothing but the store's rows.

Decides what a query may do. DuckDB runs in memory and gets the tables as Arrow datasets, so it needs no file at all:
its own access to files, network and extensions is off and locked before the query is parsed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from opsdebug_ci.errors import QueryError, StoreError
from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.dataset import table_dataset
from opsdebug_ci.store.examples import EXAMPLES, ExampleQuery
from opsdebug_ci.store.macros import MACROS, Macro
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.tables import runs
from opsdebug_ci.store.views import DERIVED_VIEWS, VIEW_NAMES, rows_name, view_statements

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
"""What confines a connection, for good, once the views are there."""

INTERRUPTED = "Query interrupted"
"""What DuckDB says after Ctrl-C."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One SELECT that was let through, and who answers it."""

    connection: duckdb.DuckDBPyConnection
    """A connection that can reach nothing but the store's rows."""

    sql: str
    """The query."""


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

    macros: tuple[Macro, ...]
    """Every function."""

    examples: tuple[ExampleQuery, ...]
    """Queries to start from."""


def query(location: str | os.PathLike[str], sql: str, parameters: Sequence[object] = ()) -> QueryResult:
    """Answer one SELECT over the store at `location`.

    Args:
        location: the store.
        sql: one SELECT (also FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW), with `?` for each parameter.
        parameters: values of the `?`.

    Raises:
        QueryError: the query is not one SELECT, does not run, or reaches for something outside the store.
        StoreError: there is no store, or a file of it cannot be read.
    """
    with question(location, sql) as asked:
        asked.connection.execute(asked.sql, parameters)
        rows = asked.connection.fetchall()
        described = asked.connection.description or []
        return QueryResult(
            columns=tuple(str(column[0]) for column in described),
            types=tuple(str(column[1]) for column in described),
            rows=tuple(rows),
        )


@contextmanager
def question(location: str | os.PathLike[str], sql: str) -> Iterator[Question]:
    """One SELECT that may be executed while this lasts; errors of DuckDB inside come out as ours, as of `query`."""
    root = open_store(location).mirror().root
    with duckdb.connect(":memory:", config=CONFIGURATION) as connection:
        _offer(connection, root)
        for setting in LOCK:
            connection.execute(setting)
        _check_one_select(connection, sql)
        try:
            yield Question(connection=connection, sql=sql)
        except duckdb.Error as error:
            raise _failure(root, error) from error
        except RuntimeError as error:
            # NOTE: what DuckDB makes of Ctrl-C; it is no error of duckdb's own tree.
            if str(error) != INTERRUPTED:
                raise
            raise KeyboardInterrupt from error


def tables(location: str | os.PathLike[str]) -> StoreListing:
    """Every table and view of the store with its rows, and queries to start from."""
    described = [(table.name, table.comment) for table in TABLES] + [
        (view.name, view.comment) for view in DERIVED_VIEWS
    ]
    # Names are ours: tables and views of this package.
    counts = " union all ".join(f"select '{name}', count(*) from {name}" for name, _ in described)  # noqa: S608 - names of our own views
    by_name = {str(name): int(str(rows)) for name, rows in query(location, counts).rows}
    return StoreListing(
        location=os.fspath(location),
        tables=tuple(TableListing(name=name, comment=comment, rows=by_name[name]) for name, comment in described),
        macros=MACROS,
        examples=EXAMPLES,
    )


def _offer(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Make the store's views."""
    # NOTE: the files of `runs` are listed before any other table's. A run appended meanwhile is then not visible at
    # all, rather than visible without the rows of the tables that were listed too early.
    for table in sorted(TABLES, key=lambda table: table is not runs.TABLE):
        connection.register(rows_name(table), table_dataset(root, table))
    for statement in view_statements():
        connection.execute(statement)


def _check_one_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _query_error(str(error)) from error
    kinds = [statement.type.name for statement in statements]
    if kinds != ["SELECT"]:
        raise _query_error(f"got {' and '.join(kinds) or 'no'} statement; wanted one SELECT: the store is read-only")


def _failure(root: Path, error: duckdb.Error) -> StoreError | QueryError:
    """Whose fault an error is: a damaged file's, or the query's."""
    if not any(fault in str(error) for fault in FILE_FAULTS):
        return _query_error(str(error))
    return StoreError(
        f"a file of store `{root}` cannot be read: {error}",
        next_step="restore the file it names from a copy of the store, or remove that file",
    )


def _query_error(message: str) -> QueryError:
    return QueryError(
        f"the query cannot be answered: {message}\n  tables: {', '.join(VIEW_NAMES)}",
        next_step="`opsdebug sql` lists tables, functions and example queries; `describe TABLE` lists columns",
    )
