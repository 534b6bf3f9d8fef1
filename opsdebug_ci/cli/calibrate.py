"""`opsdebug calibrate`."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import click

from opsdebug_ci.cli.options import config_option, configuration, json_option, python_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.model.comparability import FACTS
from opsdebug_ci.model.machine import Calibration, Machine, ProbeReading
from opsdebug_ci.model.timing import Clocks
from opsdebug_ci.model.wire import to_json
from opsdebug_ci.pipeline.calibrate import calibrate
from opsdebug_ci.report.table import aligned


@click.command()
@python_option
@config_option
@json_option
def command(python: str | None, config: Path | None, as_json: bool) -> int:
    """Probe how fast this machine copies, multiplies and launches."""
    settings = configuration(config, {"python": python}, operators_required=False)
    found = calibrate(settings, world())
    if as_json:
        tell(json.dumps(to_json(found), allow_nan=False))
        return 0
    tell(f"machine {found.machine.key}: runs with this key may be compared")
    tell("\n".join(_facts(found.machine)))
    for calibration in found.calibrations:
        tell(f"\n{calibration.device}{_clocks(calibration.clocks_after)}")
        tell("\n".join(_table(calibration)))
    tell("\nnext: opsdebug profile")
    return 0


def _facts(machine: Machine) -> list[str]:
    """Every fact, those of the key first."""
    rows = [(fact.name, fact.text(machine) or fact.absent, "yes" if fact.in_key else "no") for fact in FACTS]
    return aligned(("fact", "here", "in the key"), rows, left=3)


def _clocks(clocks: Clocks) -> str:
    """What is known of the clocks; what is not is not mentioned."""
    words = [
        f"{clocks.frequency_hz / 1e9:.2f} GHz" if clocks.frequency_hz is not None else "",
        f"of {clocks.nominal_hz / 1e9:.2f}" if clocks.nominal_hz is not None else "",
        f"({clocks.policy})" if clocks.policy else "",
    ]
    facts = [
        " ".join(word for word in words if word),
        "throttled" if clocks.throttled else "",
        f"load of others {clocks.load:.1f}" if clocks.load is not None else "",
        f"stolen {clocks.stolen:.0%}" if clocks.stolen is not None else "",
    ]
    return "".join(f", {fact}" for fact in facts if fact)


def _table(calibration: Calibration) -> list[str]:
    headings = ("probe", "dtype", "size", "median", "read + write", "peak", "slowest over fastest")
    return aligned(headings, [_row(reading) for reading in calibration.probes])


def _row(reading: ProbeReading) -> tuple[str, ...]:
    bandwidth, flops = reading.bandwidth_bytes_per_s, reading.flops_per_s
    return (
        reading.probe,
        reading.dtype or "-",
        f"{reading.size_bytes / 2**20:g} MiB" if reading.size_bytes else "-",
        f"{statistics.median(reading.samples_ns) / 1e3:.1f} us",
        "-" if bandwidth is None else f"{bandwidth / 1e9:.1f} GB/s",
        "-" if flops is None else f"{flops / 1e9:.1f} GFLOP/s",
        f"{(max(reading.samples_ns) / min(reading.samples_ns) - 1) * 100:.0f} %",
    )
