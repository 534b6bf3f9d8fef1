"""How many fresh launches confirm what showed: few for a large shift, at the level that is promised."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from opsdebug_ci.model.speed import Effect, LaunchTime, Round, SpeedVerdict
from opsdebug_ci.regress.confirmation import by_far, launches_planned, launches_usual
from opsdebug_ci.regress.effect import effect_of
from opsdebug_ci.regress.ranks import overlaps_borne
from opsdebug_ci.regress.rule import conclude, significance

THRESHOLD = 0.1


def screened(ratio: float, low: float, high: float, detectable: float, launches: int = 4) -> Effect:
    return Effect(
        ratio=ratio,
        low=low,
        high=high,
        p_slower=1 / 70,
        p_faster=1.0,
        tenth_ratio=ratio,
        detectable=detectable,
        launches=launches,
    )


FOURTEEN_TIMES = screened(13.85, 12.95, 15.65, 0.128)


@pytest.mark.parametrize(("tests", "launches"), [(1, 4), (14, 4), (15, 5), (50, 5), (184, 6), (600, 7), (5_000, 9)])
def test_fourteen_times_as_long_takes_no_more_launches_than_the_level_does(tests: int, launches: int) -> None:
    assert launches_planned(FOURTEEN_TIMES, THRESHOLD, tests) == launches
    assert 1 / math.comb(2 * launches, launches) <= significance(tests)
    assert by_far(FOURTEEN_TIMES, THRESHOLD, tests)


@pytest.mark.parametrize(
    "effect",
    [
        screened(1.12, 1.11, 1.13, 0.014),
        screened(1.15, 1.149, 1.151, 0.0143),  # as steady as is ever believed
        screened(1.5, 1.05, 2.1, 0.5),
        screened(2.0, 1.6, 2.5, 0.4),
        screened(0.9, 0.89, 0.91, 0.014),
    ],
    ids=["by a little", "by half the threshold", "interval holds it", "much, but very noisy", "faster by a little"],
)
def test_what_is_not_far_beyond_takes_the_usual_number(effect: Effect) -> None:
    assert launches_planned(effect, THRESHOLD, 12) == launches_usual(12) == 8
    assert not by_far(effect, THRESHOLD, 12)


def test_much_faster_is_the_mirror_image() -> None:
    assert launches_planned(screened(1 / 13.85, 1 / 15.65, 1 / 12.95, 0.128), THRESHOLD, 12) == 4


def test_a_wide_threshold_is_what_counts() -> None:
    assert launches_planned(FOURTEEN_TIMES, 15.0, 12) == 8


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("level", [0.05, 0.0145, 0.004])
def test_orders_that_reject_are_as_rare_as_the_level_says(size: int, level: float) -> None:
    """Every order of two samples counted."""
    overlaps = [
        sum(base > head for head in heads for base in set(range(2 * size)) - set(heads))
        for heads in itertools.combinations(range(2 * size), size)
    ]
    borne = overlaps_borne(size, level)
    assert sum(count <= borne for count in overlaps) / len(overlaps) <= level
    assert sum(count <= borne + 1 for count in overlaps) / len(overlaps) > level


def launched(random: np.random.Generator, slowdown: float, noise: float, count: int) -> Effect:
    arms = []
    for middle in (0.0, math.log1p(slowdown)):
        minima = 1e5 * np.exp(random.normal(middle, noise, count))
        arms.append(
            [
                LaunchTime(
                    arm="",
                    round=Round.SCREEN,
                    launch=index,
                    min_ns=float(value),
                    p10_ns=float(value),
                    median_ns=float(value),
                    samples=48,
                    calls=1,
                )
                for index, value in enumerate(minima)
            ]
        )
    return effect_of(*arms)


@pytest.mark.parametrize("noise", [0.005, 0.03, 0.06])
def test_so_few_launches_find_what_showed_by_far(noise: float) -> None:
    random = np.random.default_rng(14)
    found = []
    for _ in range(100):
        screen = launched(random, 13.0, noise, 4)
        confirm = launched(random, 13.0, noise, launches_planned(screen, THRESHOLD, 12))
        found.append(conclude(screen, confirm, threshold=THRESHOLD, tests=12, loss_ns=1e6, step_ns=0.0))
    assert found.count(SpeedVerdict.REGRESSED) >= 95


def test_a_screen_that_was_wrong_by_far_is_believed_no_more_often_than_promised() -> None:
    """Fresh launches of the same code after a screen that says fourteen times as long."""
    random = np.random.default_rng(15)
    launches = launches_planned(FOURTEEN_TIMES, THRESHOLD, 12)
    confirms = [launched(random, 0.0, 0.3, launches) for _ in range(600)]
    found = [conclude(FOURTEEN_TIMES, one, threshold=THRESHOLD, tests=12, loss_ns=1e6, step_ns=0.0) for one in confirms]
    called = sum(verdict in (SpeedVerdict.REGRESSED, SpeedVerdict.SUSPECTED) for verdict in found)
    assert launches == 4
    assert called <= 600 * significance(12) + 3 * math.sqrt(600 * significance(12))
