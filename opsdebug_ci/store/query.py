"""SQL over a store: one SELECT, read-only, that can reach nothing but the store.

Decides what a query may do. DuckDB runs in memory; access to files outside the store, loading of extensions and
changes of its settings are off and locked before the query is even parsed; only a single SELECT is run, because
writing into the store's own directory would be allowed otherwise.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from opsdebug_ci.errors import QueryError, StoreError
from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.examples import EXAMPLES, ExampleQuery
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.tables import runs
from opsdebug_ci.store.views import (
    DERIVED_VIEWS,
    VIEW_NAMES,
    file_patterns,
    quoted,
    run_files,
    table_view,
    tables_behind,
)

CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
"""Settings of every connection: no extension from anywhere, no Python variable as a table."""


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
    root = open_store(location).snapshot()
    with duckdb.connect(":memory:", config=CONFIGURATION) as connection:
        _lock(connection, root)
        statement = _only_select(connection, sql)
        _create_views(connection, root, _tables_read(connection, sql))
        try:
            connection.execute(statement, parameters)
            rows = connection.fetchall()
        except duckdb.Error as error:
            raise _query_error(str(error)) from error
        described = connection.description or []
        return QueryResult(
            columns=tuple(str(column[0]) for column in described),
            types=tuple(str(column[1]) for column in described),
            rows=tuple(rows),
        )


def tables(location: str | os.PathLike[str]) -> StoreListing:
    """Every table and view of the store with its rows, and queries to start from."""
    described = [(table.name, table.comment) for table in TABLES] + [
        (view.name, view.comment) for view in DERIVED_VIEWS
    ]
    # Names are ours: tables and views of this package.
    counts = " union all ".join(f"select '{name}', count(*) from {name}" for name, _ in described)  # noqa: S608
    by_name = {str(name): int(str(rows)) for name, rows in query(location, counts).rows}
    return StoreListing(
        location=os.fspath(location),
        tables=tuple(TableListing(name=name, comment=comment, rows=by_name[name]) for name, comment in described),
        examples=EXAMPLES,
    )


def _lock(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Confine the connection to the store, for good."""
    # NOTE: a pattern is checked as it is spelled, so the escaped spelling of an odd path must be allowed as well.
    allowed = ", ".join(quoted(path) for path in dict.fromkeys((str(root), glob.escape(str(root)))))
    for setting in (
        "TimeZone = 'UTC'",
        "temp_directory = ''",
        f"allowed_directories = [{allowed}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"set {setting}")


def _only_select(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _query_error(str(error)) from error
    kinds = [statement.type.name for statement in statements]
    if kinds != ["SELECT"]:
        raise _query_error(f"got {' and '.join(kinds) or 'no'} statement; wanted one SELECT: the store is read-only")
    return statements[0]


def _tables_read(connection: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    """Tables whose every file must be looked into; all of them when DuckDB cannot tell before there are views."""
    try:
        return tables_behind(connection.get_table_names(sql))
    except duckdb.Error:
        return {table.name for table in TABLES}


def _create_views(connection: duckdb.DuckDBPyConnection, root: Path, read: set[str]) -> None:
    visible = run_files(root)
    for table in (runs.TABLE, *(table for table in TABLES if table is not runs.TABLE)):
        paths = visible if table is runs.TABLE else file_patterns(root, table)
        try:
            connection.execute(table_view(table, paths, unify=table.name in read))
        except duckdb.Error as error:
            raise StoreError(
                f"table `{table.name}` of store `{root}` cannot be read: {error}",
                next_step="restore the file it names from a copy of the store, or remove that file",
            ) from error
    for view in DERIVED_VIEWS:
        connection.execute(f"create view {view.name} as {view.sql}")


def _query_error(message: str) -> QueryError:
    return QueryError(
        f"the query cannot be answered: {message}\n  tables: {', '.join(VIEW_NAMES)}",
        next_step="`opsdebug sql` lists the tables with example queries; `describe TABLE` lists columns",
    )
