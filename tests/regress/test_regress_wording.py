"""Effects in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opsdebug_ci.model.speed import Effect, SpeedVerdict
from opsdebug_ci.regress.wording import change, duration, statement


def effect(ratio: float, low: float, high: float, detectable: float = 0.03) -> Effect:
    return Effect(
        ratio=ratio,
        low=low,
        high=high,
        p_slower=0.001,
        p_faster=1.0,
        tenth_ratio=ratio,
        detectable=detectable,
        launches=8,
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((1.112, 1.081, 1.143), "+11 % [8, 14]"),
        ((1.004, 0.991, 1.012), "+0.4 % [-0.9, 1.2]"),
        ((0.85, 0.83, 0.87), "-15 % [-17, -13]"),
        ((1.0, 0.9999, 1.0001), "0.0 % [0.0, 0.0]"),
    ],
)
def test_a_change_has_its_interval(given: tuple[float, float, float], said: str) -> None:
    assert change(effect(*given)) == said


@pytest.mark.parametrize(
    ("ns", "said"), [(0.5, "0.50 ns"), (999.6, "1.00 us"), (4_560, "4.56 us"), (101_234, "101 us"), (2.5e9, "2.50 s")]
)
def test_durations_have_three_digits(ns: float, said: str) -> None:
    assert duration(ns) == said


STATEMENTS = {
    SpeedVerdict.REGRESSED: "slower: +11 % [8, 14] against base, 100 us -> 111 us, confirmed in 8 fresh launches",
    SpeedVerdict.SAME: "same: +11 % [8, 14] against base, 100 us -> 111 us; 3.0 % slower would have shown",
    SpeedVerdict.SUSPECTED: "slower for certain, but by less than counts (10 %, 0.2 us): +11 % [8, 14] against base, "
    "100 us -> 111 us",
    SpeedVerdict.INCONCLUSIVE: "not confirmed by 8 fresh launches: +11 % [8, 14] against base, 100 us -> 111 us",
}


@pytest.mark.parametrize("verdict", STATEMENTS)
def test_every_verdict_states_its_numbers(verdict: SpeedVerdict) -> None:
    found = effect(1.112, 1.081, 1.143)
    said = statement(verdict, "base", screen=found, confirm=found, threshold=0.1, base_ns=1e5, head_ns=1.11e5)
    assert said == STATEMENTS[verdict]


def test_what_was_not_confirmed_says_so() -> None:
    found = effect(1.112, 1.081, 1.143)
    said = statement(
        SpeedVerdict.INCONCLUSIVE, "base", screen=found, confirm=None, threshold=0.1, base_ns=1e5, head_ns=1.11e5
    )
    assert said == "not confirmed in the time there was: +11 % [8, 14] against base, 100 us -> 111 us"


@pytest.mark.parametrize(
    ("ratio", "low", "high", "detectable", "noisy"),
    [
        (13.85, 12.95, 15.65, 0.128, False),
        (0.4, 0.3, 0.5, 0.128, False),
        (1.04, 0.88, 1.22, 0.18, True),
        (1.3, 0.95, 1.7, 0.18, True),
        (1.15, 1.02, 1.3, 0.18, True),
        (0.9, 0.85, 0.95, 0.18, True),
    ],
)
def test_what_moved_by_more_than_shows_is_not_called_noisy(
    ratio: float, low: float, high: float, detectable: float, noisy: bool
) -> None:
    found = effect(ratio, low, high, detectable)
    said = statement(
        SpeedVerdict.INCONCLUSIVE, "base", screen=found, confirm=None, threshold=0.1, base_ns=1e5, head_ns=1.11e5
    )
    assert said.startswith("too noisy: ") is noisy
    assert ("not confirmed in the time there was: " in said) is not noisy
    assert said.startswith("14 times as long, ") is (ratio > 2)


def test_a_shift_that_too_few_fresh_launches_left_open_is_not_called_noisy() -> None:
    screen, confirm = effect(13.85, 12.95, 15.65, 0.128), replace(effect(13.9, 13.0, 15.0, 0.128), launches=4)
    said = statement(
        SpeedVerdict.INCONCLUSIVE, "base", screen=screen, confirm=confirm, threshold=0.1, base_ns=1e5, head_ns=1.39e6
    )
    assert said.startswith("14 times as long, not confirmed by 4 fresh launches: +1290 % [1200, 1400] against base")
