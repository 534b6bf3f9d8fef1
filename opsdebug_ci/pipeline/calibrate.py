"""`opsdebug calibrate`: every probe on every device here."""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.machine import Calibration, Machine
from opsdebug_ci.pipeline.workbench import available_devices, worker_pool
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCalibration:
    """A machine and its probes."""

    machine: Machine
    """Which machine."""

    calibrations: tuple[Calibration, ...]
    """One per device."""


def calibrate(configuration: Configuration, world: World) -> MachineCalibration:
    """Probe every configured device, or those that are there. Needs no operators."""
    with worker_pool(configuration, world) as pool:
        machine = pool.identify()
        devices = available_devices(configuration, machine)
        return MachineCalibration(
            machine=machine, calibrations=tuple(pool.calibrate(device) for device in dict.fromkeys(devices))
        )
