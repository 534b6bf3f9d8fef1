"""The machine a run happened on, and what its probes measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opsdebug_ci.model.timing import Clocks


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
    """One calibration probe at one size."""

    probe: str
    """`memcpy`, `triad`, `gemm` or `launch`."""

    size_bytes: int
    """memcpy: bytes copied; triad: bytes of one of its three vectors; gemm: bytes of its three matrices; launch: 0."""

    samples_ns: tuple[int, ...]
    """Every repetition; of `launch`, time of one call averaged over many."""

    bandwidth_bytes_per_s: float | None = None
    """Bytes read and written per second at the median: memcpy 2 * size, triad 3 * size. None: not its subject."""

    flops_per_s: float | None = None
    """gemm: 2 * n**3 / shortest sample, since a peak is what can be reached, and load only takes from it. None: not its
    subject."""

    dtype: str | None = None
    """triad, gemm: dtype of the elements. None: bytes, or nothing, are moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the probes of one machine measured."""

    device: str
    """Device probed."""

    probes: tuple[ProbeReading, ...]
    """One per probe, size and dtype."""

    clocks_before: Clocks = field(default_factory=Clocks)
    """State of the clocks before the probes."""

    clocks_after: Clocks = field(default_factory=Clocks)
    """State of the clocks right after them; shares, load and throttling are those of the time between."""
