"""The baseline of a series and what it says of the newest value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from opsdebug_ci.model.profile_document import BoundBy
from opsdebug_ci.regress.change_points import Step
from opsdebug_ci.regress.history import SeriesHistory, baseline, read_series

CHANCE = 0.01 / 12


def nights(count: int = 40, spread: float = 0.01, seed: int = 0) -> np.ndarray:
    return spread * np.random.default_rng(seed).standard_normal(count)


def steps(text: str) -> list[Step]:
    """Changes written `run:percent`."""
    pairs = (word.split(":") for word in text.split())
    return [Step(first_after=int(run), shift=math.log1p(float(change) / 100), p_value=0.0) for run, change in pairs]


@pytest.mark.parametrize(
    ("changes", "accepted", "expected"),
    [
        pytest.param("", 0, (0, 60), id="nothing happened"),
        pytest.param("20:-10", 0, (20, 60), id="faster"),
        pytest.param("20:+10", 0, (0, 20), id="slower, not accepted"),
        pytest.param("20:+10", 30, (20, 60), id="slower, accepted"),
        pytest.param("20:+10", 20, (0, 20), id="accepted before it happened"),
        pytest.param("20:+10 40:-3", 0, (0, 20), id="slower, then a little faster"),
        pytest.param("20:+10 40:-20", 0, (40, 60), id="slower, then faster than ever"),
        pytest.param("20:+10 40:-9", 0, (0, 20), id="slower, then about repaired"),
        pytest.param("20:+10 40:+10", 30, (20, 40), id="the second one not accepted"),
        pytest.param("20:-10 40:+3", 0, (20, 40), id="faster, then a little slower"),
    ],
)
def test_the_baseline_does_not_move_up_by_itself(changes: str, accepted: int, expected: tuple[int, int]) -> None:
    assert baseline(steps(changes), runs=60, accepted=accepted) == expected


@pytest.mark.parametrize(("newest", "suspected"), [(0.0, False), (0.02, False), (0.045, False), (0.10, True)])
def test_a_slow_run_is_suspected(newest: float, suspected: bool) -> None:
    found = read_series(SeriesHistory(values=nights(), newest=newest), 0.10, CHANCE)
    assert found.suspected is suspected
    assert found.prediction is not None and found.prediction.runs == 40


def test_a_slow_run_within_the_noise_is_not_suspected() -> None:
    found = read_series(SeriesHistory(values=nights(spread=0.05), newest=0.12), 0.10, CHANCE)
    assert not found.suspected
    assert found.prediction is not None and found.prediction.detectable > 0.10


def test_a_slow_run_above_the_interval_is_not_suspected_where_little_is_lost() -> None:
    found = read_series(SeriesHistory(values=nights(spread=0.005), newest=0.04), 0.10, CHANCE)
    assert found.prediction is not None and found.prediction.high < 0.04
    assert not found.suspected


def test_seven_runs_predict_nothing_and_eight_do() -> None:
    assert read_series(SeriesHistory(values=nights(7), newest=9.0), 0.10, CHANCE).prediction is None
    assert read_series(SeriesHistory(values=nights(8), newest=9.0), 0.10, CHANCE).suspected


def test_a_slowdown_nobody_accepted_stays_suspected() -> None:
    values = nights(60)
    values[30:] += 0.12
    found = read_series(SeriesHistory(values=values, newest=0.12), 0.10, CHANCE)
    assert found.suspected and (found.begin, found.end) == (0, 30)
    accepted = read_series(SeriesHistory(values=values, newest=0.12, accepted=45), 0.10, CHANCE)
    assert not accepted.suspected and (accepted.begin, accepted.end) == (30, 60)
    assert accepted.drift is None


def test_drift_is_told_with_its_runs() -> None:
    values = nights(60)
    for step in range(5):
        values[40 + step :] += math.log(1.03)
    found = read_series(SeriesHistory(values=values, newest=values[-1]), 0.10, CHANCE)
    assert found.drift is not None
    assert found.drift.ratio == pytest.approx(1.159, abs=0.02)
    assert 33 <= found.drift.last_before <= 40 and 43 <= found.drift.first_after <= 45


def test_a_probe_that_helps_takes_the_machine_out_and_one_that_is_unknown_now_does_not() -> None:
    probe = nights(40, 0.06, seed=1)
    values = 0.5 * probe + nights(40, 0.005, seed=2)
    slow_machine = SeriesHistory(
        values=values,
        newest=0.10,
        probes={"memcpy": probe},
        newest_probes={"memcpy": 0.20},
        bound=BoundBy.MEMORY,
    )
    found = read_series(slow_machine, 0.10, CHANCE)
    assert found.covariate is not None and found.covariate.slope == pytest.approx(0.5, abs=0.05)
    assert not found.suspected
    slow_code = SeriesHistory(
        values=values, newest=0.10, probes={"memcpy": probe}, newest_probes={"memcpy": 0.0}, bound=BoundBy.MEMORY
    )
    assert read_series(slow_code, 0.10, CHANCE).suspected
    blind = SeriesHistory(values=values, newest=0.10, probes={"memcpy": probe}, bound=BoundBy.MEMORY)
    assert read_series(blind, 0.10, CHANCE).covariate is None
