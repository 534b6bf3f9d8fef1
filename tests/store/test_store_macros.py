"""The functions SQL has beside the tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from store_documents import MACHINE, run_document
from store_performance import comparison_run, performance

from opsdebug_ci.errors import StoreError
from opsdebug_ci.model import RunDocument, Stage
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.macros import MACROS, Macro
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact

PUSH = {"event": "push", "key": ""}


def timed(run_id: str, day: str, *minima_ns: float, key: str = "m1", throttled: bool = False) -> RunDocument:
    """A run that timed `add`: one launch of the head for each of the minima, each twice as long in the base."""
    document = run_document("add:pass", run_id, day=day, commit=run_id, machine=replace(MACHINE, key=key))
    whole = comparison_run(document.observations[0].case, document.run.machine)
    change = whole.comparisons[0]
    launches = tuple(
        replace(change.launches[0], arm=arm, launch=number, min_ns=factor * ns, throttled=throttled)
        for arm, factor in (("head", 1.0), ("base", 2.0))
        for number, ns in enumerate(minima_ns)
    )
    ladder = replace(whole.comparisons[1], launches=launches)
    run = replace(whole, comparisons=(replace(change, launches=launches), ladder), controls=(), contaminated=None)
    return replace(document, performance=PerformanceDocument(comparison=run))


def add(location: Path, *documents: RunDocument) -> Path:
    for document in documents:
        open_store(location).append(document)
    return location


def record(run_id: str, commit: str, line: str, **facts: object) -> RunDocument:
    """A push of `commit`, whose ancestors are the letters of `line`, nearest first."""
    tree, base = str(facts.pop("tree", "")), str(facts.pop("base", ""))
    document = run_document("add:pass", run_id, commit=commit, ancestors=tuple(line), **{**PUSH, **facts})
    revision = replace(document.run.revision, tree=tree, base_commit=base)
    return replace(document, run=replace(document.run, revision=revision))


def baselines(location: Path, revision: str) -> list[tuple[object, ...]]:
    asked = 'select "commit", distance, same_files, run_id from baseline_for(?)'
    return list(query(location, asked, (revision,)).rows)


@pytest.mark.parametrize("macro", MACROS, ids=lambda macro: macro.name)
def test_every_function_answers_on_an_empty_store(tmp_path: Path, macro: Macro) -> None:
    (tmp_path / "opsdebug-store.json").write_text('{"format_version": 1}')
    given = ", ".join("now()" if name == "moment" else "'x'" for name in macro.parameters)
    call = f"{macro.name}({given})"
    assert query(tmp_path, f"select {call}" if macro.scalar else f"from {call}").rows == (((None,),) * macro.scalar)


def test_every_function_can_be_listed_by_its_name(tmp_path: Path) -> None:
    add(tmp_path, run_document("add:pass"))
    found = query(tmp_path, "select function_name from duckdb_functions() where not internal")
    assert {str(name) for (name,) in found.rows} == {macro.name for macro in MACROS}


def test_the_latest_run_is_the_one_that_started_last(tmp_path: Path) -> None:
    add(tmp_path, run_document("add:pass", "r1", day="2026-11-02"), run_document("add:pass", "r2", day="2026-11-01"))
    assert query(tmp_path, "select latest_run()").rows == (("r1",),)
    assert query(tmp_path, "select id from latest_runs()").rows == (("r1",),)


@pytest.mark.parametrize(
    ("runs", "newest"),
    [
        ("b:2025-11-29 a:2025-12-01 c:2025-12-01 d:2025-11-30", "c"),
        ("a:2025-12-01 z:2025-12-02:import", "a"),
        ("a:2025-12-01 z:2999-01-01", "a"),
        ("a:2998-12-31 z:2999-01-01", "z"),
        ("a:2025-12-01 z:2999-01-01:import", "a"),
        ("z:2025-12-02:import", None),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_everyone_names_the_same_run_as_the_newest(tmp_path: Path, runs: str, newest: str | None, packed: bool) -> None:
    for word in runs.split():
        run_id, day, *stage = word.split(":")
        add(tmp_path, run_document("add:pass", run_id, day=day, stage=Stage(*stage) if stage else Stage.SMOKE))
    if packed:
        compact(
            open_store(tmp_path).backend, today=date(2026, 11, 30), entropy="0" * 8, rules=CompactionRules(fewest=2)
        )
    assert query(tmp_path, "select latest_run()").rows == ((newest,),)
    assert query(tmp_path, "select id from latest_runs()").rows == (((newest,),) if newest else ())
    if newest is None:
        with pytest.raises(StoreError, match="holds no run; wanted at least one"):
            open_store(tmp_path).latest()
    else:
        assert open_store(tmp_path).latest().run.id == newest


def test_of_two_attempts_the_higher_is_the_newest_for_everyone(tmp_path: Path) -> None:
    for run_id, day, attempt in (("r1", "2025-11-03", 1), ("r2", "2025-11-02", 2), ("r3", "2025-11-01", 3)):
        add(tmp_path, run_document("add:pass", run_id, day=day, key="o/r/7/t/full", attempt=attempt))
    assert query(tmp_path, "select latest_run()").rows == ((open_store(tmp_path).latest().run.id,),) == (("r3",),)


def test_the_latest_runs_are_all_of_one_ci_run(tmp_path: Path) -> None:
    for run_id, key in [
        ("r1", "o/r/7/test/full@1of2"),
        ("r2", "o/r/7/test/full@2of2"),
        ("r3", "o/r/7/speed/full"),
        ("r4", "o/r/8/test/full@1of2"),
        ("r5", "o/r/8/test/full@2of2"),
    ]:
        add(tmp_path, run_document("add:pass", run_id, key=key))
    assert query(tmp_path, "select id from latest_runs() order by 1").rows == (("r4",), ("r5",))
    add(tmp_path, run_document("add:pass", "r6", key="o/r/7/late/full"))
    assert [row[0] for row in query(tmp_path, "select id from latest_runs() order by 1").rows] == [
        "r1",
        "r2",
        "r3",
        "r6",
    ]


def test_a_trend_is_the_median_of_launches_of_the_head(tmp_path: Path) -> None:
    add(tmp_path, timed("r1", "2026-11-01", 100.0, 104.0, 130.0), timed("r2", "2026-11-02", 208.0, 200.0, 216.0))
    asked = "select \"commit\", machine_key, source, ns, ratio, launches, throttled, contaminated from trend('add')"
    assert query(tmp_path, asked).rows == (
        ("r1", "m1", "comparison", 104.0, None, 3, False, False),
        ("r2", "m1", "comparison", 208.0, 2.0, 3, False, False),
    )


def test_a_trend_keeps_machines_apart_and_marks_doubt(tmp_path: Path) -> None:
    add(
        tmp_path,
        timed("r1", "2026-11-01", 100.0),
        timed("r2", "2026-11-02", 400.0, key="m2", throttled=True),
        timed("r3", "2026-11-03", 150.0),
    )
    asked = "select run_id, ratio, throttled from trend('add') order by run_id"
    assert query(tmp_path, asked).rows == (("r1", None, False), ("r2", None, True), ("r3", 1.5, False))


def test_a_trend_tells_profiles_and_imported_times_apart(tmp_path: Path) -> None:
    document = run_document("add:pass", "r1")
    add(tmp_path, replace(document, performance=performance(document.observations[0].case, MACHINE)))
    sources = query(tmp_path, "select source, launches from trend('add') order by 1").rows
    assert sources == (("comparison", 2), ("imported", 1), ("profile", 1))


@pytest.mark.parametrize(("wanted", "rows"), [("add", 1), ("a*", 1), ("*", 1), ("a", 0), ("[ab]dd", 1), ("gelu", 0)])
def test_an_operator_is_a_pattern(tmp_path: Path, wanted: str, rows: int) -> None:
    add(tmp_path, timed("r1", "2026-11-01", 100.0))
    assert len(query(tmp_path, "from trend(?)", (wanted,)).rows) == rows
    assert len(query(tmp_path, "from accuracy_trend(?)", (wanted,)).rows) == rows


def test_a_trend_of_accuracy_counts_cases(tmp_path: Path) -> None:
    add(tmp_path, run_document("add:pass add:fail/f1 add:skipped gelu:pass", "r1"))
    asked = "select cases, not_passed, ulp_max, dtype, run_id from accuracy_trend('add')"
    assert query(tmp_path, asked).rows == ((2, 1, 2.0, "float32", "r1"),)


def test_a_push_is_compared_with_its_nearest_recorded_ancestor(tmp_path: Path) -> None:
    add(tmp_path, record("r1", "a", ""), record("r2", "b", "a"), record("r3", "e", "dcba"))
    assert baselines(tmp_path, "e") == [("b", 3, False, "r2")]
    assert baselines(tmp_path, "b") == [("a", 1, False, "r1")]
    assert baselines(tmp_path, "a") == []
    assert baselines(tmp_path, "unheard of") == baselines(tmp_path, "") == []


@pytest.mark.parametrize(
    "facts",
    [
        {"dirty": True},
        {"event": "pull_request", "pull_request": 3},
        {"event": "merge_group"},
        {"stage": "replay"},
        {"stage": "run"},
    ],
    ids=str,
)
def test_what_is_no_record_is_no_baseline(tmp_path: Path, facts: dict[str, object]) -> None:
    if "stage" in facts:
        facts = {"stage": Stage(facts["stage"])}
    add(tmp_path, record("r1", "a", ""), record("r2", "b", "a", **facts), record("r3", "c", "ba"))
    assert baselines(tmp_path, "c") == [("a", 2, False, "r1")]


def test_a_pull_request_is_compared_from_its_merge_base_on(tmp_path: Path) -> None:
    pull = {"event": "pull_request", "pull_request": 1}
    add(tmp_path, record("r1", "a", ""), record("r2", "x", "ba"), record("r3", "y", "xba", base="b", **pull))
    assert baselines(tmp_path, "y") == [("a", 3, False, "r1")]


def test_a_merge_base_off_the_first_parent_line_brings_its_own(tmp_path: Path) -> None:
    pull = {"event": "pull_request", "pull_request": 1}
    other = record("r2", "c", "ba", event="pull_request", pull_request=9)
    add(tmp_path, record("r1", "a", ""), other, record("r3", "y", "xw", base="c", **pull))
    assert baselines(tmp_path, "y") == [("a", 3, False, "r1")]


def test_another_commit_with_the_same_files_will_do(tmp_path: Path) -> None:
    pull = {"event": "pull_request", "pull_request": 1}
    add(
        tmp_path,
        record("r1", "a", ""),
        record("r2", "q", "a", tree="t1"),
        record("r3", "b", "a", tree="t1", **pull),
        record("r4", "c", "ba"),
    )
    assert baselines(tmp_path, "c") == [("q", 1, True, "r2")]
    add(tmp_path, record("r5", "b", "a", tree="t1"))
    assert baselines(tmp_path, "c") == [("b", 1, False, "r5")]


def test_failures_at_a_commit(tmp_path: Path) -> None:
    add(
        tmp_path,
        run_document("add:fail/f1 gelu:pass", "r1", commit="abc1"),
        run_document("add:fail/f2", "r2", commit="d"),
    )
    asked = 'select fingerprint, "commit", stage, date from failures_at(?)'
    assert query(tmp_path, asked, ("abc",)).rows == (("f1", "abc1", "smoke", date(2026, 11, 29)),)
    assert query(tmp_path, asked, ("",)).rows == ()


def test_the_day_is_that_of_the_run_in_a_pack_as_well(tmp_path: Path) -> None:
    add(tmp_path, run_document("add:fail/f1", "r1", day="2026-11-03"), run_document("add:fail/f1", "r2"))
    compact(open_store(tmp_path).backend, today=date(2027, 6, 1), entropy="e", rules=CompactionRules(fewest=2))
    assert [path.parent.name for path in tmp_path.glob("accuracy/*/*.parquet")] == ["date=2026-11-01"]
    for table, run in (("runs", "id"), ("accuracy", "run_id"), ("failures", "run_id")):
        days = query(tmp_path, f"select {run}, date from {table} order by 1").rows
        assert days == (("r1", date(2026, 11, 3)), ("r2", date(2026, 11, 29)))
