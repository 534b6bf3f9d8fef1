"""What to do next about one profile, in a sentence, and why a number is not what one expects.

Decides the order in which reasons are looked for: what makes the numbers meaningless first, then where most of the time
goes, then how near the device's limit it is. Deliberately names no line of code: `trace` and `attribute` look inside.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.profile import CaseProfile, Parts, Stopwatch, Traffic
from opsdebug_ci.model.profile_document import BoundBy, DevicePeaks, Floor
from opsdebug_ci.regress.profiled import times, us
from opsdebug_ci.regress.roofline import Roof, floor_of, roof_of

INTERPRETED = "the time is that of Triton's interpreter, which a kernel's does not follow; time it on a GPU"
"""What is said of a time that is no kernel's."""

LOW, HIGH = 0.30, 0.60
"""Utilisation below which the access pattern is to blame, and above which little is left."""

LAUNCH_BOUND = 0.50
"""Share of launching from which it is what the time is lost to."""

ASLEEP = 0.20
"""Share of time the processor works below which a call waits: on a core shared with four others a process that never
waits still gets a fifth. It is relative to the reference's share, where there is one: a busy machine takes time away
from both, though not evenly within so few milliseconds."""

SLOW_FIRST_NS = 50_000_000.0
"""First call that is told, if it is SLOW_FIRST times a later one; ns."""

SLOW_FIRST = 20.0
"""A first call without compiling takes some 2 to 10 times as long as later ones: page faults, lazy set-up."""

CALL_WORTH = 4.0
"""A framework call that does little costs so many empty launches: it takes its arguments apart, makes an output and
dispatches twice, for a view and for what is computed from it."""

MANY_CALLS = 32
"""Framework calls from which their number is told; a formula of a layer has a dozen or two."""

TIMER_SHARE = 0.10
"""Share of the time that clock and loop may cost before it is said that they do."""

BEHIND = 1.5
"""So many times the reference's time is worth telling; beyond noise of 1.3."""

SURE = 1.05
"""Utilisation up to which it counts as 100 %: a bandwidth measured a minute earlier is off by as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a profile comes to against the peaks."""

    floor: Floor | None
    """The shortest possible time."""

    utilisation: float | None
    """floor / execution; above 1 only with an explanation."""

    bandwidth_bytes_per_s: float | None
    """Bytes / execution."""

    launch_share: float | None
    """launch / total."""

    explanation: str | None
    """Why a number is not what one expects."""

    advice: str
    """What to do next."""


def judge_profile(profile: CaseProfile, dtype: str, peaks: DevicePeaks) -> Judged:
    """Floor, utilisation and advice for one profile.

    Args:
        profile: what the worker measured.
        dtype: of the case.
        peaks: of its device.
    """
    roof = None if profile.traffic is None else roof_of(peaks, dtype, profile.traffic.bytes)
    floor = None if profile.traffic is None or roof is None else floor_of(profile.traffic, roof)
    spent_ns = execution_ns(profile)
    utilisation = None if floor is None or not spent_ns else floor.ns / spent_ns
    moved = profile.traffic.bytes if profile.traffic is not None else 0.0
    share = None if profile.parts is None or not profile.parts.total_ns else _share(profile.parts)
    return Judged(
        floor=floor,
        utilisation=utilisation,
        bandwidth_bytes_per_s=moved / spent_ns * 1e9 if moved and spent_ns else None,
        launch_share=share,
        explanation=None if utilisation is None else _explanation(utilisation, roof, profile.traffic, floor),
        advice=_advice(profile, floor, utilisation, share, peaks.launch_ns),
    )


def execution_ns(profile: CaseProfile) -> float | None:
    """Time in which the device works: by parts where they were taken, else the whole warm call."""
    if profile.parts is not None and profile.parts.execute_ns > 0:
        return profile.parts.execute_ns
    return None if profile.operator is None else profile.operator.warm_ns


def is_asleep(watch: Stopwatch, reference: Stopwatch | None) -> bool:
    """The processor works little of the time, and more of it while the reference runs."""
    if watch.cpu_share is None:
        return False
    theirs = None if reference is None else reference.cpu_share
    return watch.cpu_share < ASLEEP * (1.0 if theirs is None else min(theirs, 1.0))


def _share(parts: Parts) -> float:
    return parts.launch_ns / parts.total_ns


def _explanation(utilisation: float, roof: Roof | None, traffic: Traffic | None, floor: Floor | None) -> str | None:
    if floor is None or roof is None or traffic is None:
        return None
    cache = f"its data stay in a cache: the floor uses the {roof.bandwidth_bytes_per_s or 0:.2g} bytes/s measured there"
    if utilisation <= SURE:
        return cache if roof.cached and floor.bound is BoundBy.MEMORY else None
    if floor.bound is BoundBy.COMPUTE:
        return "above 100 %: the stated flops are too many, or the peak is too low"
    return f"above 100 %: {_too_fast(roof, traffic)}"


def _too_fast(roof: Roof, traffic: Traffic) -> str:
    """Why data may move faster than memory allows."""
    if traffic.stated_bytes is not None:
        return "the stated bytes are too many, or they stay in a cache"
    if traffic.written_bytes == 0:
        return "its output is a view, so nothing is moved"
    if roof.cached:
        return "it moves data faster than the probes did in that cache, or does not touch all of them"
    return "its data stay in a cache larger than those measured, it does not touch all of them, or computes later"


def _advice(
    profile: CaseProfile,
    floor: Floor | None,
    utilisation: float | None,
    share: float | None,
    empty_launch_ns: float | None,
) -> str:
    watch = profile.operator
    if watch is None:
        return profile.reason or "it could not be timed"
    if profile.interpreted:
        return INTERPRETED
    calls = _launching(profile, watch, empty_launch_ns)
    main = calls if calls is not None else _main(floor, utilisation, share)
    return "; ".join([*_disturbed(watch, profile.reference), main, *_beside(profile, watch)])


def _launching(profile: CaseProfile, watch: Stopwatch, empty_launch_ns: float | None) -> str | None:
    """Many framework calls, each of which takes at least as long as launching nothing, come to half of the time."""
    calls = profile.torch_calls
    if calls is None or calls < MANY_CALLS or empty_launch_ns is None:
        return None
    if calls * empty_launch_ns < LAUNCH_BOUND * watch.best_ns / CALL_WORTH:
        return None
    return f"launch-bound, batch or fuse: {calls:,} framework calls"


def _disturbed(watch: Stopwatch, reference: Stopwatch | None) -> list[str]:
    """What makes the other numbers say little."""
    said = []
    if is_asleep(watch, reference):
        said.append(f"sleeps: the processor works {watch.cpu_share:.0%} of the time, so look for what it waits for")
    if watch.slowdown_per_call is not None:
        said.append(f"every call is {watch.slowdown_per_call:.2%} slower than the last: look for what it keeps")
    return said


def _main(floor: Floor | None, utilisation: float | None, share: float | None) -> str:
    """Where most of the time goes."""
    if share is not None and share >= LAUNCH_BOUND:
        return "launch-bound, batch or fuse"
    if floor is None or utilisation is None:
        return "no floor: neither bytes nor stated flops have a known peak"
    if utilisation > SURE:
        return "nothing to gain here that these numbers could show"
    if floor.bound is BoundBy.COMPUTE:
        return _compute_bound(utilisation)
    return _memory_bound(utilisation)


def _memory_bound(utilisation: float) -> str:
    if utilisation < LOW:
        return "access pattern: make neighbouring threads or lanes read neighbouring elements, drop temporaries"
    if utilisation <= HIGH:
        return "alignment or bank conflicts: pad rows, use wide loads, keep fewer passes over the data"
    return "memory-bound, little left: move fewer bytes (fuse, narrower dtype)"


def _compute_bound(utilisation: float) -> str:
    if utilisation < LOW:
        return "far below the peak: vector or matrix units idle, block the loops for reuse"
    if utilisation <= HIGH:
        return "tile sizes and occupancy: larger tiles, fewer dependencies between instructions"
    return "compute-bound, little left: compute less (algorithm, narrower dtype)"


def _beside(profile: CaseProfile, watch: Stopwatch) -> list[str]:
    """What is worth telling beside it."""
    said = []
    reference = profile.reference
    if reference is not None and watch.best_ns > BEHIND * reference.best_ns:
        said.append(f"the torch reference takes {us(reference.best_ns)}")
    if watch.first_call_ns >= max(SLOW_FIRST_NS, SLOW_FIRST * watch.warm_ns):
        said.append(
            f"the first call takes {us(watch.first_call_ns)} ({times(watch.first_call_ns / watch.warm_ns)}): "
            "compile or tune ahead"
        )
    if watch.timer_ns > TIMER_SHARE * watch.warm_ns:
        said.append(f"{watch.timer_ns / watch.warm_ns:.0%} of it may be the timer")
    return said
