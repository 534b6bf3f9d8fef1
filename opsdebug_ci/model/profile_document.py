"""The public form of a profile: floor against measured, where the time goes, what to do.

Schema `opsdebug.profile/1`.

History:
    1  first version
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.profile import Parts, Stopwatch, Traffic
from opsdebug_ci.model.timing import Clocks
from opsdebug_ci.model.vocabulary import Word

PROFILE_SCHEMA = "opsdebug.profile/1"
"""Name and version of the document."""


class BoundBy(Word):
    """What the shortest possible time rests on, or what the measured time is lost to."""

    MEMORY = "memory"
    COMPUTE = "compute"
    LAUNCH = "launch"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedBandwidth:
    """How fast data moves that lies in a cache."""

    working_set_bytes: int
    """Bytes read and written again and again."""

    bandwidth_bytes_per_s: float
    """Bytes read and written together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePeaks:
    """What a device can do at best."""

    device: str
    """Which."""

    bandwidth_bytes_per_s: float | None
    """Memory bandwidth, bytes read and bytes written together; None: not known."""

    flops_per_s: Mapping[str, float]
    """Floating-point operations per second by dtype; a dtype that is absent is not known."""

    source: str
    """`configuration`, `table: NAME`, or `measured`, where they differ by entry each is named."""

    cached: tuple[CachedBandwidth, ...]
    """Measured bandwidth for data that fits in a cache, smallest first; empty: not measured."""

    launch_ns: float | None
    """What launching nothing costs; None: not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The shortest time this work can take on this device."""

    ns: float
    """max(bytes / bandwidth, flops / peak); ns."""

    memory_ns: float | None
    """bytes / bandwidth; None: no bandwidth is known."""

    compute_ns: float | None
    """flops / peak; None: no flops are stated or no peak is known."""

    bound: BoundBy
    """Which of the two is longer."""

    intensity: float | None
    """flops per byte; None: no flops are stated, or no bytes are moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEntry:
    """One case of one operator."""

    case: CaseDocument
    """What was timed."""

    measured: Stopwatch | None
    """None: it could not be timed."""

    parts: Parts | None
    """Launch, execute, synchronise."""

    traffic: Traffic | None
    """Bytes and flops."""

    floor: Floor | None
    """None: nothing is moved, or no peak is known."""

    utilisation: float | None
    """floor / measured execution, 0 to 1; above 1 only with `explanation`. None: there is no floor."""

    bandwidth_bytes_per_s: float | None
    """Bytes / measured execution; None: nothing is moved."""

    launch_share: float | None
    """launch / total, 0 to 1."""

    reference: Stopwatch | None
    """The torch reference on the same inputs."""

    explanation: str | None
    """Why a number is not what one expects; None: it is."""

    advice: str
    """What to do next, in a sentence."""

    findings: tuple[Finding, ...]
    """Cliffs, calls that become slower and slower, sleeping; most telling first."""

    clocks: Clocks
    """State of the clocks."""

    reason: str | None = None
    """Why it could not be timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One size of a sweep."""

    dims: Mapping[str, int]
    """Sizes."""

    bytes: float
    """What one launch must move."""

    operator_ns: float
    """Best time of the operator; ns."""

    reference_ns: float | None
    """Best time of the reference; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """How time grows with size."""

    operator: str
    """Which operator."""

    dtype: str
    """At which dtype."""

    points: tuple[SweepPoint, ...]
    """In order of size."""

    exponent: float | None
    """Growth of the operator at the large end: time ~ bytes ** exponent; None: too few points above the fixed cost."""

    reference_exponent: float | None
    """The same of the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDocument:
    """Answer of `opsdebug profile`."""

    schema: str
    """PROFILE_SCHEMA."""

    machine: Machine
    """Where."""

    peaks: tuple[DevicePeaks, ...]
    """What floors rest on."""

    entries: tuple[ProfileEntry, ...]
    """One per operator and case, in order of discovery."""

    sweeps: tuple[Sweep, ...]
    """One per operator and dtype that was swept."""

    notes: tuple[str, ...]
    """What a reader must know."""

    next: tuple[str, ...]
    """Commands to run next."""

    exit_code: int
    """0 something was measured, 1 no operator lived to be measured, 4 nothing was."""
