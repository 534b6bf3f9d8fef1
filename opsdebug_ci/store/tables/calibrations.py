"""Table `calibrations`: what the probes of the machine measured; one row per run, device, probe, size and dtype.

Decides how the calibrations of a run lie in columns, and reads them back. A calibration in which no probe measured
anything is one row without a probe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, groupby

from opsdebug_ci.model import Calibration, ProbeReading
from opsdebug_ci.model.timing import Clocks
from opsdebug_ci.store.column import FLAG, INTEGER, INTEGERS, REAL, TEXT, Column, Row, StoredRun, Table
from opsdebug_ci.store.struct import cells

READING: Mapping[str, str] = {
    "probe": "probe",
    "size_bytes": "size_bytes",
    "samples_ns": "samples_ns",
    "bandwidth_bytes_per_s": "bandwidth_bytes_per_s",
    "dtype": "dtype",
    "flops_per_s": "flops_per_s",
}
"""Field of `ProbeReading` -> column."""

BEFORE: Mapping[str, str] = {
    "frequency_hz": "frequency_before_hz",
    "nominal_hz": "nominal_before_hz",
    "throttled": "throttled_before",
    "policy": "clock_policy_before",
    "stolen": "stolen_before",
    "load": "load_before",
}
"""Field of the `Clocks` before the probes -> column."""

AFTER: Mapping[str, str] = {
    "frequency_hz": "frequency_after_hz",
    "nominal_hz": "nominal_hz",
    "throttled": "throttled",
    "policy": "clock_policy",
    "stolen": "stolen",
    "load": "load",
}
"""Field of the `Clocks` after them -> column."""


def rows(stored: StoredRun) -> Sequence[Row]:
    """One row per probe reading; the clocks are those of the whole calibration."""
    position = count()
    return [
        {
            "run_id": stored.document.run.id,
            "position": next(position),
            "calibration": number,
            "device": calibration.device,
            **cells(reading, READING),
            **cells(calibration.clocks_before, BEFORE),
            **cells(calibration.clocks_after, AFTER),
        }
        for number, calibration in enumerate(stored.calibrations)
        for reading in calibration.probes or (None,)
    ]


def read_calibrations(rows: Sequence[Row]) -> tuple[Calibration, ...]:
    """Inverse of `rows`; what an older file does not tell of the clocks is None, and its calibrations are told apart by
    their devices."""
    found = groupby(rows, key=lambda row: (row["calibration"], row["device"]))
    return tuple(_calibration(device, tuple(mine)) for (_, device), mine in found)


def _calibration(device: str, rows: Sequence[Row]) -> Calibration:
    return Calibration(
        device=device,
        probes=tuple(_reading(row) for row in rows if row["probe"] is not None),
        clocks_before=_clocks(rows[0], BEFORE),
        clocks_after=_clocks(rows[0], AFTER),
    )


def _reading(row: Row) -> ProbeReading:
    fields = {field: row[column] for field, column in READING.items()}
    return ProbeReading(**{**fields, "samples_ns": tuple(row["samples_ns"])})


def _clocks(row: Row, columns: Mapping[str, str]) -> Clocks:
    return Clocks(**{field: row[column] for field, column in columns.items()})


TABLE = Table(
    name="calibrations",
    comment="One row per device, probe, size and dtype.",
    columns=(
        Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
        Column(name="position", type=INTEGER, comment="order of the rows of a run, from 0; null in older files"),
        Column(name="calibration", type=INTEGER, comment="which calibration of the run, from 0; null in older files"),
        Column(name="device", type=TEXT, comment="device probed"),
        Column(
            name="probe",
            type=TEXT,
            comment="probe name: `memcpy`, `triad`, `gemm` or `launch`; null: no probe measured anything",
        ),
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
        Column(
            name="nominal_before_hz",
            type=REAL,
            comment="what the device was built for, told before the probes; null: not told, older files",
            unit="Hz",
        ),
        Column(
            name="throttled_before",
            type=FLAG,
            comment="slowed for heat or power before the probes; null: not told, older files",
        ),
        Column(
            name="clock_policy_before",
            type=TEXT,
            comment="who decided the frequency before the probes; null: not told, older files",
        ),
        Column(
            name="stolen_before",
            type=REAL,
            comment="share of the time the hypervisor ran others before the probes; null: not told, older files",
            unit="1",
        ),
        Column(
            name="load_before",
            type=REAL,
            comment="runnable processes beside ours before the probes; null: not told, older files",
            unit="processes",
        ),
        Column(name="frequency_after_hz", type=REAL, comment="clock right after them; null: not told", unit="Hz"),
        Column(name="nominal_hz", type=REAL, comment="what the device is built for; null: not told", unit="Hz"),
        Column(name="throttled", type=FLAG, comment="slowed for heat or power meanwhile; null: not told"),
        Column(name="clock_policy", type=TEXT, comment="who decides the frequency; null: not told"),
        Column(
            name="stolen", type=REAL, comment="share of the time the hypervisor ran others; null: not told", unit="1"
        ),
        Column(
            name="load",
            type=REAL,
            comment="runnable processes beside ours meanwhile; null: not told",
            unit="processes",
        ),
    ),
    rows=rows,
    order=("position",),
)
