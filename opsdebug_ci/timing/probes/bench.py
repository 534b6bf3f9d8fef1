"""What a probe is, and what it measures with.

Decides how one repetition is timed, how many there are, and how large a buffer must be to lie beyond any cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.machine import ProbeReading
from opsdebug_ci.timing.caches import last_level_bytes
from opsdebug_ci.timing.clock import Clock, clock_of
from opsdebug_ci.timing.device_queue import DeviceQueue, queue_of

REPETITIONS = 15
"""Timed repetitions of a probe at most; the median of 15 is within the middle half with probability > 0.99."""

FEWEST = 7
"""Timed however long they take."""

LIMIT_NS = 100_000_000
"""No further repetition begins after so long; ten such probes are a second."""

WARM_UPS = 3
"""Untimed repetitions before them: pages are mapped, threads started."""

CACHED_BYTES = (256 * 1024, 4 * 1024 * 1024)
"""Inside a private cache, and inside a shared one."""

LEAST_BEYOND_BYTES = 64 * 1024 * 1024
"""Shortest buffer beyond any cache."""

MOST_BEYOND_BYTES = 512 * 1024 * 1024
"""Longest: a probe must not drive a small machine out of its memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A device and the clocks to probe it with."""

    device: torch.device
    """What is probed."""

    clock: Clock
    """Host time, and waiting for the device."""

    queue: DeviceQueue | None = None
    """Times on the device itself; None: it has no clock of its own, or is the CPU."""

    cache_bytes: int | None = None
    """Its last cache; None: the system does not tell."""

    def beyond_bytes(self) -> int:
        """Bytes of a buffer that no cache holds: twice the last one."""
        wanted = 2 * (self.cache_bytes or 0)
        return min(MOST_BEYOND_BYTES, max(LEAST_BEYOND_BYTES, wanted))

    def sizes_bytes(self) -> tuple[int, ...]:
        """Sizes for bandwidth, from a private cache to memory; source and target of the last but one fill a cache."""
        half = (self.cache_bytes or 0) // 2
        return (*CACHED_BYTES, *((half,) if half > CACHED_BYTES[-1] else ()), self.beyond_bytes())

    def once_ns(self, call: Callable[[], object]) -> int:
        """Time of one call, by the device's own clock where it has one; at least 1 ns."""
        if self.queue is None:
            self.clock.wait()
            start = self.clock.now_ns()
            call()
            self.clock.wait()
            return max(1, self.clock.now_ns() - start)
        start_mark = self.queue.mark()
        call()
        end_mark = self.queue.mark()
        self.clock.wait()
        return max(1, round(self.queue.between_ns(start_mark, end_mark)))

    def samples_ns(self, call: Callable[[], object], repetitions: int = REPETITIONS) -> tuple[int, ...]:
        """Times of at most `repetitions` calls after warming up, in the order taken."""
        for _ in range(WARM_UPS):
            call()
        samples: list[int] = []
        while len(samples) < repetitions and (len(samples) < FEWEST or sum(samples) < LIMIT_NS):
            samples.append(self.once_ns(call))
        return tuple(samples)


Probe = Callable[[Bench], Iterator[ProbeReading]]
"""Yields one reading per size and dtype."""


def bench_of(device: torch.device) -> Bench:
    """The bench for a device that is there."""
    return Bench(device=device, clock=clock_of(device), queue=queue_of(device), cache_bytes=last_level_bytes(device))
