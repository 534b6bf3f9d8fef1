"""What a run says of speed comes back from the store as it was, and can be asked for in SQL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from store_documents import MACHINE, case, run_document
from store_performance import BASE, HEAD, OLD, calm, comparison_run, performance, performances, with_controls

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model import RunDocument
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing
from opsdebug_ci.regress.alarm_bound import alarm_bound
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.files.encoding import READ_BACK, decode_run, encode_run, rows_of
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.examples import EXAMPLES
from opsdebug_ci.store.sql.query import query


def stored(document: RunDocument) -> RunDocument:
    """The document as it comes back from its files."""
    files = {file.path.partition("/")[0]: file.data for file in encode_run(StoredRun(document=document))}
    return decode_run(
        {t.name: rows_of(t, pq.read_table(pa.BufferReader(files[t.name]))) for t in READ_BACK if t.name in files}
    ).document


def fast(document: PerformanceDocument | None) -> RunDocument:
    return replace(run_document("add:pass", commit=HEAD), performance=document)


@given(performances())
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
    phases=[Phase.generate],  # NOTE: a document has hundreds of fields, and shrinking one takes minutes.
)
def test_whatever_is_said_of_speed_survives(document: PerformanceDocument) -> None:
    assert stored(fast(document)).performance == document


@pytest.mark.parametrize("document", [None, PerformanceDocument(), PerformanceDocument(notes=("no base",))])
def test_not_asked_and_nothing_to_say_are_told_apart(document: PerformanceDocument | None) -> None:
    assert stored(fast(document)).performance == document


def test_a_run_that_did_not_ask_about_speed_adds_no_file() -> None:
    assert [file.path.partition("/")[0] for file in encode_run(StoredRun(document=fast(None)))] == ["accuracy", "runs"]


@pytest.mark.parametrize("where", ["comparisons", "controls"])
def test_a_control_in_the_wrong_place_is_refused(where: str) -> None:
    run = comparison_run(case("add"), MACHINE)
    why = Comparing.CONTROL if where == "comparisons" else Comparing.CHANGE
    misplaced = replace(run, **{where: (replace(run.comparisons[0], why=why),)})
    with pytest.raises(InternalError, match=f"is a `{why}`; wanted controls among `controls`"):
        encode_run(StoredRun(document=fast(PerformanceDocument(comparison=misplaced))))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run that says everything of speed."""
    place = tmp_path_factory.mktemp("speed") / "s"
    open_store(place).append(fast(performance(case("add"), MACHINE)))
    return place


def test_every_launch_is_a_row_with_the_commit_of_its_arm(store: Path) -> None:
    sql = """
        select round, why, arm, launch, min_ns, samples, "commit", base_commit, dirty, contaminated, throttled
        from timings where case_id = 'add-0' and why = 'change' order by position
    """
    launch = ("screen", "change")
    assert query(store, sql).rows == (
        (*launch, "head", 0, 800.5, 24, HEAD, BASE, True, True, True),
        (*launch, "base", 0, 800.5, 24, BASE, BASE, True, True, True),
        (*launch, "head", 1, 801.5, 24, HEAD, BASE, True, True, True),
        (*launch, "base", 1, 801.5, 24, BASE, BASE, True, True, True),
    )


def test_both_arms_of_a_control_are_the_base(store: Path) -> None:
    sql = """select distinct arm, "commit" from timings where why = 'control' order by 1"""
    assert query(store, sql).rows == (("base", BASE), ("base again", BASE))


def test_a_profile_is_a_row_of_the_head(store: Path) -> None:
    sql = """
        select arm, "commit", min_ns, median_ns, samples_ns, bytes, flops, floor_ns, bound, utilisation, reference_ns,
               findings[1].cause
        from timings where round = 'profile' order by position limit 1
    """
    assert query(store, sql).rows == (
        (
            "head",
            HEAD,
            870.25,
            900.5,
            [900.5, 870.25, 911.0],
            1500.5,
            128.0,
            150.0,
            "memory",
            0.25,
            800.0,
            "perf_cliff",
        ),
    )


def test_a_verdict_has_its_arms_and_effects(store: Path) -> None:
    sql = """
        select why, base, base_commit, "commit", verdict, screen_ratio, confirm_launches, routed, contaminated
        from comparisons order by position
    """
    contaminated = "the probe differs by 4 %"
    assert query(store, sql).rows == (
        ("change", "base", BASE, HEAD, "regressed", 1.11, 10, True, contaminated),
        ("ladder", "a week ago", OLD, HEAD, "same", 1.11, None, False, contaminated),
        ("ladder", "a week ago", OLD, HEAD, "missing", None, None, False, contaminated),
        ("control", "base", BASE, BASE, "same", 1.11, None, False, contaminated),
    )


def test_launches_are_found_from_their_verdict(store: Path) -> None:
    sql = """
        select c.why, count(t.run_id) from comparisons c
        left join timings t on t.run_id = c.run_id and t.comparison = c.position group by all order by 1
    """
    assert query(store, sql).rows == (("change", 4), ("control", 4), ("ladder", 0))


def test_suspicions_and_change_points_can_be_asked_for(store: Path) -> None:
    sql = 'select operator, suspected, c.ratio, c."before", c."after" from histories, unnest(changes) as t(c)'
    assert query(store, sql).rows == (("add", True, 1.12, OLD, HEAD),)


def test_points_of_a_sweep_can_be_asked_for(store: Path) -> None:
    sql = "select operator, exponent, p.dims['S'], p.operator_ns from sweeps, unnest(points) as t(p)"
    assert query(store, sql).rows == (("add", 2.3, 128, 900.0),)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("what was called regressed", ("add", "add[B=1,S=128 float32 seed=0]", BASE, HEAD, 1.11, 1.08, 1.14)),
        (
            "the worst use of the device",
            ("add", "add[B=1,S=128 float32 seed=0]", 0.25, "memory", "look at the access pattern"),
        ),
        ("where the level of a series changed", ("add", "add[B=1,S=128 float32 seed=0]", 1.12, OLD, HEAD)),
    ],
)
def test_worked_queries_find_what_is_there(store: Path, title: str, expected: tuple[object, ...]) -> None:
    (example,) = (example for example in EXAMPLES if example.title.startswith(title))
    assert query(store, example.sql).rows[0] == expected


def test_worked_queries_over_time_and_false_alarms(tmp_path: Path) -> None:
    place = tmp_path / "s"
    for number, verdicts in enumerate(("same same", "same inconclusive")):
        open_store(place).append(calm(with_controls(run_document("add:pass", f"r{number}"), verdicts)))
    minima, alarms = (
        next(example.sql for example in EXAMPLES if example.title.startswith(title))
        for title in ("launch minima", "our own false alarms")
    )
    assert [row[5:] for row in query(place, minima).rows] == [(801.0, 4)]
    ((found, controls, at_most),) = query(place, alarms).rows
    assert (found, controls) == (0, 3)
    assert at_most == pytest.approx(alarm_bound(0, 3).upper)
