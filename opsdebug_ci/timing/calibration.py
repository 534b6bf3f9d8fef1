"""Calibration: every probe on one device, and the state of its clocks around them.

Decides that a device is there and when its clocks are read. Deliberately draws no conclusion: it measures, others
decide what it means. Dividing a time by a probe is none of its uses: on a loaded machine that multiplies false alarms.
"""

from __future__ import annotations

import torch

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.model.machine import Calibration
from opsdebug_ci.timing.clock_state import ClockWatch
from opsdebug_ci.timing.probes import PROBES
from opsdebug_ci.timing.probes.bench import bench_of
from opsdebug_ci.timing.sampling import uncollected


def calibrate(device: str) -> Calibration:
    """Run every probe on `device`; every sample. Raises EnvironmentLimitError where it does not exist."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise EnvironmentLimitError(
            f"no device `{device}` here: {str(error).splitlines()[0]}", next_step="opsdebug doctor"
        ) from error
    bench = bench_of(torch.device(device))
    before = ClockWatch(bench.device).read()
    watch = ClockWatch(bench.device)
    with torch.no_grad(), uncollected():
        readings = tuple(reading for probe in PROBES for reading in probe(bench))
    return Calibration(device=device, probes=readings, clocks_before=before, clocks_after=watch.read())
