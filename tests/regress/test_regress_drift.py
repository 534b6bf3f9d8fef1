"""Slow drift over simulated nights."""

from __future__ import annotations

import numpy as np
import pytest

from opsdebug_ci.regress.drift import cumulative_sums, find_drift

STEP = float(np.log(1.03))


def nights(seed: int, count: int, spread: float = 0.01, *, bad: bool = False) -> np.ndarray:
    draws = np.random.default_rng(seed)
    values = spread * draws.standard_normal(count)
    if bad:
        values += np.where(draws.random(count) < 0.05, 0.05 + draws.exponential(0.15, count), 0)
    return values


def drifting(values: np.ndarray, at: int, every: int) -> np.ndarray:
    for step in range(5):
        values[at + every * step :] += STEP
    return values


@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("spread", [0.01, 0.02, 0.03])
def test_five_daily_steps_of_three_percent_are_found_within_the_week(spread: float, bad: bool) -> None:
    found = [find_drift(drifting(nights(seed, 47, spread, bad=bad), 40, 1), 0.10) for seed in range(40)]
    assert sum(drift is not None for drift in found) >= 38
    ratios = [drift.ratio for drift in found if drift is not None]
    assert np.median(ratios) == pytest.approx(1.12, abs=0.03)  # the week's median is a step behind the newest night


@pytest.mark.parametrize("every", [1, 6])
def test_the_range_holds_the_steps(every: int) -> None:
    for seed in range(20):
        drift = find_drift(drifting(nights(seed, 80), 40, every), 0.10)
        assert drift is not None
        assert 33 <= drift.last_before < 40 + every
        assert 40 + 3 * every <= drift.first_after <= 44 + 4 * every


@pytest.mark.parametrize("bad", [False, True])
def test_level_nights_are_not_drift(bad: bool) -> None:
    alarms = sum(find_drift(nights(seed, 75, 0.02, bad=bad), 0.10) is not None for seed in range(200))
    assert alarms <= 1


def test_a_young_history_has_a_young_anchor() -> None:
    assert find_drift(drifting(nights(1, 14), 8, 1), 0.10) is None
    found = find_drift(drifting(nights(1, 17), 10, 1), 0.10)
    assert found is not None
    assert 8 <= found.last_before <= 11


def test_a_step_down_is_not_drift() -> None:
    assert find_drift(-drifting(nights(2, 80), 40, 6), 0.10) is None


def test_three_bad_nights_in_a_row_are_not_drift() -> None:
    values = nights(3, 50)
    values[-3:] += 0.5
    assert find_drift(values, 0.10) is None


def test_a_drift_below_half_the_threshold_is_left_to_the_ladder() -> None:
    values = drifting(nights(4, 80), 40, 6)
    assert find_drift(values, 0.10) is not None
    assert find_drift(values, 0.40) is None


def test_the_cumulative_sum_is_that_of_a_loop() -> None:
    values = drifting(nights(8, 60, 0.02), 40, 5)
    anchor = values[:30]
    spread = float(np.std(anchor, ddof=1)) * (31 / 30) ** 0.5
    expected, total = [0.0] * 30, 0.0
    for value in values[30:]:
        z = min(3.0, max(-3.0, (value - float(np.mean(anchor))) / spread))
        total = max(0.0, total + z - 0.75)
        expected.append(total)
    assert cumulative_sums(values, 30) == pytest.approx(expected)
    assert max(expected) > 8
    assert min(expected[35:]) == 0
