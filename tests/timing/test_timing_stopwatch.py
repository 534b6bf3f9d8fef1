"""All times of one function, on a clock that only moves when a call moves it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from timing_fakes import FakeClock

from opsdebug_ci.timing.sampling import MOST_CALLS, Call, Subject
from opsdebug_ci.timing.stopwatch import MOST_SAMPLES, Timing, measure


def timing(clock: FakeClock, stint_ns: float = 1e9, flush: Call | None = None, busy: float = 1.0) -> Timing:
    """`busy` is the share of the time in which the processor works."""
    return Timing(clock=clock, stint_ns=stint_ns, flush=flush, processor_ns=lambda: round(clock.now * busy))


def growing(clock: FakeClock, first_ns: float, step_ns: float) -> Callable[[], None]:
    calls = 0

    def call() -> None:
        nonlocal calls
        clock.now += first_ns + step_ns * calls
        calls += 1

    return call


def test_a_steady_call() -> None:
    clock = FakeClock()
    found = measure(Subject(call=clock.taking(500)), timing(clock))
    assert (found.warm_ns, found.best_ns, found.first_call_ns) == (500, 500, 500)
    assert (found.calls, len(found.samples_ns), found.timer_ns) == (4000, MOST_SAMPLES, 0)
    assert (found.cpu_share, found.cold_ns, found.slowdown_per_call) == (1.0, None, None)


def test_a_call_of_nanoseconds_is_timed_by_the_thousand() -> None:
    clock = FakeClock()
    found = measure(Subject(call=clock.taking(20.25)), timing(clock, stint_ns=1e6))
    assert (found.calls, len(found.samples_ns)) == (MOST_CALLS, 3)
    assert found.warm_ns == pytest.approx(20.25, rel=1e-4)


def test_a_first_call_that_compiles_is_in_no_sample() -> None:
    clock = FakeClock()
    found = measure(Subject(call=clock.taking(5e8, 1000)), timing(clock))
    assert (found.first_call_ns, found.warm_ns, max(found.samples_ns)) == (5e8, 1000, 1000)


def test_what_the_empty_call_takes_is_told_and_not_subtracted() -> None:
    clock = FakeClock()
    found = measure(Subject(call=clock.taking(500)), timing(clock), empty=clock.taking(40))
    assert (found.timer_ns, found.warm_ns) == (40, 500)


def test_a_call_that_sleeps_uses_no_processor() -> None:
    clock = FakeClock()
    assert measure(Subject(call=clock.taking(2e6)), timing(clock, busy=0.02)).cpu_share == pytest.approx(0.02, rel=1e-3)


def test_another_device_says_nothing_of_the_processor() -> None:
    clock = FakeClock()
    silent = Timing(clock=clock, stint_ns=1e9, processor_ns=None)
    assert measure(Subject(call=clock.taking(500)), silent).cpu_share is None


def test_cold_calls_follow_a_flush_each_outside_the_clock() -> None:
    clock = FakeClock()
    cached = False
    flushes = 0

    def flush() -> None:
        nonlocal cached, flushes
        cached, flushes = False, flushes + 1
        clock.now += 1e7

    def call() -> None:
        nonlocal cached
        clock.now += 1000 if cached else 9000
        cached = True

    found = measure(Subject(call=call), timing(clock, flush=flush))
    assert (found.warm_ns, found.cold_ns) == (1000, 9000)
    assert flushes == 15


def test_what_is_put_back_is_put_back_before_the_flush() -> None:
    clock = FakeClock()
    order: list[str] = []
    subject = Subject(call=clock.taking(2e6), restore=lambda: order.append("restore"))
    measure(subject, timing(clock, flush=lambda: order.append("flush")))
    assert [before for before, after in itertools.pairwise(order) if after == "flush"] == ["restore"] * 15


def test_a_slow_call_is_answered_with_three_samples_and_no_cold_one() -> None:
    clock = FakeClock()
    found = measure(Subject(call=clock.taking(3e9)), timing(clock, stint_ns=5e8, flush=lambda: None))
    assert (found.warm_ns, found.calls, len(found.samples_ns), found.cold_ns) == (3e9, 1, 3, None)
    assert clock.now < 6 * 3e9


@pytest.mark.parametrize(("first_ns", "step_ns"), [(1000.0, 10.0), (3e6, 3e6)])
def test_a_call_that_grows_every_time_is_told(first_ns: float, step_ns: float) -> None:
    clock = FakeClock()
    found = measure(Subject(call=growing(clock, first_ns, step_ns)), timing(clock, stint_ns=1e10))
    assert found.slowdown_per_call is not None
    # A step over the median time of the calls looked at: between once and 4 times the calls of the warm-up.
    assert 1 / (4 * found.warm_calls + 120) < found.slowdown_per_call < 1 / found.warm_calls


def test_growth_that_ends_is_not_told() -> None:
    """As where other load sets in while the first series is taken."""
    clock = FakeClock()
    calls = 0

    def call() -> None:
        nonlocal calls
        clock.now += 3e6 + 3e5 * min(max(calls - 7, 0), 24)
        calls += 1

    found = measure(Subject(call=call), timing(clock))
    assert found.samples_ns[-1] > 1.5 * found.samples_ns[0]
    assert found.slowdown_per_call is None
