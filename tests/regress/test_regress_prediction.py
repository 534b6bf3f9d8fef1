"""What the next run is expected to take, against simulation and the published table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from opsdebug_ci.regress.outliers import winsorised
from opsdebug_ci.regress.prediction import detectable_by_history, predict


@pytest.mark.parametrize(("spread", "percent"), [(0.01, 5.9), (0.02, 12.2), (0.03, 18.8), (0.05, 33.2)])
def test_thirty_runs_and_fifty_operators_can_show_what_the_table_says(spread: float, percent: float) -> None:
    assert 100 * detectable_by_history(30, spread, 0.01 / 50) == pytest.approx(percent, abs=0.05)


def test_the_interval_is_that_of_the_textbook() -> None:
    values = np.array([3.00, 3.02, 3.04, 2.98, 2.96, 3.02, 2.98, 3.00])
    found = predict(values, 0.05)
    half = 1.8946 * float(np.std(values, ddof=1)) * math.sqrt(9 / 8)  # t(0.95, 7)
    assert found.centre == pytest.approx(3.0)
    assert (found.low, found.high) == pytest.approx((3.0 - half, 3.0 + half), abs=1e-4)
    assert found.runs == 8


@pytest.mark.parametrize("runs", [8, 15, 30])
def test_the_next_run_is_outside_about_as_often_as_was_asked_for(runs: int) -> None:
    draws = np.random.default_rng(runs)
    trials, chance = 2000, 0.01
    above = 0
    for _ in range(trials):
        *values, following = 0.02 * draws.standard_normal(runs + 1)
        above += following > predict(np.array(values), chance).high
    # Winsorising takes a little off the deviation of few runs: at most 1.6 % instead of 1 %. The standard error of a
    # count of 20 is 4.5.
    assert 20 - 3 * 4.5 <= above <= 32 + 3 * 5.6


def test_a_bad_night_hides_nothing() -> None:
    draws = np.random.default_rng(3)
    values = 0.01 * draws.standard_normal(30)
    clean = predict(values, 2e-4)
    values[11] += 0.5
    marred = predict(values, 2e-4)
    assert np.std(values) > 0.08
    assert marred.spread < 1.3 * clean.spread
    assert marred.high < clean.high + 0.015


def test_what_is_not_far_from_the_rest_stays() -> None:
    values = np.array([1.0, 1.1, 0.9, 1.05, 0.95])
    assert np.array_equal(winsorised(values), values)


def test_runs_that_agree_by_chance_are_not_believed_to_be_that_steady() -> None:
    assert predict(np.full(10, 2.0), 0.01).spread == 0.005
