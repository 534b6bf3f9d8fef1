"""SQL over a store: what it sees, what it must not reach, what it says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_documents import CALIBRATION, MACHINE, full_document, run_document
from store_performance import calm, performance, with_controls

from opsdebug_ci.errors import QueryError, StoreError
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.sql.examples import EXAMPLES, ExampleQuery
from opsdebug_ci.store.sql.query import TableListing, query, tables
from opsdebug_ci.store.sql.views import VIEW_NAMES


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one run of two cases."""
    open_store(tmp_path / "s").append(run_document("add:pass gelu:fail/f1"), [CALIBRATION])
    return tmp_path / "s"


def ids(location: Path) -> list[object]:
    return [row[0] for row in query(location, "select id from runs order by id").rows]


def test_an_answer_has_names_types_and_values(store: Path) -> None:
    answer = query(store, "select operator, count(*) as n, any_value(dims) as dims from accuracy group by 1 order by 1")
    assert answer.columns == ("operator", "n", "dims")
    assert answer.types == ("VARCHAR", "BIGINT", "MAP(VARCHAR, BIGINT)")
    assert answer.rows == (("add", 1, {"S": 128, "B": 1}), ("gelu", 1, {"S": 128, "B": 1}))


def test_instants_are_utc(store: Path) -> None:
    instant = datetime(2026, 11, 29, 10, 20, 30, 123456, tzinfo=timezone.utc)
    assert query(store, "select started_at, started_at::varchar, date::varchar from runs").rows == (
        (instant, "2026-11-29 10:20:30.123456+00", "2026-11-29"),
    )


def test_nested_columns_can_be_queried(tmp_path: Path) -> None:
    open_store(tmp_path).append(full_document())
    nested = "select f.cause, f.evidence->>'first' from accuracy, unnest(findings) t(f) where is_worst"
    assert query(tmp_path, nested).rows == (("tail_mask", "120"), ("unknown", "120"))
    assert query(tmp_path, "select worst.tolerance from accuracy where worst is not null").rows == ((0.5,),)


def test_parameters_are_values_not_text(store: Path) -> None:
    assert query(store, "select ?", ("'; drop",)).rows == (("'; drop",),)


@pytest.mark.parametrize("name", VIEW_NAMES)
def test_every_view_has_its_columns_even_without_files(tmp_path: Path, name: str) -> None:
    (tmp_path / "opsdebug-store.json").write_text('{"format_version": 1}')
    empty = query(tmp_path, f"select * from {name}")
    open_store(tmp_path).append(full_document(), [CALIBRATION])
    filled = query(tmp_path, f"select * from {name}")
    assert empty.rows == ()
    assert (empty.columns, empty.types) == (filled.columns, filled.types)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_are_those_of_the_schema(store: Path, table: object) -> None:
    named = [column.name for column in table.columns]
    assert list(query(store, f"select * from {table.name}").columns) == [*named, "date"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_every_example_runs(store: Path, example: ExampleQuery) -> None:
    speed = run_document("add:pass", "r-speed")
    said = performance(speed.observations[0].case, MACHINE)
    open_store(store).append(replace(speed, performance=said))
    open_store(store).append(calm(with_controls(run_document("add:pass", "r-calm"), "same")))
    answer = query(store, example.sql)
    if "findings" in example.sql:
        assert answer.columns == ("case_name", "cause", "confidence", "evidence")
    else:
        assert answer.rows


def test_the_listing_counts_visible_rows(store: Path) -> None:
    listing = tables(store)
    assert {table.name: table.rows for table in listing.tables} == {
        "accuracy": 2,
        "timings": 0,
        "comparisons": 0,
        "histories": 0,
        "sweeps": 0,
        "calibrations": 2,
        "failures": 1,
        "acceptances": 0,
        "runs": 1,
        "failure_history": 1,
        "failure_groups": 0,
        "machines": 1,
    }
    assert TableListing(name="runs", comment="One row per run.", rows=1) in listing.tables
    assert (listing.location, listing.examples) == (str(store), EXAMPLES)


def test_rows_without_their_run_are_invisible(store: Path) -> None:
    (store / "runs" / "date=2026-11-29" / "r1.parquet").unlink()
    assert {table.rows for table in tables(store).tables} == {0}


@pytest.mark.parametrize(
    ("first", "second", "visible"),
    [
        pytest.param({"attempt": 1}, {"attempt": 2}, ["r2"], id="a later attempt replaces"),
        pytest.param({"attempt": 2}, {"attempt": 1}, ["r1"], id="in whatever order they were stored"),
        pytest.param({"attempt": 1}, {"attempt": 1}, ["r1", "r2"], id="one attempt may hold two runs"),
        pytest.param({"key": "k1", "attempt": 1}, {"key": "k2", "attempt": 2}, ["r1", "r2"], id="another job or shard"),
        pytest.param({"key": ""}, {"key": ""}, ["r1", "r2"], id="outside CI every run counts"),
        pytest.param(
            {"attempt": 1},
            {"attempt": 2, "machine": replace(MACHINE, key="m2", cpu="another CPU", cores=64)},
            ["r2"],
            id="a repeated leg on another host",
        ),
        pytest.param(
            {"attempt": 1},
            {"attempt": 2, "machine": replace(MACHINE, key="m2", python="3.12.1")},
            ["r1", "r2"],
            id="another leg of the matrix",
        ),
    ],
)
def test_the_highest_attempt_wins(
    tmp_path: Path, first: dict[str, object], second: dict[str, object], visible: list[str]
) -> None:
    for run_id, facts in [("r1", first), ("r2", second)]:
        open_store(tmp_path).append(run_document("add:pass", run_id, **{"key": "k", **facts}))
    assert ids(tmp_path) == visible
    assert query(tmp_path, "select count(*) from accuracy").rows == ((len(visible),),)


def test_failure_history_knows_first_and_last(tmp_path: Path) -> None:
    for run_id, day, commit, cases in [
        ("r1", "2026-11-01", "c1", "add:fail/f1 add:fail/f1"),
        ("r2", "2026-11-02", "c2", "add:pass"),
        ("r3", "2026-11-03", "c3", "add:fail/f1 gelu:fail/f2 gelu:fail"),
    ]:
        open_store(tmp_path).append(run_document(cases, run_id, day=day, commit=commit))
    history = (
        "select fingerprint, operator, first_seen::date::varchar, last_seen::date::varchar, first_commit, last_commit, "
        "runs, cases from failure_history order by 1"
    )
    assert query(tmp_path, history).rows == (
        ("f1", "add", "2026-11-01", "2026-11-03", "c1", "c3", 2, 2),
        ("f2", "gelu", "2026-11-03", "2026-11-03", "c3", "c3", 1, 1),
    )


def test_groups_are_rows_of_their_own(tmp_path: Path) -> None:
    open_store(tmp_path).append(full_document())
    rows = query(tmp_path, 'select run_id, "group".fingerprint, "group".members from failure_groups').rows
    assert rows == tuple(
        (full_document().run.id, g.fingerprint, list(g.members)) for g in full_document().summary.groups
    )
    assert rows


def test_groups_of_an_older_program_have_no_members(tmp_path: Path) -> None:
    open_store(tmp_path).append(full_document())
    (path,) = tmp_path.glob("runs/*/*.parquet")
    table = pq.ParquetFile(path).read().replace_schema_metadata()
    known = ("fingerprint", "cause", "operator", "count", "cases", "statement")
    groups = [[{name: g[name] for name in known} for g in row] for row in table["groups"].to_pylist()]
    shape = pa.list_(
        pa.struct([field for field in table.schema.field("groups").type.value_type if field.name in known])
    )
    position = table.schema.get_field_index("groups")
    pq.write_table(table.set_column(position, "groups", pa.array(groups, shape)), path)
    assert query(tmp_path, 'select "group".members, "group".umbrella from failure_groups').rows == ((None, None),)
    (group,) = open_store(tmp_path).latest().summary.groups
    assert (group.members, group.umbrella, group.identity) == ((), False, None)


def test_a_file_of_an_older_shape_reads_as_null(store: Path) -> None:
    path = store / "runs" / "date=2026-11-29" / "r0.parquet"
    older = pq.ParquetFile(store / "runs" / "date=2026-11-29" / "r1.parquet").read().replace_schema_metadata()
    older = older.drop_columns(["sources", "threads", "branch"]).set_column(0, "id", pa.array(["r0"]))
    pq.write_table(older, path)
    assert query(store, "select id, threads, branch, sources from runs order by id").rows == (
        ("r0", None, None, None),
        ("r1", 2, "", []),
    )


@pytest.mark.parametrize("name", ["o'clock", "a[1]b", "st*r?", "x y"])
def test_any_path_can_be_a_store(tmp_path: Path, name: str) -> None:
    (tmp_path / "a1b").mkdir()
    open_store(tmp_path / name).append(run_document("add:pass"))
    assert query(tmp_path / name, "select operator from accuracy").rows == (("add",),)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from read_blob('/proc/self/environ')",
        "select * from read_text('{store}/../secret.txt')",
        "select * from read_text('{store}/opsdebug-store.json')",
        "select * from glob('{store}/../*')",
        "select * from glob('/etc/*')",
        "select * from sniff_csv('/etc/passwd')",
        "select * from '{store}/../secret.txt'",
        "from '/etc/passwd'",
        "select * from read_parquet('https://example.com/x.parquet')",
        "select * from parquet_metadata('/etc/passwd')",
        "select getenv('HOME')",
        "select * from store",
        "copy (select 1) to '{store}/x.csv'",
        "copy (select 1) to '{store}/../x.csv'",
        "explain analyze copy (select 1) to '{store}/x.csv'",
        "select 1; copy (select 1) to '{store}/x.csv'",
        "with x as (copy (select 1) to '{store}/x.csv') select 1",
        "with x as (copy (select 1) to '{store}/x.csv') from x",
        "select * from enable_logging('QueryLog', storage='file', storage_path='{store}')",
        "select * from query('copy (select 1) to ''{store}/x.csv''')",
        "export database '{store}/x'",
        "import database '{store}'",
        "attach '{store}/x.db' as x",
        "attach ':memory:' as x",
        "install httpfs",
        "load httpfs",
        "load '{store}/x.so'",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "reset allowed_directories",
        "pragma enable_external_access = true",
        "call pragma_version()",
        "create table x as select 1",
        "create view runs as select 1",
        "drop view runs",
        "delete from runs",
        "insert into runs values (1)",
        "checkpoint",
        "vacuum",
        "prepare x as select 1",
        "use memory",
        "from read_parquet('/etc/passwd')",
        "from read_json('/etc/passwd')",
        "from read_json_objects('/etc/passwd')",
        "from read_ndjson_objects('{store}/opsdebug-store.json')",
        "from read_csv_auto('/dev/stdin')",
        "from parquet_scan('{store}/runs/*/*.parquet')",
        "from parquet_schema('{store}/runs/date=2026-11-29/r1.parquet')",
        "from parquet_file_metadata('{store}/runs/date=2026-11-29/r1.parquet')",
        "from parquet_kv_metadata('{store}/runs/date=2026-11-29/r1.parquet')",
        "from '{store}/runs/date=2026-11-29/r1.parquet'",
        "from 's3://bucket/x.parquet'",
        "from sqlite_scan('{store}/x.db', 't')",
        "from iceberg_scan('{store}')",
        "from delta_scan('{store}')",
        "from arrow_scan(1, 2, 3)",
        "from pandas_scan(1)",
        "from python_map_function(1)",
        "with x as materialized (from read_text('/etc/passwd')) from x",
        "with recursive x as (select 1 as a union all select a + 1 from x, read_text('/etc/passwd')) from x",
        "select (select content from read_text('/etc/passwd'))",
        "select [x.content for x in (from read_text('/etc/passwd'))]",
        "select id from runs where exists (from glob('/etc/*'))",
        "select id from runs union all select content from read_text('/etc/passwd')",
        "select id from runs, lateral (from read_text(runs.branch || '/etc/passwd'))",
        "select id from runs order by (select count(*) from glob('/*'))",
        "from query('from read_text(''/etc/passwd'')')",
        "from query_table('/etc/passwd')",
        "from query_table(['{store}/runs/date=2026-11-29/r1.parquet'])",
        "from trend((select content from read_text('/etc/passwd')))",
        "from failures_at((select any_value(file) from glob('/etc/*')))",
        "pivot (from read_text('/etc/passwd')) on filename using count(*)",
        "describe (from '/etc/passwd')",
        "describe '/etc/passwd'",
        "summarize '/etc/passwd'",
        "summarize read_text('/etc/passwd')",
        "explain copy (select 1) to '{store}/x.csv'",
        "explain analyze select * from read_text('/etc/passwd')",
        "select * from pragma_import('{store}')",
        "select nextval('x')",
        "from duckdb_secrets()",
        "from test_all_types('{store}')",
        "set variable x = 1",
        "set global temp_directory = '{store}'",
        "set home_directory = '{store}'",
        "set allowed_paths = ['/etc/passwd']",
        "set custom_extension_repository = '{store}'",
        "pragma enable_profiling = 'json'",
        "pragma profiling_output = '{store}/x.json'",
        "force install json",
        "update extensions",
        "detach memory",
        "comment on view runs is 'x'",
        "alter view runs rename to x",
        "create or replace macro trend(x) as table select 1",
        "create temp macro latest_run() as 'x'",
        "create secret (type s3)",
        "create type x as enum ('a')",
        "create schema x",
        "copy runs from '{store}/x.csv'",
        "copy from database memory to x",
        "merge into runs using runs as x on true when matched then delete",
        "begin transaction",
        "deallocate x",
        "execute x",
        "analyze",
        "truncate runs",
        "call enable_logging()",
    ],
)
def test_nothing_but_the_store_can_be_reached(store: Path, sql: str) -> None:
    (store.parent / "secret.txt").write_text("secret")
    before = sorted(store.parent.rglob("*"))
    with pytest.raises(QueryError):
        query(store, sql.replace("{store}", str(store)))
    assert sorted(store.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("from runs select id", (("r1",),)),
        ("with x as (select 1 as a) select a from x", ((1,),)),
        ("values (1), (2)", ((1,), (2,))),
        ("select id from query('from runs')", (("r1",),)),
        ("select ID from main.RUNS", (("r1",),)),
        ("pivot failures on cause in ('unknown') using count(*) group by operator", (("gelu", 1),)),
        ("select 1; ", ((1,),)),
        ("select current_setting('enable_external_access')", ((False,),)),
        ("select current_setting('lock_configuration')", ((True,),)),
        ("select id from runs where id in (select latest_run())", (("r1",),)),
    ],
)
def test_what_is_harmless_runs(store: Path, sql: str, rows: tuple[object, ...]) -> None:
    assert query(store, sql.replace("{store}", str(store))).rows == rows


@pytest.mark.parametrize(
    "sql",
    [
        "explain select 1 from runs",
        "EXPLAIN ANALYZE from runs",
        "explain (format json) select 1",
        "explain (from runs)",
    ],
)
def test_how_a_select_is_answered_can_be_asked(store: Path, sql: str) -> None:
    assert len(query(store, sql).rows) == 1


@pytest.mark.parametrize(
    "rest", ["copy runs to 'x.csv'", "analyze drop view runs", "create table x as select 1", "set threads = 1"]
)
def test_nothing_else_is_explained(store: Path, rest: str) -> None:
    with pytest.raises(QueryError, match="wanted one SELECT"):
        query(store, f"explain {rest}")


def test_a_pivot_that_looks_first_is_told_how_to_be_written(store: Path) -> None:
    with pytest.raises(
        QueryError, match="got PIVOT over values that are not listed; wanted one SELECT: list them, as in"
    ):
        query(store, "pivot failures on cause using count(*)")


def test_the_catalogue_can_be_looked_at(store: Path) -> None:
    stored = {f"{table.name}_files" for table in TABLES}
    assert {row[0] for row in query(store, "show tables").rows} == {*VIEW_NAMES, *stored}
    assert query(store, "describe calibrations").rows[0][:2] == ("run_id", "VARCHAR")
    counted = query(store, "select count(*) from information_schema.columns where table_name = 'acceptances'")
    assert counted.rows == ((10,),)


def test_a_refusal_says_what_was_wanted(store: Path) -> None:
    with pytest.raises(QueryError) as caught:
        query(store, "copy runs to 'x.csv'")
    assert str(caught.value) == (
        "the query cannot be answered: got COPY statement; wanted one SELECT: the store is read-only\n"
        "  tables: accuracy, timings, comparisons, histories, sweeps, calibrations, failures, acceptances, runs, "
        "failure_history, failure_groups, machines\n"
        "  next: `opsdebug sql` lists tables, functions and example queries; `describe TABLE` lists columns"
    )


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "got no statement; wanted one SELECT"),
        ("select 1; select 2", "got 2 SELECTs; wanted one at a time"),
        ("selekt 1", "syntax error"),
        ("select operater from accuracy", '"operater" not found'),
        ("select * from accuracies", "accuracies does not exist"),
        ("select 'x'::int", "Could not convert"),
    ],
)
def test_a_mistake_is_explained(store: Path, sql: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        query(store, sql)
    assert "tables: accuracy, timings" in str(caught.value)


def test_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such directory"):
        query(tmp_path / "s", "select 1")


def test_a_query_writes_nothing(store: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in store.rglob("*"))
    query(store, "select * from accuracy join runs on id = run_id order by all")
    assert sorted((path, path.stat().st_mtime_ns) for path in store.rglob("*")) == before


def test_importing_the_package_costs_no_library() -> None:
    loaded = "import sys, opsdebug_ci.store; print(sorted({'duckdb', 'pyarrow', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def test_a_leg_run_again_hides_no_other_leg(tmp_path: Path) -> None:
    other = replace(run_document("add:pass", "b1", key="k", attempt=1))
    other = replace(other, run=replace(other.run, config_hash="1" * 64))
    open_store(tmp_path).append(run_document("add:pass", "a1", key="k", attempt=1))
    open_store(tmp_path).append(other)
    open_store(tmp_path).append(replace(other, run=replace(other.run, id="b2", ci=replace(other.run.ci, attempt=2))))
    assert query(tmp_path, "select id from runs order by id").rows == (("a1",), ("b2",))


def test_a_leg_run_again_after_the_pool_was_renewed_replaces_the_first(tmp_path: Path) -> None:
    first = run_document("add:pass", "a1", key="k", attempt=1)
    renewed = replace(first.run.machine, python="3.11.8")
    again = replace(first.run, id="a2", ci=replace(first.run.ci, attempt=2), machine=renewed)
    open_store(tmp_path).append(first)
    open_store(tmp_path).append(replace(first, run=again))
    assert query(tmp_path, "select id from runs").rows == (("a2",),)
