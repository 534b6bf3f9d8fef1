"""Where a peak comes from: configuration before table before measurement, entry by entry, and said."""

from __future__ import annotations

import re

import pytest

from opsdebug_ci.model.machine import Calibration, ProbeReading
from opsdebug_ci.regress.devices import DEVICES, known_device
from opsdebug_ci.regress.peaks import GivenPeaks, bandwidths, measured_flops, needs_calibration, peaks_of


def probe(name: str, size: int, bandwidth: float | None = None, flops: float | None = None, dtype: str | None = None):
    return ProbeReading(
        probe=name,
        size_bytes=size,
        samples_ns=(2000, 1500, 9000),
        bandwidth_bytes_per_s=bandwidth,
        flops_per_s=flops,
        dtype=dtype,
    )


MEASURED = Calibration(
    device="cpu",
    probes=(
        probe("memcpy", 2**18, 50e9),
        probe("triad", 2**18, 60e9, dtype="float32"),
        probe("memcpy", 2**22, 30e9),
        probe("memcpy", 2**26, 10e9),
        probe("triad", 2**26, 12e9, dtype="float32"),
        probe("gemm", 2**20, flops=8e10, dtype="float32"),
        probe("gemm", 2**22, flops=9e10, dtype="float32"),
        probe("launch", 0),
    ),
)


def test_a_cpu_is_measured():
    found = peaks_of("cpu", None, GivenPeaks(), MEASURED)
    assert (found.source, found.bandwidth_bytes_per_s, found.flops_per_s) == ("measured", 12e9, {"float32": 9e10})
    assert [one.bandwidth_bytes_per_s for one in found.cached] == [60e9, 30e9]
    assert found.launch_ns == 1500


def test_configuration_wins_and_the_rest_is_said_by_entry():
    found = peaks_of("cuda", "NVIDIA A100-SXM4-80GB", GivenPeaks(bandwidth_bytes_per_s=1.5e12), None)
    assert found.bandwidth_bytes_per_s == 1.5e12
    assert found.flops_per_s["float32"] == 19.5e12
    assert found.source == "bandwidth configuration; bfloat16, float16, float32, float64 table: A100 SXM 80GB"


def test_a_dtype_the_table_lacks_is_taken_from_the_measurement():
    found = peaks_of(
        "cuda",
        "NVIDIA L4",
        GivenPeaks(),
        Calibration(
            device="cuda",
            probes=(probe("gemm", 1, flops=4e11, dtype="float64"), probe("gemm", 1, flops=1, dtype="float32")),
        ),
    )
    assert (found.flops_per_s["float64"], found.flops_per_s["float32"]) == (4e11, 30.3e12)
    assert "float64 measured" in found.source


def test_nothing_known_is_said():
    found = peaks_of("xpu", "Some Device", GivenPeaks(), None)
    assert (found.bandwidth_bytes_per_s, found.flops_per_s, found.source) == (None, {}, "not known")


def test_probes_of_one_working_set_count_once():
    assert [(one.working_set_bytes, one.bandwidth_bytes_per_s) for one in bandwidths(MEASURED.probes)] == [
        (3 * 2**18, 60e9),
        (2 * 2**22, 30e9),
        (3 * 2**26, 12e9),
    ]
    assert measured_flops(MEASURED.probes) == {"float32": 9e10}


@pytest.mark.parametrize(
    ("name", "given", "needed"),
    [
        (None, GivenPeaks(), True),
        (None, GivenPeaks(bandwidth_bytes_per_s=1e10), True),
        (None, GivenPeaks(bandwidth_bytes_per_s=1e10, flops_per_s={"float32": 1e11}), False),
        ("NVIDIA H200", GivenPeaks(), False),
    ],
)
def test_calibration_is_needed_where_nobody_says(name, given, needed):
    assert needs_calibration(name, given) is needed


@pytest.mark.parametrize(
    ("driver", "entry"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 40GB"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-16GB", "V100 SXM2"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A10G", None),
        ("AMD Instinct MI300X", "MI300X"),
        ("AMD Instinct MI250X", "MI250X, one of two dies"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA GeForce RTX 3090 Ti", None),
        ("AMD EPYC 7763", None),
        (None, None),
    ],
)
def test_a_driver_name_stands_for_one_entry(driver, entry):
    found = known_device(driver)
    assert (None if found is None else found.name) == entry


def test_every_entry_is_reachable_and_sane():
    assert len({device.name for device in DEVICES}) == len(DEVICES)
    for device in DEVICES:
        assert re.compile(device.pattern) and re.search(r"data ?sheet|whitepaper", device.source)
        assert 2e11 < device.bandwidth_bytes_per_s < 1e13
        assert device.flops_per_s["float32"] < device.flops_per_s["float16"]
