"""What timing one case once in one process came to.

Decides what a timing worker answers. Deliberately compares nothing: one process says nothing about a change, because
code and data lie where they lie for as long as it lives.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """State of the device's clocks around a measurement; None: the system does not tell."""

    frequency_hz: float | None = None
    """Frequency of the cores, or of the accelerator's multiprocessors."""

    nominal_hz: float | None = None
    """What it is built for."""

    throttled: bool | None = None
    """It runs slower than it should for heat or power."""

    policy: str | None = None
    """Who decides the frequency, e.g. a governor's name or `locked`."""

    stolen: float | None = None
    """Share of the time in which the hypervisor ran somebody else, 0 to 1."""

    load: float | None = None
    """Runnable processes beside ours, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Samples of one case, taken in a row in a process that may have taken others before."""

    calls: int
    """Calls in one sample; several where one is too short for the clock."""

    samples_ns: tuple[float, ...]
    """Time of one call, averaged over the calls of each sample, in the order taken; ns."""

    first_call_ns: float | None
    """The first call in this process, which may compile or tune; None: an earlier visit had it. ns."""

    warm_calls: int
    """Calls made before the samples."""

    resolution_ns: float
    """Smallest step of the clock; ns."""

    cpu_share: float | None
    """Processor time of this process over wall time while sampling; above 1 with several threads. None: not known."""

    clocks: Clocks = field(default_factory=Clocks)
    """State of the clocks."""

    steady: bool = True
    """The warm-up ended because times had settled, not because its time was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTimed:
    """Answer to `TimeCase`."""

    case_id: str
    """Which case."""

    visit: Visit | None
    """None: it could not be timed."""

    reason: str | None = None
    """Why not, in a sentence."""

    unsupported: bool = False
    """The operator or its declaration says that the case lies outside its domain."""

    interpreted: bool = False
    """Its kernels ran in Triton's interpreter, whose time this is."""
