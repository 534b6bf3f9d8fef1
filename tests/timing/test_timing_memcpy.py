"""The memcpy probe: what it measures, and what it says where there is nothing to measure."""

from __future__ import annotations

import statistics

import pytest

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.timing import calibrate
from opsdebug_ci.timing.memcpy import REPETITIONS, SIZES_BYTES


def test_every_size_has_every_sample_and_the_bandwidth_follows_from_them() -> None:
    calibration = calibrate("cpu")
    assert calibration.device == "cpu"
    assert [(probe.probe, probe.size_bytes) for probe in calibration.probes] == [("memcpy", n) for n in SIZES_BYTES]
    for probe in calibration.probes:
        assert len(probe.samples_ns) == REPETITIONS
        assert min(probe.samples_ns) > 0
        seconds = statistics.median(probe.samples_ns) / 1e9
        moved = 2 * probe.size_bytes  # read once, written once
        assert probe.bandwidth_bytes_per_s == pytest.approx(moved / seconds, rel=1e-12)
        assert 1e7 < probe.bandwidth_bytes_per_s < 1e14  # between a floppy disk and any memory ever built


def test_more_bytes_take_more_time() -> None:
    fastest = [min(probe.samples_ns) for probe in calibrate("cpu").probes]
    assert fastest[0] < fastest[2]


@pytest.mark.parametrize("device", ["xpu:7", "abacus"])
def test_a_device_that_does_not_exist_is_named(device: str) -> None:
    with pytest.raises(EnvironmentLimitError) as limit:
        calibrate(device)
    assert str(limit.value).startswith(f"no device `{device}` here: ")
    assert (limit.value.next_step, limit.value.exit_code) == ("opsdebug doctor", 3)
