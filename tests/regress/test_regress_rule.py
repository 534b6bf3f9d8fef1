"""The rule: planted slowdowns of given size and noise are found, unchanged code is left alone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from opsdebug_ci.model.speed import Effect, LaunchTime, Round, SpeedVerdict
from opsdebug_ci.regress.effect import effect_of
from opsdebug_ci.regress.rule import (
    CUT,
    conclude,
    launches_needed,
    routed,
    settled,
    significance,
    worst,
)

THRESHOLD = 0.1
OPERATORS = 12


def launches(minima: np.ndarray) -> list[LaunchTime]:
    return [
        LaunchTime(
            arm="base",
            round=Round.SCREEN,
            launch=index,
            min_ns=float(value),
            p10_ns=float(value) * 1.01,
            median_ns=float(value) * 1.05,
            samples=48,
            calls=1,
        )
        for index, value in enumerate(minima)
    ]


def arms(random: np.random.Generator, slowdown: float, noise: float, count: int) -> Effect:
    base = 100_000 * np.exp(random.normal(0, noise, count))
    head = 100_000 * np.exp(random.normal(math.log1p(slowdown), noise, count))
    return effect_of(launches(base), launches(head))


def verdict(random: np.random.Generator, slowdown: float, noise: float, threshold: float = THRESHOLD) -> SpeedVerdict:
    """What the stages come to, as `pipeline.compare` runs them."""
    screen = arms(random, slowdown, noise, 4)
    for count in (8, 16):
        if not routed(screen, threshold) and not settled(screen, threshold):
            screen = arms(random, slowdown, noise, count)
    confirm = arms(random, slowdown, noise, 8) if routed(screen, threshold) else None
    return conclude(screen, confirm, threshold=threshold, tests=OPERATORS, loss_ns=slowdown * 1e5, step_ns=0.0)


def verdicts(slowdown: float, noise: float, tries: int = 300, threshold: float = THRESHOLD) -> list[SpeedVerdict]:
    random = np.random.default_rng(round(1000 * (1 + slowdown + noise)))
    return [verdict(random, slowdown, noise, threshold) for _ in range(tries)]


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.02, 0.03, 0.06])
def test_unchanged_code_is_never_called_regressed(noise: float) -> None:
    found = verdicts(0.0, noise)
    assert found.count(SpeedVerdict.REGRESSED) == 0
    assert found.count(SpeedVerdict.SUSPECTED) <= 1


@pytest.mark.parametrize(("slowdown", "wanted"), [(0.10, 0.95), (0.15, 0.99)])
@pytest.mark.parametrize("noise", [0.003, 0.01, 0.02])
def test_planted_slowdowns_are_found(slowdown: float, wanted: float, noise: float) -> None:
    assert verdicts(slowdown, noise).count(SpeedVerdict.REGRESSED) >= wanted * 300


@pytest.mark.parametrize("slowdown", [-0.10, -0.2])
def test_planted_speedups_are_found(slowdown: float) -> None:
    assert verdicts(slowdown, 0.01).count(SpeedVerdict.FASTER) >= 0.95 * 300


def test_half_the_threshold_is_told_but_does_not_gate() -> None:
    found = verdicts(0.06, 0.005)
    assert found.count(SpeedVerdict.SUSPECTED) >= 0.95 * 300
    assert found.count(SpeedVerdict.REGRESSED) == 0


def test_a_wide_threshold_lets_more_pass() -> None:
    assert set(verdicts(0.10, 0.01, threshold=0.5)) == {SpeedVerdict.SAME}


def test_noise_that_hides_the_threshold_is_inconclusive_not_same() -> None:
    found = verdicts(0.0, 0.15)
    assert found.count(SpeedVerdict.SAME) < 0.2 * 300
    assert found.count(SpeedVerdict.REGRESSED) == 0


def certain() -> Effect:
    return arms(np.random.default_rng(3), 0.15, 0.005, 8)


def conclusion(screen: Effect, confirm: Effect | None, loss_ns: float = 15_000.0, step_ns: float = 0.0) -> SpeedVerdict:
    return conclude(screen, confirm, threshold=THRESHOLD, tests=OPERATORS, loss_ns=loss_ns, step_ns=step_ns)


def test_a_screen_alone_calls_nothing_regressed() -> None:
    assert conclusion(certain(), None) is SpeedVerdict.INCONCLUSIVE


def test_both_stages_must_agree() -> None:
    still = arms(np.random.default_rng(4), 0.0, 0.005, 8)
    assert conclusion(certain(), still) is SpeedVerdict.SAME
    assert conclusion(still, certain()) is SpeedVerdict.INCONCLUSIVE


def effect(ratio: float, low: float, high: float, p: float) -> Effect:
    return replace(certain(), ratio=ratio, low=low, high=high, p_slower=p, p_faster=1 - p, detectable=0.014)


@pytest.mark.parametrize(
    "confirm",
    [
        effect(1.30, 1.29, 1.30, 1 / 70),  # the budget ended after four launches, too few for so many operators
        effect(1.20, 0.99, 1.20, 0.22),  # of eight launches of the head five are slow
        effect(1.20, 1.19, 1.21, 8e-5),  # and the screen said faster
    ],
    ids=["cut short", "two levels", "the other way"],
)
def test_a_slowdown_that_is_not_certain_is_never_the_same(confirm: Effect) -> None:
    screen = effect(0.95, 0.94, 0.96, 1.0) if confirm.p_slower < 0.001 else certain()
    found = conclude(screen, confirm, threshold=THRESHOLD, tests=60, loss_ns=2e4, step_ns=0.0)
    assert found is SpeedVerdict.INCONCLUSIVE


def test_tenth_percentiles_must_agree() -> None:
    assert conclusion(certain(), certain()) is SpeedVerdict.REGRESSED
    assert conclusion(certain(), replace(certain(), tenth_ratio=0.98)) is SpeedVerdict.SUSPECTED


@pytest.mark.parametrize(("loss_ns", "step_ns"), [(150.0, 0.0), (5_000.0, 2_000.0)])
def test_a_loss_too_small_for_the_clock_or_the_interpreter_does_not_gate(loss_ns: float, step_ns: float) -> None:
    assert conclusion(certain(), certain(), loss_ns=loss_ns, step_ns=step_ns) is SpeedVerdict.SUSPECTED


def test_more_operators_need_a_smaller_p() -> None:
    assert significance(1) == 0.05
    assert significance(50) == pytest.approx(0.004)
    assert launches_needed(12, 8) == 8
    assert launches_needed(5_000, 8) == 11
    assert 1 / math.comb(22, 11) < significance(5_000) / 10 < 1 / math.comb(20, 10)


def test_the_cut_off_lies_half_way_to_the_threshold() -> None:
    assert math.exp(CUT * math.log1p(0.1)) == pytest.approx(1.0488, abs=1e-4)


def test_the_worst_verdict_stands_for_all() -> None:
    assert worst([SpeedVerdict.SAME, SpeedVerdict.REGRESSED, SpeedVerdict.INCONCLUSIVE]) is SpeedVerdict.REGRESSED
    assert worst([]) is SpeedVerdict.INCONCLUSIVE
