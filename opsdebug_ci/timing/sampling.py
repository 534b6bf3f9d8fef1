"""Samples of the time of one call: warmed up, long enough for the clock, without the garbage collector.

Decides how many calls warm up and how many make a sample. Deliberately summarises nothing: which sample counts is for
those who compare.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from opsdebug_ci.timing.clock import Clock

SAMPLE_NS = 2_000_000
"""Shortest sample: 2 ms are more than 10,000 steps of any host clock, and interrupts of a millisecond miss some."""

MOST_CALLS = 2**16
"""Calls of a sample at most."""

FEWEST_SAMPLES = 3
"""Samples taken however long they last."""

WARM_NS = 20_000_000
"""Shortest warm-up in a fresh process; caches, page tables and lazy set-up need it."""

WARM_LIMIT_NS = 1_000_000_000
"""Warm-up ends after so long even if times still fall."""

SETTLED = 0.95
"""Times have settled when the best of as many calls again as before is not below this share of the best."""

Call = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """What warming up came to."""

    first_ns: float
    """The first call."""

    calls: int
    """Calls made."""

    best_ns: float
    """Shortest of them."""

    steady: bool
    """Times had settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A call to be timed, and what must happen before each."""

    call: Call
    """What is timed."""

    restore: Call | None = None
    """Puts back what the call writes, outside the clock; None: nothing has to be."""


def warm_up(subject: Subject, clock: Clock, *, least_ns: int = WARM_NS, limit_ns: int = WARM_LIMIT_NS) -> WarmUp:
    """Call until times have settled."""
    first_ns = best_ns = _one_ns(subject, clock)
    calls, improved_at, spent_ns = 1, 1, first_ns
    while True:
        settled = calls >= max(FEWEST_SAMPLES, 2 * improved_at)
        if (settled and spent_ns >= least_ns) or (spent_ns >= limit_ns and calls > 1):
            return WarmUp(first_ns=first_ns, calls=calls, best_ns=best_ns, steady=settled)
        took_ns = _one_ns(subject, clock)
        calls, spent_ns = calls + 1, spent_ns + took_ns
        if took_ns < SETTLED * best_ns:
            improved_at = calls
        best_ns = min(best_ns, took_ns)


def calls_for(call_ns: float) -> int:
    """Calls that make a sample long enough."""
    return max(1, min(MOST_CALLS, math.ceil(SAMPLE_NS / max(call_ns, 1.0))))


def take_samples(subject: Subject, clock: Clock, *, calls: int, most: int, limit_ns: float) -> tuple[float, ...]:
    """Times of one call in ns, each averaged over `calls` calls; at least `FEWEST_SAMPLES` of them, at most `most`."""
    samples: list[float] = []
    with uncollected():
        began = clock.now_ns()
        while len(samples) < most:
            if len(samples) >= FEWEST_SAMPLES and clock.now_ns() - began > limit_ns:
                break
            samples.append(_sample_ns(subject, clock, calls))
    return tuple(samples)


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection inside."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _sample_ns(subject: Subject, clock: Clock, calls: int) -> float:
    if subject.restore is not None:
        return sum(_one_ns(subject, clock) for _ in range(calls)) / calls
    call = subject.call
    clock.wait()
    start = clock.now_ns()
    for _ in range(calls):
        call()
    clock.wait()
    return (clock.now_ns() - start) / calls


def _one_ns(subject: Subject, clock: Clock) -> float:
    if subject.restore is not None:
        subject.restore()
    clock.wait()
    start = clock.now_ns()
    subject.call()
    clock.wait()
    return float(clock.now_ns() - start)
