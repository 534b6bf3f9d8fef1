"""Warm-up and samples on a clock that only moves when a call moves it."""

from __future__ import annotations

import gc
import math

import pytest
from timing_fakes import FakeClock

from opsdebug_ci.timing.sampling import (
    FEWEST_SAMPLES,
    MOST_CALLS,
    SAMPLE_NS,
    Subject,
    calls_for,
    take_samples,
    uncollected,
    warm_up,
)


def test_a_steady_call_is_warm_after_the_shortest_time() -> None:
    clock = FakeClock()
    warm = warm_up(Subject(call=clock.taking(1000)), clock, least_ns=10_000)
    assert (warm.first_ns, warm.best_ns, warm.calls, warm.steady) == (1000, 1000, 10, True)


def test_a_first_call_that_compiles_is_told_apart() -> None:
    clock = FakeClock()
    warm = warm_up(Subject(call=clock.taking(5_000_000, 1000)), clock, least_ns=0)
    assert (warm.first_ns, warm.best_ns, warm.steady) == (5_000_000, 1000, True)
    assert warm.calls == 4  # the second was the last to be quicker; as many calls again were not


def test_calls_that_go_on_becoming_quicker_are_not_steady() -> None:
    clock = FakeClock()
    warm = warm_up(
        Subject(call=clock.taking(*(0.9**n * 1e6 for n in range(200)))), clock, least_ns=0, limit_ns=5 * 10**6
    )
    assert not warm.steady


def test_a_call_longer_than_the_limit_is_made_twice() -> None:
    clock = FakeClock()
    warm = warm_up(Subject(call=clock.taking(3e9)), clock, limit_ns=10**9)
    assert (warm.calls, warm.steady) == (2, False)


@pytest.mark.parametrize(
    ("call_ns", "calls"), [(0.0, MOST_CALLS), (1.0, MOST_CALLS), (1000.0, SAMPLE_NS // 1000), (3e9, 1)]
)
def test_a_sample_is_long_enough_for_the_clock(call_ns: float, calls: int) -> None:
    assert calls_for(call_ns) == calls


def test_samples_are_averages_in_the_order_taken() -> None:
    clock = FakeClock()
    samples = take_samples(Subject(call=clock.taking(1, 3, 5, 7, 100)), clock, calls=2, most=3, limit_ns=math.inf)
    assert samples == (2.0, 6.0, 100.0)


@pytest.mark.parametrize(("limit_ns", "count"), [(0, FEWEST_SAMPLES), (3500, 4), (10**9, 24)])
def test_the_time_ends_sampling_but_three_are_taken(limit_ns: float, count: int) -> None:
    clock = FakeClock()
    assert len(take_samples(Subject(call=clock.taking(1000)), clock, calls=1, most=24, limit_ns=limit_ns)) == count


def test_putting_back_is_outside_the_clock_and_before_every_call() -> None:
    clock = FakeClock()
    restored: list[int] = []

    def restore() -> None:
        restored.append(1)
        clock.now += 1e6

    samples = take_samples(Subject(call=clock.taking(10), restore=restore), clock, calls=4, most=3, limit_ns=math.inf)
    assert samples == (10.0, 10.0, 10.0)
    assert len(restored) == 12


def test_the_device_is_waited_for_before_and_after_every_sample() -> None:
    clock = FakeClock()
    take_samples(Subject(call=clock.taking(10)), clock, calls=5, most=3, limit_ns=math.inf)
    assert clock.waits == 6


def test_the_collector_rests_while_samples_are_taken_and_works_afterwards() -> None:
    seen: list[bool] = []
    clock = FakeClock()

    def call() -> None:
        seen.append(gc.isenabled())
        clock.now += 1

    assert gc.isenabled()
    take_samples(Subject(call=call), clock, calls=1, most=3, limit_ns=math.inf)
    assert (seen, gc.isenabled()) == ([False] * 3, True)


def test_a_collector_that_was_off_stays_off() -> None:
    with uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
