"""Clocks and probes of the machine."""

from opsdebug_ci.timing.memcpy import calibrate as calibrate
