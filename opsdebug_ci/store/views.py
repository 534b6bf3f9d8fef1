"""The views SQL sees, as text.

Decides what is visible: of several attempts of one CI job the highest, and of every other table the rows whose run
is visible. Deliberately opens nothing.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.store.column import PARTITION, Table, sql_type
from opsdebug_ci.store.encoding import SUFFIX
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.tables import runs

LEG = "coalesce(nullif(ci_key, ''), id), \"system\", python, torch, devices"
"""What tells two legs of a CI matrix apart: not the CPU, for a repeated leg may get another host of the same pool."""

NEWEST_ATTEMPT = f"qualify rank() over (partition by {LEG} order by attempt desc) = 1"
"""Keeps the highest attempt of every leg, and every run outside CI."""

OF_VISIBLE_RUN = "where run_id in (select id from runs)"
"""Keeps the rows whose run is visible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedView:
    """A view over other views."""

    name: str
    """Its name."""

    comment: str
    """What one row is."""

    sql: str
    """Its query."""

    tables: tuple[str, ...]
    """Tables it reads."""


FAILURE_HISTORY = DerivedView(
    name="failure_history",
    comment="One row per fingerprint: when and at which commit it was first and last seen.",
    sql="""
        select fingerprint, arg_max(f.cause, r.id) as cause, arg_max(f.operator, r.id) as operator,
               min(r.started_at) as first_seen, max(r.started_at) as last_seen,
               arg_min(r."commit", r.id) as first_commit, arg_max(r."commit", r.id) as last_commit,
               count(distinct r.id) as runs, count(distinct f.case_id) as cases
        from failures f join runs r on r.id = f.run_id
        where fingerprint is not null
        group by fingerprint
    """,
    tables=("failures", "runs"),
)

DERIVED_VIEWS: tuple[DerivedView, ...] = (FAILURE_HISTORY,)
"""Every derived view."""

VIEW_NAMES: tuple[str, ...] = tuple(table.name for table in TABLES) + tuple(view.name for view in DERIVED_VIEWS)
"""Everything a query can select from."""


def quoted(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def tables_behind(names: set[str]) -> set[str]:
    """Tables that a query over the views `names` reads; `runs` decides what is visible, so it is always one."""
    wanted = {name.lower() for name in names}
    derived = {table for view in DERIVED_VIEWS if view.name in wanted for table in view.tables}
    return wanted | derived | {runs.TABLE.name}


def table_view(table: Table, paths: Sequence[str], *, unify: bool) -> str:
    """Statement that makes the view of one table.

    Args:
        table: which.
        paths: its files, or patterns of them; none for a table without files.
        unify: read every file's columns, as files of several versions need; costs one look into each file.
    """
    typed = [(column.name, sql_type(column.type)) for column in table.columns] + [(PARTITION, "DATE")]
    empty = ", ".join(f'null::{name_type} as "{name}"' for name, name_type in typed)
    source = f"select {empty} where false"
    if paths:
        files = ", ".join(map(quoted, paths))
        options = f"union_by_name={unify}, hive_partitioning=true, hive_types={{'{PARTITION}': DATE}}"
        source += f" union all by name select * from read_parquet([{files}], {options})"  # noqa: S608 - quoted
    visible = OF_VISIBLE_RUN if table.of_run else NEWEST_ATTEMPT if table is runs.TABLE else ""
    columns = ", ".join(f'"{name}"' for name, _ in typed)
    return f"create view {table.name} as select {columns} from ({source}) {visible}"  # noqa: S608 - names are ours


def file_patterns(root: Path, table: Table) -> list[str]:
    """Patterns of a table's files; none when it has no file yet."""
    files = root / table.name
    if next(files.glob(f"{PARTITION}=*/*{SUFFIX}"), None) is None:
        return []
    return [f"{glob.escape(str(files))}/{PARTITION}=*/*{SUFFIX}"]


def run_files(root: Path) -> list[str]:
    """Every file of `runs`, one by one.

    NOTE: listed before any other table is looked at. A run appended meanwhile is then not visible at all, rather
    than visible without the rows of the tables that were listed too early.
    """
    return [glob.escape(str(path)) for path in (root / runs.TABLE.name).glob(f"{PARTITION}=*/*{SUFFIX}")]
