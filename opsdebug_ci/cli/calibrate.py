"""`opsdebug calibrate`."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import click

from opsdebug_ci.cli.options import config_option, configuration, json_option, python_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.model.machine import Calibration
from opsdebug_ci.model.wire import to_json
from opsdebug_ci.pipeline.calibrate import calibrate
from opsdebug_ci.report.table import aligned


@click.command()
@python_option
@config_option
@json_option
def command(python: str | None, config: Path | None, as_json: bool) -> int:
    """Probe how fast this machine copies memory."""
    settings = configuration(config, {"python": python}, operators_required=False)
    found = calibrate(settings, world())
    if as_json:
        tell(json.dumps(to_json(found), allow_nan=False))
        return 0
    tell(f"{found.machine.cpu}, {found.machine.cores} cores, torch {found.machine.torch} ({found.machine.key})")
    for calibration in found.calibrations:
        tell(f"\n{calibration.device}")
        tell("\n".join(_table(calibration)))
    tell("\nnext: opsdebug ci --stage smoke")
    return 0


def _table(calibration: Calibration) -> list[str]:
    rows = [
        (
            probe.probe,
            f"{probe.size_bytes / 2**20:g} MiB",
            f"{statistics.median(probe.samples_ns) / 1e3:.1f} us",
            f"{(probe.bandwidth_bytes_per_s or 0.0) / 1e9:.1f} GB/s",
            f"{(max(probe.samples_ns) / min(probe.samples_ns) - 1) * 100:.0f} %",
        )
        for probe in calibration.probes
    ]
    return aligned(("probe", "size", "median", "read + write", "slowest over fastest"), rows)
