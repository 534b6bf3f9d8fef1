"""The machine a run happened on, and what its probes measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opsdebug_ci.model.timing import Clocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Facts of a machine; `model.comparability` says which of them decide whether two runs may be compared.

    What an older program did not record has its default. The name of the host is not a fact: a machine travels in
    bundles, and no time follows from it.
    """

    key: str
    """Version and hash of the facts that decide, as `comparability.machine_key` makes it."""

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
    """Versions of everything else that may matter, by name: numpy, mpmath, triton; cuda, cudnn and hip as torch has
    them."""

    threads: int
    """Threads torch uses inside one operator."""

    cpu_revision: str = ""
    """Which processor behind that name, e.g. `family 25 model 17 stepping 1`; empty: not told."""

    instruction_set: str = ""
    """What torch chooses its kernels by, e.g. `AVX512`; empty: not told."""

    physical_cores: int | None = None
    """Cores behind `cores`, of which two may be threads of one. None: not told."""

    numa_nodes: int | None = None
    """Memory nodes those cores belong to. None: not told."""

    container_cores: float | None = None
    """Processor time that the control groups of this process allow, in cores. None: no limit."""

    container_memory_bytes: int | None = None
    """Memory that they allow. None: no limit."""

    clock_policy: str = ""
    """Who decides the processors' frequency, e.g. `intel_pstate powersave, turbo`; empty: not told."""

    drivers: tuple[str, ...] = ()
    """Drivers of the accelerators, e.g. `nvidia 570.86.15`; empty: none, or not told."""

    device_settings: tuple[str, ...] = ()
    """What was set of each accelerator, in the order of `devices`, e.g. `clocks default, power 700 W, ECC`; empty: not
    told."""

    kernel: str = ""
    """Release of the operating system's kernel; empty: not told."""


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
