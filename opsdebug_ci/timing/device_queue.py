"""The queue of an accelerator: marks in it, time between them on the device's own clock, and holding it up.

Decides how the device itself is asked for time. One interface, so that what rests on it can be tried without a device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, final

import torch

from opsdebug_ci.model.device_fault import context_lost

Mark = Any
"""A mark in a queue: an event of torch's, or what stands for it where there is no device."""

SLEEP_HZ = 2_000_000_000
"""Cycles a second assumed of a CUDA device while it sleeps: slower ones sleep longer, which does no harm."""


class DeviceQueue(ABC):
    """What was given to a device and not yet done, in order."""

    @abstractmethod
    def mark(self) -> Mark:
        """Put a mark behind everything given so far."""

    @abstractmethod
    def between_ns(self, start: Mark, end: Mark) -> float:
        """Time from one mark to a later one, both of them passed; ns on the device's clock."""

    @abstractmethod
    def hold(self, duration_ns: float) -> bool:
        """Keep the device busy for at least so long, so that work can be queued behind; False: it cannot be."""


@final
class TorchQueue(DeviceQueue):
    """Through torch's accelerator interface: events on the current stream of any backend that has them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def mark(self) -> Mark:
        event = torch.Event(device=self._device, enable_timing=True)
        event.record()
        return event

    def between_ns(self, start: Mark, end: Mark) -> float:
        return float(start.elapsed_time(end)) * 1e6  # it is told in ms

    def hold(self, duration_ns: float) -> bool:
        # CUDA and ROCm alone have a kernel that only waits.
        if self._device.type != "cuda":
            return False
        with torch.cuda.device(self._device):
            torch.cuda._sleep(int(duration_ns * SLEEP_HZ / 1e9))  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return True


def queue_of(device: torch.device) -> DeviceQueue | None:
    """The queue of `device`; None: it is the CPU, or its backend has no events that tell time."""
    if device.type == "cpu":
        return None
    queue = TorchQueue(device)
    return queue if tells_time(queue, partial(torch.accelerator.synchronize, device)) else None


def tells_time(queue: DeviceQueue, wait: Callable[[], object]) -> bool:
    """Whether the time between two marks can be had, which not every backend offers; a lost device raises as it did.

    Args:
        queue: of the device.
        wait: returns once the device has done all it was given.
    """
    try:
        start, end = queue.mark(), queue.mark()
        wait()
        queue.between_ns(start, end)
    except RuntimeError as error:  # NotImplementedError is one: what torch raises where a backend has no such events
        if context_lost(type(error).__name__, str(error)):
            raise
        return False
    return True
