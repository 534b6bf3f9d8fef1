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
    ExampleQuery(
        title="launch minima of every series over time, on one kind of machine each",
        sql=(
            'select t.operator, t.case_name, r.machine_key, r.started_at, t."commit", median(t.min_ns) as min_ns, '
            "count(*) as launches from timings t join runs r on r.id = t.run_id "
            "where t.arm = 'head' and t.why = 'change' and not t.contaminated and not t.throttled "
            "group by all order by 1, 2, 3, 4"
        ),
    ),
    ExampleQuery(
        title="what was called regressed, with its interval",
        sql=(
            'select c.operator, c.case_name, c.base_commit, c."commit", '
            "coalesce(c.confirm_ratio, c.screen_ratio) as ratio, coalesce(c.confirm_low, c.screen_low) as low, "
            "coalesce(c.confirm_high, c.screen_high) as high from comparisons c "
            "where c.verdict = 'regressed' and c.why <> 'control' order by ratio desc"
        ),
    ),
    ExampleQuery(
        title="our own false alarms: controls, and at most how often (95 %), where there was none",
        sql=(
            "select count(*) filter (where verdict = 'regressed') as alarms, count(*) as controls, "
            "case when alarms = 0 and controls > 0 then 1 - pow(0.05, 1.0 / controls) end as at_most "
            "from comparisons where why = 'control' and verdict <> 'inconclusive' and ((complete and contaminated is "
            "null) or run_id in (select run_id from comparisons where why = 'control' and verdict = 'regressed'))"
        ),
    ),
    ExampleQuery(
        title="the worst use of the device, at the newest profile of every case",
        sql=(
            "select operator, case_name, arg_max(utilisation, run_id) as utilisation, arg_max(bound, run_id) as bound, "
            "arg_max(advice, run_id) as advice from timings where round = 'profile' and utilisation is not null "
            "group by all order by 3 limit 20"
        ),
    ),
    ExampleQuery(
        title="where the level of a series changed, and between which commits",
        sql='select operator, case_name, c.ratio, c."before", c."after" from histories, unnest(changes) as t(c)',
    ),
)
