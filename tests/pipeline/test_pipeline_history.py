"""What the stored history says of a run, from the store to the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from history_notation import FIRST_NIGHT, MACHINE, Night, calibration, case, compared, noisy, store_nights
from pipeline_notation import repository

from opsdebug_ci.model.history import ComparableRuns, LeftOut
from opsdebug_ci.model.profile_document import BoundBy
from opsdebug_ci.pipeline.history import Circumstances, HistoryOutcome, NewSeries, new_series, read_history


def commits(count: int) -> list[str]:
    return [f"{number:040x}" for number in range(1, count + 1)]


def nights(values: Sequence[float], **marks: object) -> list[Night]:
    return [Night(commit=commit, ns=ns, **marks) for commit, ns in zip(commits(len(values)), values, strict=True)]


def read(place: Path, ns: float, *, threshold: float = 0.10, **facts: object) -> HistoryOutcome:
    series = new_series(compared(night=Night(commit="f" * 40, ns=ns)))
    known = {"commit": "f" * 40, "now": FIRST_NIGHT + timedelta(days=100), **facts}
    return read_history(str(place), series, Circumstances(machine=MACHINE, thresholds=lambda _: threshold, **known))


@pytest.fixture(scope="module")
def level(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty level nights of 11.1 us."""
    place = tmp_path_factory.mktemp("level")
    store_nights(place, nights(noisy([11_100.0] * 30)))
    return place


def test_an_expected_time_is_told_with_its_interval(level: Path) -> None:
    outcome = read(level, 11_200.0)
    (reading,) = outcome.readings
    assert reading.statement == "11.2 us, expected 11.1 us [10.9, 11.3] from 30 runs of this machine"
    assert not reading.suspected and outcome.doubts == ()
    assert (reading.runs, reading.left_out, reading.changes) == (30, 0, ())


def test_a_slow_run_is_to_be_compared_with_the_newest_commit_of_the_old_level(level: Path) -> None:
    outcome = read(level, 12_300.0)
    (reading,) = outcome.readings
    assert reading.statement == (
        "12.3 us, expected 11.1 us [10.9, 11.3] from 30 runs of this machine; "
        "11 % above what is expected: suspected, not certain; to be compared with 0000000"
    )
    (doubt,) = outcome.doubts
    assert (doubt.commit, doubt.operators) == (commits(30)[-1], ("double",))


def test_the_same_code_cannot_have_become_slower(level: Path) -> None:
    outcome = read(level, 12_300.0, commit=commits(30)[20])
    (reading,) = outcome.readings
    assert outcome.doubts == () and not reading.suspected
    assert "the same code ran at the old level before" in reading.statement


def test_another_machine_and_a_missing_store_have_no_history(level: Path, tmp_path: Path) -> None:
    for place in (level, tmp_path / "nowhere"):
        known = Circumstances(machine=replace(MACHINE, key="m2"), now=FIRST_NIGHT, thresholds=lambda _: 0.1)
        (reading,) = read_history(str(place), [NewSeries(case=case(), minima_ns=(5.0,))], known).readings
        assert reading.statement == "5.00 ns; 0 runs of this machine so far, 8 are needed to expect anything"
        assert reading.expected_ns is None and reading.detectable is None


def test_of_two_machines_in_one_store_only_one_counts_and_it_is_said_why(tmp_path: Path) -> None:
    slower = replace(MACHINE, key="m0", torch="2.12.0")
    store_nights(tmp_path, nights(noisy([99_000.0] * 20)), machine=slower)
    store_nights(tmp_path, nights(noisy([11_100.0] * 30)), first=20)
    outcome = read(tmp_path, 11_200.0)
    assert outcome.readings[0].statement == "11.2 us, expected 11.1 us [10.9, 11.3] from 30 runs of this machine"
    assert outcome.comparable == ComparableRuns(
        machine_key="m1",
        counted=30,
        left_out=20,
        other_machines=1,
        why=(LeftOut(machines=1, runs=20, differs=("torch 2.12.0 there, 2.13.0 here",)),),
    )


def test_the_first_run_of_a_machine_is_recorded_and_nothing_is_doubted(tmp_path: Path) -> None:
    store_nights(tmp_path, nights(noisy([1_000.0] * 30)), machine=replace(MACHINE, key="m0", cores=4))
    outcome = read(tmp_path, 11_200.0)
    assert outcome.doubts == () and not outcome.readings[0].suspected
    assert (outcome.comparable.counted, outcome.comparable.left_out) == (0, 30)
    assert [one.differs for one in outcome.comparable.why] == [("4 cores there, 2 here",)]


def test_throttled_and_contaminated_runs_are_left_out_and_counted(tmp_path: Path) -> None:
    stored = nights(noisy([1000.0] * 12))
    stored[3] = replace(stored[3], ns=3000.0, throttled=True)
    stored[7] = replace(stored[7], ns=3000.0, contaminated="a control alarmed")
    store_nights(tmp_path, stored)
    (reading,) = read(tmp_path, 1000.0).readings
    assert (reading.runs, reading.left_out) == (10, 2)
    assert "from 10 runs of this machine (2 throttled or contaminated left out)" in reading.statement
    assert reading.high_ns is not None and reading.high_ns < 1200


def test_a_noisy_history_says_that_it_is_advisory(tmp_path: Path) -> None:
    store_nights(tmp_path, nights(noisy([1000.0] * 30, spread=0.04)))
    (reading,) = read(tmp_path, 1060.0).readings
    assert reading.detectable is not None and reading.detectable > 0.10
    assert reading.statement.endswith("advisory: this history shows slowdowns of 14 % and more, not of 10 %")
    assert not reading.suspected


def test_a_step_is_located_and_nobody_having_accepted_it_stays_suspected(tmp_path: Path) -> None:
    store_nights(tmp_path, nights(noisy([1000.0] * 20 + [1120.0] * 15)))
    outcome = read(tmp_path, 1120.0)
    (reading,) = outcome.readings
    (change,) = reading.changes
    assert (change.before, change.after) == (commits(20)[-1], commits(21)[-1])
    assert change.ratio == pytest.approx(1.12, abs=0.01)
    assert change.at == (FIRST_NIGHT + timedelta(days=20)).isoformat()
    assert reading.suspected and reading.runs == 20
    assert [doubt.commit for doubt in outcome.doubts] == [commits(20)[-1]]


def test_a_probe_takes_the_state_of_the_machine_out(tmp_path: Path) -> None:
    states = np.exp(0.06 * np.random.default_rng(2).standard_normal(30))
    values = noisy([1000.0 * state**0.5 for state in states], spread=0.005)
    stored = [replace(night, probe_ns=round(1e6 * state)) for night, state in zip(nights(values), states, strict=True)]
    store_nights(tmp_path, stored)
    now = Night(commit="f" * 40, ns=1100.0, probe_ns=round(1e6 * 1.21))
    known = {"calibrations": (calibration(now),), "bounds": {"double-1": BoundBy.MEMORY}}
    (helped,) = read(tmp_path, 1100.0, **known).readings
    assert helped.covariate is not None and helped.covariate.startswith("memcpy, 9")
    assert not helped.suspected and helped.expected_ns == pytest.approx(1100, rel=0.01)
    assert "taken out by probe memcpy, 9" in helped.statement
    (unknown,) = read(tmp_path, 1100.0).readings
    assert unknown.covariate is None


def test_series_are_taken_once_by_all_their_launches() -> None:
    run = compared("double", "triple", night=Night(commit="f" * 40, ns=100.0))
    twice = replace(run, comparisons=(*run.comparisons, *run.comparisons))
    assert [(one.case.operator, len(one.minima_ns)) for one in new_series(twice)] == [("double", 4), ("triple", 4)]
    alone = replace(run, comparisons=(), controls=run.comparisons)
    assert len(new_series(alone)) == 2
    untimed = replace(run, comparisons=tuple(replace(one, launches=()) for one in run.comparisons))
    assert new_series(untimed) == ()


@pytest.mark.parametrize("every", [1, 2])
def test_slow_drift_over_real_commits_is_found_with_its_range(tmp_path: Path, every: int) -> None:
    """Forty nights, one commit each, five of which make the operator 3 % slower."""
    project = repository(tmp_path)
    slower = [30 + every * step for step in range(5)]
    last = slower[-1] + 3
    made, level, stored = [], 1000.0, []
    for night in range(last + 1):
        level *= 1.03 if night in slower else 1.0
        (tmp_path / "work.txt").write_text(str(level))
        made.append(project.commit())
        stored.append(level)
    values = noisy(stored)
    store_nights(tmp_path / "baselines", [Night(commit=c, ns=v) for c, v in zip(made[:-1], values[:-1], strict=True)])
    series = new_series(compared(night=Night(commit=made[-1], ns=values[-1])))
    known = Circumstances(
        machine=MACHINE, now=FIRST_NIGHT + timedelta(days=last), thresholds=lambda _: 0.10, commit=made[-1]
    )
    outcome = read_history(str(tmp_path / "baselines"), series, known)
    (reading,) = outcome.readings
    assert reading.drifting is not None
    words = reading.drifting.replace(",", "").split()
    since, complete = words[words.index("since") + 1], words[words.index("by") + 1]
    places = {commit[:7]: place for place, commit in enumerate(made)}
    assert slower[0] - 6 <= places[since] <= slower[1]
    arrived = last if complete == "this" else places[complete]
    assert slower[2] <= arrived <= last
    assert [doubt.operators for doubt in outcome.doubts] == [("double",)]
    assert places[outcome.doubts[0].commit[:7]] <= slower[1]
