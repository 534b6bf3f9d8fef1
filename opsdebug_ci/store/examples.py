"""Queries to start from, shown by `opsdebug sql` without a query and in the documentation. Each one runs as it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleQuery:
    """A query worth knowing."""

    title: str
    """What it answers."""

    sql: str
    """The query, on one line."""


EXAMPLES: tuple[ExampleQuery, ...] = (
    ExampleQuery(
        title="how often each operator was checked",
        sql="select operator, count(*) from accuracy group by 1 order by 1",
    ),
    ExampleQuery(
        title="the last ten runs",
        sql="select id, started_at, stage, verdict, counts from runs order by id desc limit 10",
    ),
    ExampleQuery(
        title="worst error of every operator and dtype, by commit",
        sql=(
            'select r."commit", a.operator, a.dtype, max(a.ulp_max) as ulp_max, max(a.max_abs_err) as max_abs_err '
            "from accuracy a join runs r on r.id = a.run_id group by all order by 2, 3, 1"
        ),
    ),
    ExampleQuery(
        title="failures by cause, with the commits they were first and last seen at",
        sql=("select cause, operator, cases, first_commit, last_commit from failure_history order by last_seen desc"),
    ),
    ExampleQuery(
        title="the numbers behind each finding",
        sql="select case_name, f.cause, f.confidence, f.evidence from accuracy, unnest(findings) as t(f)",
    ),
    ExampleQuery(
        title="memory bandwidth of every machine",
        sql=(
            "select r.machine_key, c.device, c.probe, max(c.bandwidth_bytes_per_s) / 1e9 as gb_per_s "
            "from calibrations c join runs r on r.id = c.run_id group by all order by 4 desc"
        ),
    ),
)
