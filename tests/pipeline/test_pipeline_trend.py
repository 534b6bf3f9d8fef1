"""Trends of what regressed: which series, which stored runs, and that they are asked about nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from history_notation import FIRST_NIGHT, MACHINE, Night, case, compared, store_nights
from pipeline_speed import effect

from opsdebug_ci.errors import StoreError
from opsdebug_ci.model.speed import ComparisonRun, SpeedVerdict
from opsdebug_ci.pipeline.trend import MOST_POINTS, trends_of

SPREAD = (0.98, 0.99, 1.01, 1.02)
"""Of the launches of a night, as the notation has it."""


def commit(number: int) -> str:
    return f"{number:040x}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-five nights: one throttled, one contaminated, the last three slower; one more of another machine."""
    nights = [Night(commit=commit(number), ns=1000.0 if number < 22 else 1100.0) for number in range(25)]
    nights[23] = replace(nights[23], throttled=True)
    nights[10] = replace(nights[10], contaminated="the probe differs")
    at = tmp_path_factory.mktemp("trend")
    store_nights(at, nights)
    store_nights(at, [Night(commit=commit(99), ns=9.0)], first=30, machine=replace(MACHINE, key="m2"))
    return at


def regressed(**ratios: float) -> ComparisonRun:
    run = compared(*ratios, night=Night(commit="f" * 40, ns=1200.0))
    told = [
        replace(one, verdict=SpeedVerdict.REGRESSED, confirm=effect(ratio, ratio, ratio))
        for one, ratio in zip(run.comparisons, ratios.values(), strict=True)
    ]
    return replace(run, comparisons=tuple(told))


def test_the_newest_sound_runs_of_this_machine_oldest_first(place: Path) -> None:
    (trend,) = trends_of(regressed(double=1.2), place, "m1")
    assert trend.case == case()
    assert [int(point.commit, 16) for point in trend.points] == [*range(3, 10), *range(11, 23), 24]
    assert len(trend.points) == MOST_POINTS
    assert {point.ns for point in trend.points} == {median(ns * f for f in SPREAD) for ns in (1000.0, 1100.0)}
    assert trend.points[-1].at == FIRST_NIGHT.replace(day=25).isoformat()
    assert trend.now_ns == median(1200.0 * factor for factor in SPREAD)


def test_another_machine_and_no_store_have_no_points(place: Path, tmp_path: Path) -> None:
    for at, key in ((place, "m3"), (tmp_path / "nowhere", "m1")):
        (trend,) = trends_of(regressed(double=1.2), at, key)
        assert trend.points == ()


def test_an_operator_is_shown_once_by_the_series_that_lost_most(place: Path) -> None:
    run = regressed(double=1.2, gelu=1.5)
    mild, other = run.comparisons
    worse = replace(mild, case=replace(mild.case, id="double-2"), confirm=effect(1.4, 1.3, 1.5))
    trends = trends_of(replace(run, comparisons=(mild, other, worse)), place, "m1")
    assert [(one.case.operator, one.case.id) for one in trends] == [("double", "double-2"), ("gelu", "gelu-1")]


def test_what_did_not_regress_has_no_trend_and_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "opsdebug-store.json").write_text("no store of ours")
    assert trends_of(compared(night=Night(commit="f" * 40, ns=1200.0)), tmp_path, "m1") == ()
    with pytest.raises(StoreError):
        trends_of(regressed(double=1.2), tmp_path, "m1")
