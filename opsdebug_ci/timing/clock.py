"""Clocks: when the host starts and when the device is done.

Decides how time is read. One interface, an implementation per kind of device; `clock_of` picks.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import final

import torch

TICKS = 100
"""Steps of the clock looked at to find the smallest."""


class Clock(ABC):
    """Reads host time and waits for a device."""

    @abstractmethod
    def now_ns(self) -> int:
        """Host time that never goes back; ns."""

    @abstractmethod
    def wait(self) -> None:
        """Return once the device has done all it was given."""

    def resolution_ns(self) -> float:
        """Smallest step seen between two readings; ns."""
        steps: list[int] = []
        before = self.now_ns()
        while len(steps) < TICKS:
            now = self.now_ns()
            if now > before:
                steps.append(now - before)
                before = now
        return float(min(steps))


@final
class HostClock(Clock):
    """For the CPU, which is done when a function returns."""

    def now_ns(self) -> int:
        return time.perf_counter_ns()

    def wait(self) -> None:
        """Nothing to wait for."""


@final
class AcceleratorClock(Clock):
    """For a device that works on its own; waits by torch's accelerator interface."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def now_ns(self) -> int:
        return time.perf_counter_ns()

    def wait(self) -> None:
        torch.accelerator.synchronize(self._device)


def clock_of(device: torch.device) -> Clock:
    """The clock for work on `device`."""
    return HostClock() if device.type == "cpu" else AcceleratorClock(device)
