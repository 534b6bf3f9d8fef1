"""The stopwatch: everything that is measured of one function on one case, within a time.

Decides in which order: first call, warm-up, whether calls become slower and slower, warm samples, what the clock itself
costs, cold samples; and that growth is only told when a second series of samples goes on growing. Deliberately compares
nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from opsdebug_ci.model.profile import Stopwatch
from opsdebug_ci.timing.clock import Clock
from opsdebug_ci.timing.sampling import WARM_NS, Call, Subject, calls_for, take_samples, warm_up
from opsdebug_ci.timing.trend import growth_per_sample, rising_chance

MOST_SAMPLES = 24
"""Warm samples at most."""

TRIES = 3
"""Such samples of which the shortest counts: other load only ever makes one longer."""

MOST_COLD = 15
"""Single calls after a flush at most."""

MOST_TIMER = 5
"""Samples of the empty call; the shortest counts."""

GOES_ON = 1e-3
"""Probability that a second series rises as it does by chance; 7 samples in perfect order fall below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How to measure."""

    clock: Clock
    """Host time, and waiting for the device."""

    stint_ns: float
    """Time for each of warming up, warm samples and cold samples, about."""

    flush: Call | None = None
    """Empties the caches; None: no cold samples."""

    processor_ns: Callable[[], int] | None = time.process_time_ns
    """Processor time of this process so far; None: it says nothing about this device."""


def measure(subject: Subject, timing: Timing, empty: Call = lambda: None) -> Stopwatch:
    """All times of `subject`.

    Args:
        subject: what is timed, and what must happen before each call.
        timing: how.
        empty: a call like the subject's, of a function that does nothing.
    """
    clock = timing.clock
    warmed = warm_up(subject, clock, least_ns=int(min(WARM_NS, timing.stint_ns)), limit_ns=int(timing.stint_ns))
    calls = calls_for(warmed.best_ns)
    slowdown = _early_slowdown(subject, timing, warmed.calls) if calls > 1 else None
    samples, share = _sampled(subject, timing, calls)
    return Stopwatch(
        warm_ns=statistics.median(samples),
        best_ns=min(samples),
        cold_ns=_cold_ns(subject, timing, warmed.best_ns),
        samples_ns=samples,
        calls=calls,
        first_call_ns=warmed.first_ns,
        warm_calls=warmed.calls,
        timer_ns=_timer_ns(subject, timing, empty, calls),
        cpu_share=share,
        slowdown_per_call=slowdown if calls > 1 else _slowdown(subject, timing, 1, samples, 1),
    )


def _sampled(subject: Subject, timing: Timing, calls: int) -> tuple[tuple[float, ...], float | None]:
    """Warm samples, and processor time over wall time while they were taken."""
    clock, processor_ns = timing.clock, timing.processor_ns
    wall = clock.now_ns()
    processor = processor_ns() if processor_ns is not None else 0
    samples = take_samples(subject, clock, calls=calls, most=MOST_SAMPLES, limit_ns=timing.stint_ns)
    spent_ns = max(1, clock.now_ns() - wall)
    return samples, None if processor_ns is None else (processor_ns() - processor) / spent_ns


def _timer_ns(subject: Subject, timing: Timing, empty: Call, calls: int) -> float:
    """What remains of a sample when the call does nothing."""
    nothing = Subject(call=empty, restore=None if subject.restore is None else _nothing)
    return min(take_samples(nothing, timing.clock, calls=calls, most=MOST_TIMER, limit_ns=timing.stint_ns / 4))


def _cold_ns(subject: Subject, timing: Timing, best_ns: float) -> float | None:
    """Median of single calls after a flush; None: not asked for, or one call takes longer than all of them may.

    A call of that length fills any cache many times over by itself.
    """
    flush, restore = timing.flush, subject.restore
    if flush is None or best_ns > timing.stint_ns:
        return None

    def flushed() -> None:
        if restore is not None:
            restore()
        flush()

    cold = replace(subject, restore=flushed)
    return statistics.median(take_samples(cold, timing.clock, calls=1, most=MOST_COLD, limit_ns=timing.stint_ns))


def _slowdown(subject: Subject, timing: Timing, calls: int, first: tuple[float, ...], tries: int) -> float | None:
    """Relative growth from one call to the next, where `first` and a second series of samples grow; None: they do not.

    Load that rises while one series is taken looks like growth; that it goes on through a second one and takes up
    where the first ended is left to what is slowed by its own calls.
    """
    if growth_per_sample(first) is None:
        return None
    again = _series(subject, timing, calls, tries)
    if rising_chance(again) > GOES_ON or statistics.median(again) < statistics.median(first[-(len(first) // 4) :]):
        return None
    growth = growth_per_sample((*first, *again))
    return None if growth is None else growth / (calls * tries)


def _early_slowdown(subject: Subject, timing: Timing, warm_calls: int) -> float | None:
    """The same, told from as many calls as the warm-up made, right after it.

    What grows by a step a call has then doubled; after many more calls the same number would hardly show. Samples are
    short, and the shortest of a few counts, since other load only ever makes one longer.
    """
    calls = max(1, warm_calls // (MOST_SAMPLES * TRIES))
    return _slowdown(subject, timing, calls, _series(subject, timing, calls, TRIES), TRIES)


def _series(subject: Subject, timing: Timing, calls: int, tries: int) -> tuple[float, ...]:
    """Shortest of every `tries` samples in a row."""
    most = MOST_SAMPLES * tries
    taken = take_samples(subject, timing.clock, calls=calls, most=most, limit_ns=timing.stint_ns)
    return tuple(min(taken[start : start + tries]) for start in range(0, len(taken) - tries + 1, tries))


def _nothing() -> None:
    """Puts nothing back."""
