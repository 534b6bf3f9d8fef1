"""Clocks and throttling of an NVIDIA device through NVML, where its Python binding happens to be installed.

Decides which of the reasons that NVML gives for a low clock make a measurement suspect. Nothing of it is required:
without the binding, or where the driver does not answer, the clocks are simply not known.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch

from opsdebug_ci.model.timing import Clocks

HELD_DOWN = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
"""Power cap, hardware slowdown, software thermal, hardware thermal and power brake slowdown: bits of
nvmlClocksEventReasons in nvml.h. Idle (0x1) and clocks that were set (0x2) are no slowdown."""

CLOCKS_SET = 0x2
"""Somebody set the application clocks."""

SM_CLOCK = 1
"""NVML_CLOCK_SM in nvml.h."""


def binding() -> ModuleType | None:
    """The `pynvml` module; None: not installed."""
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None


def nvml_clocks(device: torch.device, known: Clocks) -> Clocks:
    """`known` with what NVML tells of `device`."""
    nvml = binding()
    if nvml is None:
        return known
    try:
        nvml.nvmlInit()
        # By uuid: NVML counts devices that CUDA was told not to see.
        uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
        return read(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid), known)
    except (nvml.NVMLError, RuntimeError, AssertionError, AttributeError):  # no driver, no such device, old binding
        return known


def read(nvml: Any, handle: Any, known: Clocks) -> Clocks:
    """`known` with the clocks of the device behind `handle`.

    Args:
        nvml: the binding, or what answers like it.
        handle: what it calls the device.
        known: what is kept of the rest.
    """
    reasons = int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    return replace(
        known,
        frequency_hz=nvml.nvmlDeviceGetClockInfo(handle, SM_CLOCK) * 1e6,
        nominal_hz=nvml.nvmlDeviceGetMaxClockInfo(handle, SM_CLOCK) * 1e6,
        throttled=bool(reasons & HELD_DOWN),
        policy="application clocks" if reasons & CLOCKS_SET else None,
    )
