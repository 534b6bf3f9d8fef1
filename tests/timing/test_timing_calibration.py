"""Calibration: what each probe measures, and what is said where there is nothing to measure."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from timing_fakes import FakeClock, FakeDevice

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.model.machine import Calibration
from opsdebug_ci.timing import calibrate
from opsdebug_ci.timing.caches import flush_of, last_level_bytes
from opsdebug_ci.timing.probes.bench import CACHED_BYTES, FEWEST, LEAST_BEYOND_BYTES, MOST_BEYOND_BYTES, Bench

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def found() -> Calibration:
    return calibrate("cpu")


def test_every_probe_has_its_sizes_and_dtypes(found: Calibration) -> None:
    sizes = [probe.size_bytes for probe in found.probes if probe.probe == "memcpy"]
    assert tuple(sizes[:2]) == CACHED_BYTES
    assert len(sizes) in (3, 4), "half the last cache too, where the system tells its size"
    assert sizes == sorted(sizes)
    assert [probe.size_bytes for probe in found.probes if probe.probe == "triad"] == sizes
    assert {"float32", "float64"} <= {str(probe.dtype) for probe in found.probes if probe.probe == "gemm"}
    assert [probe.probe for probe in found.probes][-1] == "launch"
    assert all(min(probe.samples_ns) > 0 for probe in found.probes)
    assert all(len(probe.samples_ns) >= FEWEST for probe in found.probes if probe.probe != "launch")


@pytest.mark.parametrize(("name", "times"), [("memcpy", 2), ("triad", 3)])
def test_bandwidth_follows_from_the_median(found: Calibration, name: str, times: int) -> None:
    for probe in [probe for probe in found.probes if probe.probe == name]:
        seconds = statistics.median(probe.samples_ns) / 1e9
        assert probe.bandwidth_bytes_per_s == pytest.approx(times * probe.size_bytes / seconds, rel=1e-12)
        assert probe.flops_per_s is None
        assert 1e7 < (probe.bandwidth_bytes_per_s or 0) < 1e14  # between a floppy disk and any memory ever built


def test_a_peak_follows_from_the_shortest_product(found: Calibration) -> None:
    for probe in [probe for probe in found.probes if probe.probe == "gemm"]:
        width = getattr(torch, str(probe.dtype)).itemsize
        side = round((probe.size_bytes / 3 / width) ** 0.5)
        assert side >= 256
        assert probe.flops_per_s == pytest.approx(2 * side**3 / (min(probe.samples_ns) / 1e9), rel=1e-12)
        assert probe.bandwidth_bytes_per_s is None


@pytest.mark.parametrize("device", ["xpu:7", "abacus"])
def test_a_device_that_does_not_exist_is_named(device: str) -> None:
    with pytest.raises(EnvironmentLimitError) as limit:
        calibrate(device)
    assert str(limit.value).startswith(f"no device `{device}` here: ")
    assert (limit.value.next_step, limit.value.exit_code) == ("opsdebug doctor", 3)


def test_repetitions_end_with_the_time_but_a_few_are_made() -> None:
    clock = FakeClock()
    bench = Bench(device=CPU, clock=clock)
    assert bench.samples_ns(clock.taking(1e9)) == (10**9,) * FEWEST
    assert len(bench.samples_ns(clock.taking(1e3))) == 15


def test_a_device_with_a_clock_of_its_own_is_timed_by_it() -> None:
    device = FakeDevice()
    assert Bench(device=CPU, clock=device, queue=device).once_ns(device.call) == 280_000  # launched, then executed
    assert Bench(device=CPU, clock=device).once_ns(device.call) == 300_000  # and the host was told


@pytest.mark.parametrize(
    ("cache_bytes", "beyond_bytes"),
    [(None, LEAST_BEYOND_BYTES), (1 << 20, LEAST_BEYOND_BYTES), (100 << 20, 200 << 20), (1 << 30, MOST_BEYOND_BYTES)],
)
def test_the_largest_buffer_is_twice_the_last_cache(cache_bytes: int | None, beyond_bytes: int) -> None:
    assert replace(Bench(device=CPU, clock=FakeClock()), cache_bytes=cache_bytes).beyond_bytes() == beyond_bytes


@pytest.mark.parametrize(
    ("texts", "size"),
    [({}, None), ({"index0": "32K", "index3": "32768K\n"}, 32 << 20), ({"index0": "1M", "index1": "many"}, 1 << 20)],
)
def test_the_last_cache_is_the_largest_the_system_tells_of(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str], size: int | None
) -> None:
    root = tmp_path_factory.mktemp("cpus")
    for index, text in texts.items():
        (root / "cpu0/cache" / index).mkdir(parents=True)
        (root / "cpu0/cache" / index / "size").write_text(text)
    assert last_level_bytes(CPU, root) == size


def test_flushing_touches_twice_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    zeros: Callable[..., torch.Tensor] = torch.zeros

    def seen(size: int, **options: object) -> torch.Tensor:
        made.append(size)
        return zeros(size, **options)

    monkeypatch.setattr(torch, "zeros", seen)
    flush_of(CPU, 1 << 20)()
    assert made == [2 << 20]
