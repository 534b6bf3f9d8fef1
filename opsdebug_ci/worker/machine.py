"""Which machine this is, as the worker's interpreter sees it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib import metadata
from pathlib import Path

import torch

from opsdebug_ci.model.machine import Machine

VERSIONED = ("numpy", "mpmath", "triton")
"""Packages whose version may change results."""


def identify() -> Machine:
    """Facts of this machine and a key over all of them."""
    versions = {name: version for name in VERSIONED if (version := _version(name)) is not None}
    facts = {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_model(),
        "cores": _cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "devices": _devices(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "versions": versions,
        "threads": torch.get_num_threads(),
    }
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    return Machine(
        key=key,
        system=f"{platform.system()} {platform.machine()}",
        cpu=_cpu_model(),
        cores=_cores(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        devices=tuple(_devices()),
        python=platform.python_version(),
        torch=torch.__version__,
        versions=versions,
        threads=torch.get_num_threads(),
    )


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _devices() -> list[str]:
    if not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
