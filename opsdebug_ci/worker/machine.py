"""Which machine this is, as the worker's interpreter sees it.

Decides where its facts come from; `model.comparability` decides which of them make its key. What the system does not
tell stays empty: it never keeps a worker from answering.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import torch

from opsdebug_ci.model.comparability import machine_key
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.timing.device_settings import device_settings, nvidia_driver
from opsdebug_ci.worker.container_limits import container_limits
from opsdebug_ci.worker.processor import allowed_cpus, describe_processor

VERSIONED = ("numpy", "mpmath", "triton")
"""Packages whose version may change results or times."""

AMD_DRIVER = Path("/sys/module/amdgpu/version")
"""Version of AMD's driver, where it is not the kernel's own."""


def identify() -> Machine:
    """Facts of this machine and its key."""
    cpus = allowed_cpus()
    processor, limits, devices = describe_processor(cpus), container_limits(), _devices()
    facts = Machine(
        key="",
        system=f"{platform.system()} {platform.machine()}",
        cpu=processor.model,
        cores=len(cpus),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        devices=devices,
        python=platform.python_version(),
        torch=torch.__version__,
        versions=_versions(),
        threads=torch.get_num_threads(),
        cpu_revision=processor.revision,
        instruction_set=torch.backends.cpu.get_cpu_capability(),
        physical_cores=processor.physical_cores,
        numa_nodes=processor.numa_nodes,
        container_cores=limits.cores,
        container_memory_bytes=limits.memory_bytes,
        clock_policy=processor.clock_policy,
        drivers=tuple(_drivers()),
        device_settings=tuple(_settings(devices)),
        kernel=platform.release(),
    )
    return replace(facts, key=machine_key(facts))


def _versions() -> Mapping[str, str]:
    """Packages that are installed, and toolkits that an accelerator is used through."""
    packages = {name: version for name in VERSIONED if (version := _version(name)) is not None}
    if not torch.cuda.is_available():
        return packages
    cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]  # torch has no types there
    toolkits = {"cuda": torch.version.cuda, "hip": torch.version.hip, "cudnn": None if cudnn is None else str(cudnn)}
    return {**packages, **{name: version for name, version in toolkits.items() if version}}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _devices() -> tuple[str, ...]:
    if not torch.cuda.is_available():
        return ()
    return tuple(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))


def _drivers() -> Iterator[str]:
    """What runs the accelerators that torch sees; an Intel or Apple one is told with its driver."""
    if torch.cuda.is_available():
        amd = AMD_DRIVER.read_text().strip() if AMD_DRIVER.is_file() else ""
        name, version = ("amdgpu", amd) if torch.version.hip else ("nvidia", nvidia_driver())
        yield from [f"{name} {version}"] if version else []
    if torch.xpu.is_available():
        for index in range(torch.xpu.device_count()):
            told = torch.xpu.get_device_properties(index)
            yield f"{told.name} {told.driver_version}"
    if torch.backends.mps.is_available():
        yield f"macOS {platform.mac_ver()[0]}"


def _settings(devices: tuple[str, ...]) -> Iterator[str]:
    """Of every device; none where nothing is told of any."""
    told = [] if torch.version.hip else [device_settings(torch.device("cuda", index)) for index in range(len(devices))]
    yield from told if any(told) else []
