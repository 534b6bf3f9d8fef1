"""What was set of an NVIDIA device, and by which driver it is run: facts that stay, unlike the state of its clocks.

Decides which settings are told: application clocks, power limit and ECC. Locked clocks (`nvidia-smi --lock-gpu-clocks`)
cannot be asked for, and what throttles at a moment is the state of the clocks (`nvml`). Nothing of it is required.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from opsdebug_ci.timing.nvml import SM_CLOCK, binding

ROOT = Path("/")
"""Where `proc` and `sys` are."""

MEMORY_CLOCK = 2
"""NVML_CLOCK_MEM in nvml.h."""

KERNEL_MODULE = re.compile(r"Kernel Module(?: for \S+)?\s+(\d[\d.]*)")
"""Where /proc/driver/nvidia/version has the driver's version; the open module says for which architecture it is."""


def device_settings(device: torch.device) -> str:
    """Settings of a CUDA device, e.g. `clocks default, power 700 W, ECC`; empty: not told."""
    nvml = binding()
    if nvml is None:
        return ""
    try:
        nvml.nvmlInit()
        # By uuid: NVML counts devices that CUDA was told not to see.
        uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
    except (nvml.NVMLError, RuntimeError, AssertionError, AttributeError):  # no driver, no such device, old binding
        return ""
    return read_settings(nvml, handle)


def read_settings(nvml: Any, handle: Any) -> str:
    """Settings of the device behind `handle`; those a device does not have are not told.

    Args:
        nvml: the binding, or what answers like it.
        handle: what it calls the device.
    """
    parts = [_asked(setting, nvml, handle) for setting in (_clocks, _power, _ecc)]
    return ", ".join(part for part in parts if part)


def nvidia_driver(root: Path = ROOT) -> str:
    """Version of NVIDIA's driver, from the kernel, so that no binding is needed; empty: not told."""
    try:
        text = (root / "proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    told = KERNEL_MODULE.search(text)
    return told.group(1) if told else ""


def _clocks(nvml: Any, handle: Any) -> str:
    """Application clocks: of the multiprocessors and of the memory."""
    kinds = (SM_CLOCK, MEMORY_CLOCK)
    now = [nvml.nvmlDeviceGetApplicationsClock(handle, kind) for kind in kinds]
    usual = [nvml.nvmlDeviceGetDefaultApplicationsClock(handle, kind) for kind in kinds]
    return "clocks default" if now == usual else f"clocks {now[0]}/{now[1]} MHz"


def _power(nvml: Any, handle: Any) -> str:
    return f"power {nvml.nvmlDeviceGetPowerManagementLimit(handle) // 1000} W"


def _ecc(nvml: Any, handle: Any) -> str:
    current, _ = nvml.nvmlDeviceGetEccMode(handle)
    return "ECC" if current else "no ECC"


def _asked(setting: Callable[[Any, Any], str], nvml: Any, handle: Any) -> str:
    try:
        return setting(nvml, handle)
    except (nvml.NVMLError, AttributeError):  # this device or this binding does not know
        return ""
