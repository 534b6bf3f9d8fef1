"""A clock that only moves when it is told to, and a device that works beside the host on the same clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from opsdebug_ci.timing.clock import Clock
from opsdebug_ci.timing.device_queue import DeviceQueue


@dataclass(slots=True)
class FakeClock(Clock):
    """Host time as a number."""

    now: float = 0.0
    """ns."""

    waits: int = 0
    """How often the device was waited for."""

    def now_ns(self) -> int:
        return round(self.now)

    def wait(self) -> None:
        self.waits += 1

    def taking(self, *durations_ns: float) -> Callable[[], None]:
        """A call that takes these times one after the other, and the last one ever after."""
        left = list(durations_ns)

        def call() -> None:
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return call


@dataclass(slots=True)
class FakeDevice(Clock, DeviceQueue):
    """Work is launched in `launch_ns` of the host, done in `execute_ns` of the device, told in `sync_ns`."""

    launch_ns: float = 180_000.0
    """Host time before the device has the work."""

    execute_ns: float = 100_000.0
    """Device time."""

    sync_ns: float = 20_000.0
    """Host time to be told."""

    holds: bool = True
    """It can be held up."""

    now: float = 0.0
    """Host time."""

    free: float = 0.0
    """When the device will have done all it was given."""

    marks: list[float] = field(default_factory=list)
    """Device time at which each mark is passed."""

    def now_ns(self) -> int:
        return round(self.now)

    def wait(self) -> None:
        self.now = max(self.now, self.free) + self.sync_ns

    def call(self) -> None:
        self.now += self.launch_ns
        self.free = max(self.free, self.now) + self.execute_ns

    def waiting_call(self) -> None:
        """As an operator that reads a number back on its way."""
        self.call()
        self.wait()

    def mark(self) -> int:
        self.marks.append(max(self.free, self.now))
        return len(self.marks) - 1

    def between_ns(self, start: int, end: int) -> float:
        return self.marks[end] - self.marks[start]

    def hold(self, duration_ns: float) -> bool:
        if self.holds:
            self.free = max(self.free, self.now) + duration_ns
        return self.holds
