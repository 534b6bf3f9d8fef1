"""The roofline: the shortest time in which a device can do some work, and how near a measurement comes to it.

Decides the floor and what it rests on, after Williams, Waterman, Patterson, "Roofline: an insightful visual performance
model for multicore architectures", CACM 52(4), 2009, https://doi.org/10.1145/1498765.1498785: attainable performance is
min(peak, bandwidth * intensity), so time is at least max(bytes / bandwidth, flops / peak). Assumes that moving and
computing overlap fully and that every byte moves once. Deliberately advises nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opsdebug_ci.model.profile import Traffic
from opsdebug_ci.model.profile_document import BoundBy, CachedBandwidth, DevicePeaks, Floor

NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """What one piece of work is held against."""

    bandwidth_bytes_per_s: float | None
    """Bandwidth that applies to it; None: not known."""

    flops_per_s: float | None
    """Peak that applies to its dtype; None: not known."""

    cached: bool
    """The bandwidth is that of a cache, since the work fits in it."""


def roof_of(peaks: DevicePeaks, dtype: str, moved_bytes: float) -> Roof:
    """The bandwidth and the peak that apply to so many bytes of one dtype.

    Samples are taken one after another, so what fits in a cache stays in it: then the measured bandwidth of a working
    set of that size applies where it is higher than that of memory.
    """
    memory = peaks.bandwidth_bytes_per_s
    cache = cached_bandwidth(peaks.cached, moved_bytes)
    faster = cache is not None and (memory is None or cache > memory)
    return Roof(
        bandwidth_bytes_per_s=cache if faster else memory, flops_per_s=peaks.flops_per_s.get(dtype), cached=faster
    )


def cached_bandwidth(measured: Sequence[CachedBandwidth], moved_bytes: float) -> float | None:
    """Bandwidth of a working set, interpolated over the logarithm of its size; None beyond the largest measured one."""
    if not measured or moved_bytes > measured[-1].working_set_bytes or moved_bytes <= 0:
        return None
    sizes = [math.log(one.working_set_bytes) for one in measured]
    return float(np.interp(math.log(moved_bytes), sizes, [one.bandwidth_bytes_per_s for one in measured]))


def floor_of(traffic: Traffic, roof: Roof) -> Floor | None:
    """The shortest possible time; None where nothing is known that would take time.

    Args:
        traffic: bytes and flops of one launch.
        roof: what applies to them.
    """
    memory_ns = _time_ns(traffic.bytes, roof.bandwidth_bytes_per_s)
    compute_ns = _time_ns(traffic.flops, roof.flops_per_s)
    known = [time for time in (memory_ns, compute_ns) if time]
    if not known:
        return None
    return Floor(
        ns=max(known),
        memory_ns=memory_ns,
        compute_ns=compute_ns,
        bound=BoundBy.COMPUTE if (compute_ns or 0.0) > (memory_ns or 0.0) else BoundBy.MEMORY,
        intensity=None if traffic.flops is None or not traffic.bytes else traffic.flops / traffic.bytes,
    )


def _time_ns(amount: float | None, per_s: float | None) -> float | None:
    return None if amount is None or per_s is None else amount / per_s * NS_PER_S
