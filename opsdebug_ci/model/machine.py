"""The machine a run happened on, and what its probes measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Facts that decide whether two runs may be compared."""

    key: str
    """Hash of every fact below."""

    system: str
    """Operating system and architecture, e.g. `Linux x86_64`."""

    cpu: str
    """CPU model."""

    cores: int
    """Cores this process may use."""

    memory_bytes: int
    """Physical memory."""

    devices: tuple[str, ...]
    """Accelerators by name; empty on a CPU machine."""

    python: str
    """Worker's Python version."""

    torch: str
    """Worker's torch version."""

    versions: Mapping[str, str]
    """Versions of everything else that may matter: numpy, mpmath, triton, driver."""

    threads: int
    """Threads torch uses inside one operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReading:
    """One calibration probe."""

    probe: str
    """`memcpy`."""

    size_bytes: int
    """Bytes copied per repetition."""

    samples_ns: tuple[int, ...]
    """Every repetition."""

    bandwidth_bytes_per_s: float
    """2 * size / median: bytes read plus bytes written per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the probes of one machine measured."""

    device: str
    """Device probed."""

    probes: tuple[ProbeReading, ...]
    """One per size."""
