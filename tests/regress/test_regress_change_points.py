"""Lasting changes of a level: exhaustive search for small series, planted changes for large ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from opsdebug_ci.regress.change_points import LONGEST, change_points, noise


def nights(seed: int, count: int = 60, spread: float = 0.02, *, bad: bool = False) -> np.ndarray:
    draws = np.random.default_rng(seed)
    values = spread * draws.standard_normal(count)
    if bad:
        values += np.where(draws.random(count) < 0.05, 0.05 + draws.exponential(0.15, count), 0)
    return values


def stepped(values: np.ndarray, *changes: tuple[int, float]) -> np.ndarray:
    for night, shift in changes:
        values[night:] += shift
    return values


@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("spread", [0.01, 0.02, 0.03])
def test_a_step_is_located(spread: float, bad: bool) -> None:
    near = 0
    for seed in range(30):
        found = change_points(stepped(nights(seed, spread=spread, bad=bad), (40, math.log(1.10))))
        near += any(abs(step.first_after - 40) <= 1 and abs(step.shift - 0.095) < 0.04 for step in found)
    assert near >= 25  # at 3 % 95 of 100 in the benchmark of change points


@pytest.mark.parametrize("bad", [False, True])
def test_level_nights_have_none(bad: bool) -> None:
    assert sum(bool(change_points(nights(seed, bad=bad))) for seed in range(100)) <= 2


def test_up_and_down_are_two_changes() -> None:
    found = change_points(stepped(nights(1), (20, 0.1), (40, -0.1)))
    assert [step.first_after for step in found] == [20, 40]
    assert [math.copysign(1, step.shift) for step in found] == [1, -1]
    assert all(step.p_value < 1e-6 for step in found)


def test_three_bad_nights_are_no_level_and_four_may_be() -> None:
    values = nights(2, spread=0.01)
    values[30:33] += 0.2
    assert change_points(values) == ()
    values[33] += 0.2
    assert [step.first_after for step in change_points(values)] == [30, 34]


def test_seven_runs_say_nothing() -> None:
    assert change_points(np.array([0, 0, 0, 0.5, 0.5, 0.5, 0.5])) == ()


def test_runs_that_all_agree_have_no_change() -> None:
    assert change_points(np.zeros(30)) == ()


def test_old_runs_are_left_out_and_places_still_count_from_the_first() -> None:
    values = stepped(nights(3, LONGEST + 100), (50, 0.3), (450, 0.1))
    assert [step.first_after for step in change_points(values)] == [450]


def test_the_segments_are_the_cheapest_of_all() -> None:
    """All ways to cut 14 runs into levels of at least four, each with the best level of a fine grid."""
    values = stepped(nights(4, 14, 0.02), (5, 0.2), (10, -0.15))
    spread = noise(values)
    grid = np.linspace(values.min(), values.max(), 4001)

    def cost(part: np.ndarray) -> float:
        return float(np.min(np.minimum(((part[:, None] - grid) / spread) ** 2, 9.0).sum(axis=0)))

    def total(bounds: tuple[int, ...]) -> float:
        parts = [values[a:b] for a, b in zip((0, *bounds), (*bounds, 14), strict=True)]
        short = any(len(part) < 4 for part in parts)
        return math.inf if short else sum(map(cost, parts)) + 3 * math.log(14) * len(bounds)

    ways = [way for count in range(3) for way in itertools.combinations(range(1, 14), count)]
    best = min(ways, key=total)
    assert best == (5, 10)
    assert tuple(step.first_after for step in change_points(values)) == best


def test_noise_is_that_of_one_level() -> None:
    values = stepped(nights(5, 400, 0.02), (100, 0.5), (200, -0.3))
    assert noise(values) == pytest.approx(0.02, rel=0.15)
