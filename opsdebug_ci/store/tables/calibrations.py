"""Table `calibrations`: what the probes of the machine measured; one row per run, device, probe, size and dtype."""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.store.column import FLAG, INTEGER, INTEGERS, REAL, TEXT, Column, Row, StoredRun, Table


def rows(stored: StoredRun) -> Sequence[Row]:
    """One row per probe reading; the clocks are those of the whole calibration."""
    return [
        {
            "run_id": stored.document.run.id,
            "device": calibration.device,
            "probe": reading.probe,
            "size_bytes": reading.size_bytes,
            "samples_ns": list(reading.samples_ns),
            "bandwidth_bytes_per_s": reading.bandwidth_bytes_per_s,
            "dtype": reading.dtype,
            "flops_per_s": reading.flops_per_s,
            "frequency_before_hz": calibration.clocks_before.frequency_hz,
            "frequency_after_hz": calibration.clocks_after.frequency_hz,
            "nominal_hz": calibration.clocks_after.nominal_hz,
            "throttled": calibration.clocks_after.throttled,
            "clock_policy": calibration.clocks_after.policy,
            "stolen": calibration.clocks_after.stolen,
            "load": calibration.clocks_after.load,
        }
        for calibration in stored.calibrations
        for reading in calibration.probes
    ]


TABLE = Table(
    name="calibrations",
    comment="One row per device, probe, size and dtype.",
    columns=(
        Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
        Column(name="device", type=TEXT, comment="device probed"),
        Column(name="probe", type=TEXT, comment="probe name: `memcpy`, `triad`, `gemm` or `launch`"),
        Column(
            name="size_bytes",
            type=INTEGER,
            comment="memcpy: copied per repetition; triad: one of its vectors; gemm: its three matrices; launch: 0",
            unit="bytes",
        ),
        Column(name="samples_ns", type=INTEGERS, comment="every repetition; launch: of one call", unit="ns"),
        Column(
            name="bandwidth_bytes_per_s",
            type=REAL,
            comment="size / median of the samples, times 2 for memcpy and 3 for triad; null: other probes",
            unit="bytes/s",
        ),
        Column(name="dtype", type=TEXT, comment="dtype of the elements; null: the probe has none"),
        Column(
            name="flops_per_s", type=REAL, comment="gemm: 2 n^3 / shortest sample; null: other probes", unit="flop/s"
        ),
        Column(name="frequency_before_hz", type=REAL, comment="clock before the probes; null: not told", unit="Hz"),
        Column(name="frequency_after_hz", type=REAL, comment="clock right after them; null: not told", unit="Hz"),
        Column(name="nominal_hz", type=REAL, comment="what the device is built for; null: not told", unit="Hz"),
        Column(name="throttled", type=FLAG, comment="slowed for heat or power meanwhile; null: not told"),
        Column(name="clock_policy", type=TEXT, comment="who decides the frequency; null: not told"),
        Column(
            name="stolen", type=REAL, comment="share of the time the hypervisor ran others; null: not told", unit="1"
        ),
        Column(name="load", type=REAL, comment="processors others kept busy meanwhile; null: not told"),
    ),
    rows=rows,
)
