"""The views SQL sees, as text.

Decides what is visible: of several attempts of one CI job the highest, and of every other table the rows whose run
is visible. Deliberately opens nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.store.column import Table
from opsdebug_ci.store.files.layout import PARTITION
from opsdebug_ci.store.memory.comparability import machines_sql
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.sql.macros import MACROS
from opsdebug_ci.store.tables import runs

_PYTHON = "regexp_extract(python, '^[0-9]+[.][0-9]+')"

LEG = f"coalesce(nullif(ci_key, ''), id), config_hash, \"system\", {_PYTHON}, torch, devices"
"""What tells two legs of a CI matrix apart: not the CPU, for a repeated leg may get another host of the same pool, nor
the last number of Python's version, for the pool may be renewed meanwhile."""

NEWEST_ATTEMPT = f"qualify rank() over (partition by {LEG} order by attempt desc) = 1"
"""Keeps the highest attempt of every leg, and every run outside CI."""

STARTED = "(started_at at time zone 'UTC')::date"
"""UTC day a run started; the directory of a file says no more than the month when rows of many runs are together."""

OF_VISIBLE_RUN = "join (select id, date from runs) r on r.id = f.run_id"
"""Keeps the rows whose run is visible, and knows its day. Costs no more than `run_id in (...)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedView:
    """A view over other views."""

    name: str
    """Its name."""

    comment: str
    """What one row is."""

    sql: str
    """Its query."""


FAILURE_HISTORY = DerivedView(
    name="failure_history",
    comment="One row per fingerprint: when and at which commit it was first and last seen, and its newest failure.",
    sql="""
        select fingerprint, arg_max(f.cause, r.id) as cause, arg_max(f.operator, r.id) as operator,
               min(r.started_at) as first_seen, max(r.started_at) as last_seen,
               arg_min(r."commit", r.id) as first_commit, arg_max(r."commit", r.id) as last_commit,
               count(distinct r.id) as runs, count(distinct f.case_id) as cases,
               arg_max(f.statement, r.id) as statement, arg_max(f.case_name, r.id) as case_name,
               arg_max(f.bundle, r.id) filter (where f.bundle is not null) as bundle
        from failures f join runs r on r.id = f.run_id
        where fingerprint is not null
        group by fingerprint
    """,
)

FAILURE_GROUPS = DerivedView(
    name="failure_groups",
    comment="One row per run and group of failures: why it is one, what separates it, which fingerprints it merges.",
    sql="""
        select id as run_id, "commit", started_at, unnest(groups) as "group" from runs
    """,
)

MACHINES = DerivedView(
    name="machines",
    comment="One row per machine key: its facts as its newest run has them, runs, when it was first and last seen.",
    sql=machines_sql(),
)

DERIVED_VIEWS: tuple[DerivedView, ...] = (FAILURE_HISTORY, FAILURE_GROUPS, MACHINES)
"""Every derived view."""

VIEW_NAMES: tuple[str, ...] = tuple(table.name for table in TABLES) + tuple(view.name for view in DERIVED_VIEWS)
"""Everything a query is meant to select from."""


def rows_name(table: Table) -> str:
    """Name of the relation with every stored row of a table, visible or not."""
    return f"{table.name}_files"


def view_statements() -> tuple[str, ...]:
    """Statements that make every view and macro, over relations named `rows_name`."""
    # NOTE: `runs` first, because the others ask it.
    ordered = sorted(TABLES, key=lambda table: table is not runs.TABLE)
    derived = tuple(f"create view {view.name} as {view.sql}" for view in DERIVED_VIEWS)
    return tuple(_table_view(table) for table in ordered) + derived + tuple(macro.statement for macro in MACROS)


def _table_view(table: Table) -> str:
    columns = ", ".join(f'f."{column.name}"' for column in table.columns)
    day, visible = f"f.{PARTITION}", ""
    if table.of_run:
        day, visible = f"r.{PARTITION}", OF_VISIBLE_RUN
    elif table is runs.TABLE:
        day, visible = f"{STARTED} as {PARTITION}", NEWEST_ATTEMPT
    # Names are ours: tables and columns of this package.
    return f"create view {table.name} as select {columns}, {day} from {rows_name(table)} f {visible}"  # noqa: S608 - names of our own
