"""Clocks and probes of the machine."""

from opsdebug_ci.timing.calibration import calibrate as calibrate
