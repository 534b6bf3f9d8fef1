"""What profiling one case came to: what it must move and compute, and where its time goes.

Decides what the profiling worker answers. Deliberately has no floor and no advice: those need peaks, which the control
side knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from opsdebug_ci.model.timing import Clocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What one launch must move and compute at least."""

    read_bytes: int
    """Bytes of every argument it may read; memory that several views share counts once, an expanded tensor as its
    storage."""

    written_bytes: int
    """Bytes of every output it makes or argument it writes; an output that shares an argument's memory counts only
    where the contract says it is written."""

    stated_bytes: float | None
    """What the operator's cost says instead; None: it does not."""

    flops: float | None
    """What the operator's cost says; None: it states none."""

    @property
    def bytes(self) -> float:
        """What the floor rests on."""
        return self.stated_bytes if self.stated_bytes is not None else self.read_bytes + self.written_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Where the time of one call goes; they add up to the call. ns."""

    launch_ns: float
    """Before the device works: interpreter, dispatch, driver. On the CPU: a call on the smallest tensors."""

    execute_ns: float
    """The device works."""

    sync_ns: float
    """Waiting to be told that it is done; 0 on the CPU."""

    how: str
    """How they were told apart, in words."""

    @property
    def total_ns(self) -> float:
        """The whole call."""
        return self.launch_ns + self.execute_ns + self.sync_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopwatch:
    """Times of one function on one case. ns per call."""

    warm_ns: float
    """Median of the samples, caches as the calls before left them."""

    best_ns: float
    """Shortest sample."""

    cold_ns: float | None
    """Median of single calls after caches were flushed; None: not taken."""

    samples_ns: tuple[float, ...]
    """Warm samples in the order taken."""

    calls: int
    """Calls in one sample."""

    first_call_ns: float
    """The first call in this process."""

    warm_calls: int
    """Calls before times settled, the first included."""

    timer_ns: float
    """What the clock and the loop around the calls cost one call; not subtracted."""

    cpu_share: float | None
    """Processor time over wall time; None: not known or not the CPU."""

    slowdown_per_call: float | None
    """Relative growth of time from one call to the next, where times grow for certain; None: they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseProfile:
    """Answer to `ProfileCase`."""

    case_id: str
    """Which case."""

    operator: Stopwatch | None
    """None: it could not be timed."""

    parts: Parts | None = None
    """None: not asked for, or not to be had."""

    traffic: Traffic | None = None
    """None: there were no inputs."""

    reference: Stopwatch | None = None
    """The torch reference on the same inputs; None: there is none, or it was not asked for."""

    copied: Stopwatch | None = None
    """The operator where every tensor argument that is not contiguous was copied to one that is, outside the clock;
    None: all are, or it was not asked for."""

    copying_ns: float | None = None
    """What those copies cost; ns. None: as above."""

    torch_calls: int | None = None
    """Framework calls the operator makes; None: not counted."""

    reference_calls: int | None = None
    """The same of the reference."""

    handled_bytes: int | None = None
    """Bytes of the tensors that go into and come out of those calls, views aside; None: not counted."""

    reference_handled_bytes: int | None = None
    """The same of the reference."""

    host_reads: int | None = None
    """Single elements that the host reads out of tensors; None: not counted."""

    reference_host_reads: int | None = None
    """The same of the reference."""

    clocks: Clocks = field(default_factory=Clocks)
    """State of the clocks."""

    reason: str | None = None
    """Why it could not be timed."""

    unsupported: bool = False
    """The case lies outside the operator's domain."""

    interpreted: bool = False
    """Its kernels ran in Triton's interpreter, whose time this is."""
