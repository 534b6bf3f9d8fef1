"""What people ask most, as functions of SQL.

Decides names, parameters and text of every macro. All of them ask the views and see nothing else. Deliberately opens
nothing.

A parameter that names operators is a pattern as in `opsdebug run`: `*`, `?` and `[...]`, so a plain name is itself.
A commit is a full hash or the beginning of one.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.store.memory.comparability import comparable_with_sql
from opsdebug_ci.store.memory.recording import RECORD
from opsdebug_ci.store.tables.timings import HEAD

INVOCATION = "array_to_string(string_split({key}, '/')[1:3], '/')"
"""What the legs, shards and stages of one CI run have in common: `ci_key` up to owner, repository and run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """A function of SQL."""

    name: str
    """Its name."""

    parameters: tuple[str, ...] = ()
    """Names of its parameters, all of which must be given."""

    comment: str
    """What it answers, in a line."""

    detail: str = ""
    """What a reader of the answer must know."""

    sql: str
    """Its query, or expression."""

    scalar: bool = False
    """It is one value, rather than rows to select from."""

    @property
    def call(self) -> str:
        """How it is written."""
        return f"{self.name}({', '.join(self.parameters)})"

    @property
    def statement(self) -> str:
        """Statement that makes it."""
        return f"create macro {self.call} as {'' if self.scalar else 'table '}{self.sql}"


LATEST_RUN = Macro(
    name="latest_run",
    comment="Id of the run that started last, imports left out; of two, the one whose id sorts last.",
    detail="A run dated more than a day ahead of now comes after all others: a clock was wrong.",
    sql="""(
        select id from runs where stage is distinct from 'import'
        order by started_at > now() + interval 1 day, started_at desc, id desc limit 1
    )""",
    scalar=True,
)

LATEST_RUNS = Macro(
    name="latest_runs",
    comment="Rows of `runs`: the newest run, with all legs, shards and stages of its CI run.",
    sql=f"""
        select r.* from runs r join runs newest on newest.id = latest_run()
        where r.id = newest.id
              or (r.ci_key <> '' and {INVOCATION.format(key="r.ci_key")} = {INVOCATION.format(key="newest.ci_key")})
    """,  # noqa: S608 - our own text
)

TREND = Macro(
    name="trend",
    parameters=("operator",),
    comment="How long the code under test took: one row per case, machine, source and run, oldest first.",
    detail="`ns` is the median of the minima of its launches, `ratio` that of `ns` to the row before of the same case, "
    "machine and `source`: comparison, profile (one launch), or imported. `contaminated` and `throttled` say that the "
    "row is to be doubted.",
    # NOTE: a launch is stored once for each comparison it is part of.
    sql=f"""
        with launched as (
            select t.run_id, t.operator, t.case_id, t.case_name,
                   case when t.round in ('screen', 'confirm') then 'comparison' else t.round end as source,
                   t.round, t.launch, coalesce(t.min_ns, t.median_ns, t.mean_ns) as ns,
                   bool_or(coalesce(t.throttled, false)) as throttled,
                   bool_or(coalesce(t.contaminated, false)) as contaminated
            from timings_files t
            where t.operator glob operator and t.arm = '{HEAD}'
                  and coalesce(t.min_ns, t.median_ns, t.mean_ns) is not null
            group by all
        ),
        timed as (
            select l.run_id, l.operator, l.case_id, l.case_name, l.source, median(l.ns) as ns, count(*) as launches,
                   bool_or(l.throttled) as throttled, bool_or(l.contaminated) as contaminated
            from launched l group by l.run_id, l.operator, l.case_id, l.case_name, l.source
        )
        select r.started_at, r."commit", r.machine_key, t.operator, t.case_name, t.source, t.ns,
               t.ns / lag(t.ns) over (
                   partition by t.case_id, r.machine_key, t.source order by r.started_at, r.id
               ) as ratio,
               t.launches, t.contaminated, t.throttled, r.dirty, r.pull_request, t.case_id, r.id as run_id
        from timed t join runs r on r.id = t.run_id
        order by t.operator, t.case_name, r.machine_key, t.source, r.started_at, r.id
    """,  # noqa: S608 - our own text
)

ACCURACY_TREND = Macro(
    name="accuracy_trend",
    parameters=("operator",),
    comment="How wrong it was: one row per operator, dtype, device and run, oldest first.",
    detail="`cases` were judged, `not_passed` of them did not pass; the errors are those of the worst output.",
    sql="""
        select r.started_at, r."commit", r.machine_key, a.operator, a.dtype, a.device,
               count(distinct a.case_id) as cases,
               count(distinct a.case_id) filter (where a.verdict <> 'pass') as not_passed,
               max(a.ulp_max) as ulp_max, max(a.max_abs_err) as max_abs_err,
               arg_max(a.case_name, a.ulp_max) as worst_case, r.id as run_id
        from accuracy a join runs r on r.id = a.run_id
        where a.operator glob operator and a.verdict <> 'skipped'
        group by r.started_at, r."commit", r.machine_key, a.operator, a.dtype, a.device, r.id
        order by a.operator, a.dtype, a.device, r.started_at, r.id
    """,
)

BASELINE_FOR = Macro(
    name="baseline_for",
    parameters=("revision",),
    comment="Runs of the nearest recorded ancestor of a commit: what it is compared with. Newest first.",
    detail="Ancestors are the first parents that runs of the commit recorded, from the merge base on where there is "
    "one; `distance` counts them. `same_files`: it is another commit with the files of that ancestor. Empty: there is "
    "no run of the commit, or nothing is recorded of its last 50 ancestors.",
    sql=f"""
        with asked as (
            select r."commit", r.base_commit, r.ancestors, list_position(r.ancestors, r.base_commit) as base
            from runs r where starts_with(r."commit", revision) and revision <> ''
            order by len(r.ancestors) desc, r.id desc limit 1
        ),
        line as (
            select unnest(a.ancestors) as "commit", generate_subscripts(a.ancestors, 1) as distance,
                   coalesce(a.base, 1) as nearest
            from asked a where coalesce(a.base_commit, '') = '' or a.base is not null
            union all
            select a.base_commit, 1, 1 from asked a where a.base_commit <> '' and a.base is null
            union all
            select unnest(b.ancestors), 1 + generate_subscripts(b.ancestors, 1), 1
            from asked a join (
                select "commit", arg_max(ancestors, len(ancestors)) as ancestors from runs group by 1
            ) b on b."commit" = a.base_commit
            where a.base is null
        ),
        walked as (
            select l."commit", min(l.distance) as distance, any_value(r.tree) as tree
            from line l left join runs r on r."commit" = l."commit" and r.tree <> ''
            where l.distance >= l.nearest group by l."commit"
        ),
        recorded as (select * from runs where {RECORD}),
        found as (
            select r.*, w.distance, r."commit" <> w."commit" as same_files
            from recorded r join walked w on w."commit" = r."commit" or w.tree = r.tree
            where r."commit" <> (select "commit" from asked)
            qualify w.distance = min(w.distance) over ()
        )
        select f."commit", f.distance, f.same_files, f.id as run_id, f.stage, f.started_at, f.machine_key, f.verdict
        from found f where f.same_files = (select bool_and(same_files) from found)
        order by f.started_at desc, f.id desc
    """,  # noqa: S608 - our own text
)

FAILURES_AT = Macro(
    name="failures_at",
    parameters=("revision",),
    comment="Rows of `failures` of every run of a commit, with its stage and machine.",
    sql="""
        select f.*, r."commit", r.stage, r.machine_key, r.started_at from failures f join runs r on r.id = f.run_id
        where starts_with(r."commit", revision) and revision <> ''
        order by f.operator, f.case_name, r.id
    """,
)

COMPARABLE_WITH = Macro(
    name="comparable_with",
    parameters=("run",),
    comment="One row per other run, newest first: whether its times may be compared with those of this run, and in "
    "which facts of the machine it differs.",
    detail="A run is named by its id or the beginning of one; of several that begin so, the newest is meant.",
    sql=comparable_with_sql(),
)

IN_FORCE = Macro(
    name="in_force",
    parameters=("moment",),
    comment="Rows of `acceptances` that count at a moment, e.g. now(): all that have not lapsed, unless what was "
    "accepted of the same was withdrawn since.",
    sql="""
        with made as (
            select a.*, max(a.accepted_at) filter (where a.until = a.accepted_at) over (
                       partition by a.fingerprint, case when a.fingerprint is null then a.operator end
                   ) as withdrawn
            from acceptances a where a.accepted_at is null or a.accepted_at <= moment
        )
        select * exclude (withdrawn) from made
        where (until is null or until > moment) and coalesce(accepted_at > withdrawn, withdrawn is null)
              and (fingerprint is not null or operator is not null)
    """,
)

ACCEPTED = Macro(
    name="accepted",
    parameters=("moment",),
    comment="Rows of `in_force`: of each failure, and of how fast each operator is, the newest.",
    sql="""
        from in_force(moment)
        qualify row_number() over (
            partition by fingerprint, case when fingerprint is null then operator end
            order by accepted_at desc nulls last, id desc
        ) = 1
    """,
)

MACROS: tuple[Macro, ...] = (
    LATEST_RUN,
    LATEST_RUNS,
    TREND,
    ACCURACY_TREND,
    BASELINE_FOR,
    FAILURES_AT,
    COMPARABLE_WITH,
    IN_FORCE,
    ACCEPTED,
)
"""Every macro; one that another asks comes before it."""
