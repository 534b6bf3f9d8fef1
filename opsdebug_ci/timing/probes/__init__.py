"""Probes of the machine, one per file: what each measures is its own business, how it is timed is the bench's."""

from opsdebug_ci.timing.probes.bench import Probe
from opsdebug_ci.timing.probes.gemm import gemm
from opsdebug_ci.timing.probes.launch import launch
from opsdebug_ci.timing.probes.memcpy import memcpy
from opsdebug_ci.timing.probes.triad import triad

PROBES: tuple[Probe, ...] = (memcpy, triad, gemm, launch)
"""Every probe, in the order they are run."""
