"""Table `calibrations`: what the probes of the machine measured during a run, one row per device, probe and size."""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model import Calibration, RunDocument
from opsdebug_ci.store.column import INTEGER, INTEGERS, REAL, TEXT, Column, Row, Table


def rows(document: RunDocument, calibrations: Sequence[Calibration]) -> Sequence[Row]:
    """One row per probe reading."""
    return [
        {
            "run_id": document.run.id,
            "device": calibration.device,
            "probe": reading.probe,
            "size_bytes": reading.size_bytes,
            "samples_ns": list(reading.samples_ns),
            "bandwidth_bytes_per_s": reading.bandwidth_bytes_per_s,
        }
        for calibration in calibrations
        for reading in calibration.probes
    ]


TABLE = Table(
    name="calibrations",
    comment="One row per device, probe and size.",
    columns=(
        Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
        Column(name="device", type=TEXT, comment="device probed"),
        Column(name="probe", type=TEXT, comment="probe name: `memcpy`"),
        Column(name="size_bytes", type=INTEGER, comment="bytes copied per repetition", unit="bytes"),
        Column(name="samples_ns", type=INTEGERS, comment="every repetition", unit="ns"),
        Column(name="bandwidth_bytes_per_s", type=REAL, comment="2 * size / median of the samples", unit="bytes/s"),
    ),
    rows=rows,
)
