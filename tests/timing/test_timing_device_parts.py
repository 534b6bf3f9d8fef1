"""Launch, execute and synchronise on a device that is only numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from timing_fakes import FakeDevice

from opsdebug_ci.timing.clock import AcceleratorClock, HostClock, clock_of
from opsdebug_ci.timing.device_parts import device_parts
from opsdebug_ci.timing.device_queue import DeviceQueue, queue_of, tells_time
from opsdebug_ci.timing.sampling import Subject


@pytest.mark.parametrize(
    ("launch_ns", "execute_ns", "sync_ns"),
    [(180_000.0, 100_000.0, 20_000.0), (5_000.0, 3_000_000.0, 8_000.0), (9_000.0, 1_000.0, 4_000.0)],
)
def test_the_three_are_told_apart(launch_ns: float, execute_ns: float, sync_ns: float) -> None:
    device = FakeDevice(launch_ns=launch_ns, execute_ns=execute_ns, sync_ns=sync_ns)
    parts = device_parts(Subject(call=device.call), device, device, limit_ns=1e9)
    assert (parts.launch_ns, parts.execute_ns, parts.sync_ns) == pytest.approx((launch_ns, execute_ns, sync_ns))
    assert parts.total_ns == pytest.approx(launch_ns + execute_ns + sync_ns)
    assert "queued while the device was held" in parts.how


def test_what_puts_arguments_back_is_in_none_of_them() -> None:
    device = FakeDevice()

    def restore() -> None:
        device.now += 1_000.0
        device.free = max(device.free, device.now) + 700_000.0

    parts = device_parts(Subject(call=device.call, restore=restore), device, device, limit_ns=1e9)
    assert (parts.launch_ns, parts.execute_ns, parts.sync_ns) == pytest.approx((180_000, 100_000, 20_000))


def test_a_device_that_cannot_be_held_shows_launches_and_says_so() -> None:
    device = FakeDevice(holds=False)
    parts = device_parts(Subject(call=device.call), device, device, limit_ns=1e9)
    assert parts.execute_ns > 150_000  # the device waits for the host between two calls
    assert parts.launch_ns == pytest.approx(300_000 - parts.execute_ns - 20_000)
    assert "where launching takes longer than the work, execute includes it" in parts.how


def test_an_operator_that_waits_for_the_device_is_said_to() -> None:
    device = FakeDevice()
    parts = device_parts(Subject(call=device.waiting_call), device, device, limit_ns=1e9)
    assert "wait for the device themselves" in parts.how


def test_launch_is_never_below_nothing() -> None:
    """Launches overlap a device that is busy: single calls are no longer than their execution."""
    device = FakeDevice(launch_ns=0.0, execute_ns=100_000.0, sync_ns=0.0)
    parts = device_parts(Subject(call=device.call), device, FastClocked(device), limit_ns=1e9)
    assert (parts.launch_ns, parts.execute_ns) == (0.0, pytest.approx(120_000.0))
    assert "launch is floored at 0" in parts.how


class FastClocked(DeviceQueue):
    """The queue of a device whose own clock runs a fifth too fast."""

    def __init__(self, device: FakeDevice) -> None:
        self._device = device

    def mark(self) -> int:
        return self._device.mark()

    def between_ns(self, start: int, end: int) -> float:
        return 1.2 * self._device.between_ns(start, end)

    def hold(self, duration_ns: float) -> bool:
        return self._device.hold(duration_ns)


def test_the_cpu_is_done_when_a_call_returns_and_has_no_queue() -> None:
    assert isinstance(clock_of(torch.device("cpu")), HostClock)
    assert isinstance(clock_of(torch.device("cuda", 0)), AcceleratorClock)
    assert queue_of(torch.device("cpu")) is None


def test_a_device_with_events_tells_time() -> None:
    device = FakeDevice()
    assert tells_time(device, device.wait)


@pytest.mark.parametrize("error", [NotImplementedError("no events"), RuntimeError("events without timing")])
def test_a_backend_without_events_that_tell_time_is_no_fault(error: RuntimeError) -> None:
    assert not tells_time(FakeDevice(), raising(error))


def test_a_lost_device_is_not_taken_for_one_without_events() -> None:
    lost = RuntimeError("CUDA error: an illegal memory access was encountered")
    with pytest.raises(RuntimeError, match="illegal memory access"):
        tells_time(FakeDevice(), raising(lost))


def raising(error: RuntimeError) -> Callable[[], None]:
    def wait() -> None:
        raise error

    return wait
