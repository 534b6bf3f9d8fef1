"""Stored times of series: which runs they come from, in which order, with which marks."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_documents import CALIBRATION, MACHINE, run_document
from store_performance import comparison_run

from opsdebug_ci.model import Calibration, Stage
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing, ComparisonRun, LaunchTime, Round
from opsdebug_ci.store.memory.series import ProbeTime, accepted_levels, stored_series
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.schema import TABLES

NOW = datetime(2026, 12, 1, tzinfo=timezone.utc)


def timed(*minima_ns: float, throttled: bool = False, contaminated: str | None = None) -> ComparisonRun:
    """The code under test in two comparisons, which share its launches, and a base and a control that do not count."""
    case = run_document("add:pass").observations[0].case
    blank = comparison_run(case, MACHINE, controls="same")

    def launches(arm: str, values: tuple[float, ...]) -> tuple[LaunchTime, ...]:
        return tuple(
            replace(blank.comparisons[0].launches[0], arm=arm, launch=n, min_ns=value, throttled=throttled)
            for n, value in enumerate(values)
        )

    head = launches("head", minima_ns)
    change = replace(blank.comparisons[0], launches=(*launches("base", (1.0, 2.0)), *head))
    rung = replace(change, why=Comparing.LADDER, base="a week ago", launches=(*launches("a week ago", (3.0,)), *head))
    return replace(blank, comparisons=(change, rung), contaminated=contaminated)


def store_run(
    place: Path,
    run_id: str,
    comparison: ComparisonRun | None,
    calibrations: tuple[Calibration, ...] = (),
    **facts: object,
) -> None:
    document = run_document("add:pass", run_id, **{"commit": "c1", "stage": Stage.FULL, **facts})
    performance = None if comparison is None else PerformanceDocument(comparison=comparison)
    open_store(place).append(replace(document, performance=performance), calibrations)


def test_launches_of_the_head_are_read_once_in_order_with_their_run(tmp_path: Path) -> None:
    store_run(tmp_path, "r1", timed(12.5, 11.0, 13.0), (CALIBRATION,), commit="c7")
    ((case_id, (run,)),) = stored_series(tmp_path, "m1").items()
    assert case_id == "add-0"
    assert (run.run_id, run.commit, run.tree) == ("r1", "c7", "t" * 40)
    assert run.minima_ns == (12.5, 11.0, 13.0)
    assert run.started_at == datetime(2026, 11, 29, 10, 20, 30, 123456, tzinfo=timezone.utc)
    assert run.probes == (
        ProbeTime(probe="gemm", size_bytes=3 << 18, ns=1600.0),
        ProbeTime(probe="memcpy", size_bytes=1 << 20, ns=100.0),
    )
    assert not run.throttled and not run.contaminated


def test_runs_come_by_time_and_not_by_name(tmp_path: Path) -> None:
    for run_id, day in (("r3", "2026-11-01"), ("r1", "2026-11-03"), ("r2", "2026-11-02")):
        store_run(tmp_path, run_id, timed(10.0), day=day)
    assert [run.run_id for run in stored_series(tmp_path, "m1")["add-0"]] == ["r3", "r2", "r1"]


def test_launches_of_both_rounds_count(tmp_path: Path) -> None:
    run = timed(10.0, 12.0)
    change = run.comparisons[0]
    fresh = tuple(replace(one, round=Round.CONFIRM, min_ns=one.min_ns + 5) for one in change.launches)
    store_run(tmp_path, "r1", replace(run, comparisons=(replace(change, launches=(*change.launches, *fresh)),)))
    assert sorted(stored_series(tmp_path, "m1")["add-0"][0].minima_ns) == [10.0, 12.0, 15.0, 17.0]


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"dirty": True}, id="dirty"),
        pytest.param({"stage": Stage.RUN}, id="by hand"),
        pytest.param({"stage": Stage.REPLAY}, id="replay"),
        pytest.param({"pull_request": 7}, id="of a pull request"),
        pytest.param({"event": "pull_request_target"}, id="the event of one"),
        pytest.param({"event": "merge_group"}, id="merge queue"),
        pytest.param({"machine": replace(MACHINE, key="m2")}, id="another machine"),
    ],
)
def test_other_runs_are_no_history(tmp_path: Path, facts: dict[str, object]) -> None:
    store_run(tmp_path, "r1", timed(10.0), **facts)
    store_run(tmp_path, "r2", timed(11.0))
    assert [run.run_id for run in stored_series(tmp_path, "m1")["add-0"]] == ["r2"]


def test_a_run_that_timed_nothing_is_not_there(tmp_path: Path) -> None:
    store_run(tmp_path, "r1", None)
    assert stored_series(tmp_path, "m1") == {}


def test_marks_are_handed_out(tmp_path: Path) -> None:
    store_run(tmp_path, "r1", timed(10.0, throttled=True), day="2026-11-01")
    store_run(tmp_path, "r2", timed(10.0, contaminated="a control alarmed"), day="2026-11-02")
    first, second = stored_series(tmp_path, "m1")["add-0"]
    assert (first.throttled, first.contaminated) == (True, False)
    assert (second.throttled, second.contaminated) == (False, True)


def test_probes_are_those_of_the_series_device(tmp_path: Path) -> None:
    store_run(tmp_path, "r1", timed(10.0), (replace(CALIBRATION, device="cuda"),))
    assert stored_series(tmp_path, "m1")["add-0"][0].probes == ()


def test_no_store_has_no_history(tmp_path: Path) -> None:
    assert stored_series(tmp_path / "nowhere", "m1") == {}
    assert accepted_levels(tmp_path / "nowhere", NOW) == {}


def test_the_newest_acceptance_that_has_not_lapsed_counts(tmp_path: Path) -> None:
    store_run(tmp_path, "r1", timed(10.0))
    schema = next(table.schema for table in TABLES if table.name == "acceptances")
    rows = [
        ("a1", None, "add", datetime(2026, 11, 5, tzinfo=timezone.utc), None),
        ("a2", None, "add", datetime(2026, 11, 9, tzinfo=timezone.utc), NOW.replace(year=2027)),
        ("a3", None, "add", datetime(2026, 11, 20, tzinfo=timezone.utc), NOW.replace(month=11)),
        ("a4", "f1", "gelu", datetime(2026, 11, 20, tzinfo=timezone.utc), None),
    ]
    names = ("id", "fingerprint", "operator", "accepted_at", "until")
    full = [dict.fromkeys(schema.names) | dict(zip(names, row, strict=True)) for row in rows]
    place = tmp_path / "acceptances" / "date=2026-11-20"
    place.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(full, schema=schema), place / "a.parquet")
    assert accepted_levels(tmp_path, NOW) == {"add": datetime(2026, 11, 9, tzinfo=timezone.utc)}
