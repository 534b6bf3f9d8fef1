"""How time grows with size, and whether it grows faster than the work does.

Decides that an operator's time is super-linear where neither its bytes and flops nor its reference are. Deliberately
looks at one dim at a time: growth in several at once cannot be told apart.

A right operator may grow faster than its work for a while: when its temporaries leave a cache that those of the
reference still fit in, bandwidth falls by up to about 6 from a private cache to memory, mostly within one doubling or
two, and a first touch of large buffers adds a factor of 2 or 3 at one size. An algorithm that does too much keeps on:
one that is quadratic in a dim doubles its excess at every doubling. So the excess must show in STEPS of the last
LOOKED_AT doublings, each of them at least half a power of the size, and come to TOTAL, at a size where the time is so
far above the floor (ABOVE_FLOOR passes over the data) that no memory explains it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.profile_document import Sweep, SweepPoint
from opsdebug_ci.regress.profiled import Profiled, perf_cliff, times, us

STEPS = 3
"""Steps of a sweep in which the excess must show."""

LOOKED_AT = 4
"""Steps, the last ones, among which they are: one may be lost to a size at which memory is handed out otherwise."""

POWER = 0.5
"""Excess of one step as a power of the size's growth: half of what a quadratic algorithm has where the work is linear,
and n**1.5 has in full."""

TOTAL = 5.0
"""Excess over the whole of those steps; a quadratic algorithm has 2**3 = 8, leaving a cache at most about 6 but not in
steps of half a power each and not at once with the conditions below."""

WORK_POWER = 0.5
"""Work must grow at least so fast with the dim; a dim that hardly shows in bytes and flops, such as a number of
iterations, says nothing about what an operator has to do."""

SLOWER = 5.0
"""At the largest size the operator takes so many times as long as its reference; a right operator written otherwise, in
passes rather than fused, takes 2 to 4 times as long at large sizes."""

ABOVE_FLOOR = 30.0
"""And so many times as long as moving its data once through memory; ten passes over temporaries in memory, each with
a read and a write, are 20."""

SLOWEST_MEMORY = 5e9
"""Bandwidth assumed where none is known, bytes per second: half of what one core of an old server reaches, so that the
floor is rather too high."""

LEAST_LOSS_NS = 100_000.0
"""A loss below is not called a cliff: 0.1 ms is what some ten framework calls more cost, whatever the size; ns."""

HANDLED_POWER = 0.8
"""Excess of one step of what framework calls handle. Bytes are counted, not measured, and the linear part of a
quadratic sum is small: sum of i over n grows as n(n + 1), whose power is above 1.8 from n = 4 on."""

HANDLED_SLOWER = 10.0
"""Factor over the reference that goes with it; a tiled operator that must compute n**2 values, whose fused reference
handles n bytes, takes less than that."""

HANDLED_LEAST_LOSS_NS = 1_000_000.0
"""Loss that goes with it; ns."""

REFERENCE_POWER = 1.5
"""And the reference's own time must not grow that fast at the last step: it then has to do quadratic work itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Growth from one size of a sweep to the next; all numbers are powers of the size's growth."""

    work: float
    """Of bytes or flops, whichever grows faster."""

    operator: float
    """Of the operator."""

    reference: float
    """Of the reference; -inf where there is none."""

    @property
    def excess(self) -> float:
        """What neither work nor reference explains."""
        return self.operator - max(self.work, self.reference)


def sweep_of(points: Sequence[Profiled]) -> Sweep:
    """A sweep over one dim, in order of size."""
    ordered = sorted(points, key=lambda point: (point.bytes, point.operator_ns))
    first = ordered[0].case
    return Sweep(
        operator=first.operator,
        dtype=first.dtype,
        points=tuple(
            SweepPoint(
                dims=dict(point.case.dims),
                bytes=point.bytes,
                operator_ns=point.operator_ns,
                reference_ns=point.reference_ns,
            )
            for point in ordered
        ),
        exponent=exponent([point.bytes for point in ordered], [point.operator_ns for point in ordered]),
        reference_exponent=exponent([point.bytes for point in ordered], [point.reference_ns for point in ordered]),
    )


def exponent(amounts: Sequence[float], durations: Sequence[float | None]) -> float | None:
    """Power of growth at the large end: median slope between all pairs of the logarithms (Theil 1950, Sen 1968,
    https://doi.org/10.1080/01621459.1968.10480934), of those times that are at least twice the shortest.

    What is below is mostly the fixed cost of a call. None with fewer than three such sizes.
    """
    known = [(a, d) for a, d in zip(amounts, durations, strict=True) if a > 0 and d is not None and math.isfinite(d)]
    fixed = min((duration for _, duration in known), default=0.0)
    above = [(math.log(amount), math.log(duration)) for amount, duration in known if duration >= 2 * fixed > 0]
    slopes = [(y - b) / (x - a) for index, (a, b) in enumerate(above) for x, y in above[index + 1 :] if x > a]
    return float(np.median(slopes)) if len(above) >= 3 and slopes else None


def superlinear(
    points: Sequence[Profiled], dim: str, bandwidth_bytes_per_s: float | None, again: str
) -> Finding | None:
    """The finding that time grows faster than the work over a sweep of `dim`; None where nothing shows that.

    Args:
        points: the sweep in any order.
        dim: the dim that grows.
        bandwidth_bytes_per_s: of memory; None: not known.
        again: command that shows it again.
    """
    ordered = _rising(points, dim)
    if len(ordered) <= STEPS:
        return None
    last = ordered[-1]
    if last.reference_ns is None and last.flops is None:
        return None  # what the work should grow like is not known
    return _slow_growth(ordered, dim, bandwidth_bytes_per_s, again) or _handled_growth(ordered, dim, again)


def _slow_growth(ordered: Sequence[Profiled], dim: str, bandwidth: float | None, again: str) -> Finding | None:
    tail = ordered[-LOOKED_AT - 1 :]
    steps = _steps(tail, dim, lambda point: point.operator_ns, lambda point: point.reference_ns)
    if steps is None or min(step.work for step in steps) < WORK_POWER:
        return None
    if sum(step.excess >= POWER for step in steps) < STEPS:
        return None
    first, last = tail[0], tail[-1]
    total = _total(steps, tail, dim)
    floor_ns = last.bytes / (bandwidth or SLOWEST_MEMORY) * 1e9
    loss_ns = last.operator_ns * (1 - 1 / total)
    slower = last.reference_ns is None or last.operator_ns >= SLOWER * last.reference_ns
    if total < TOTAL or not slower or last.operator_ns < ABOVE_FLOOR * floor_ns or loss_ns < LEAST_LOSS_NS:
        return None
    compared, evidence = _against(first, last)
    return perf_cliff(
        0.9,
        f"time grows {times(last.operator_ns / first.operator_ns)} from {dim}={first.case.dims[dim]} to "
        f"{last.case.dims[dim]} (to {us(last.operator_ns)}), its data {times(last.bytes / first.bytes)}{compared}",
        {**evidence, "dim": dim, "excess": total, "operator_power": steps[-1].operator, "work_power": steps[-1].work},
        again,
    )


def _handled_growth(ordered: Sequence[Profiled], dim: str, again: str) -> Finding | None:
    tail = ordered[-STEPS - 1 :]
    first, last = tail[0], tail[-1]
    steps = _steps(tail, dim, lambda p: p.profile.handled_bytes, lambda p: p.profile.reference_handled_bytes)
    if steps is None or last.reference_ns is None or tail[-2].reference_ns is None:
        return None
    total = _total(steps, tail, dim)
    last_step = math.log(last.case.dims[dim] / tail[-2].case.dims[dim])
    reference_power = math.log(last.reference_ns / tail[-2].reference_ns) / last_step
    grows = min(step.excess for step in steps) >= HANDLED_POWER and min(step.work for step in steps) >= WORK_POWER
    slow = last.operator_ns >= max(HANDLED_SLOWER * last.reference_ns, HANDLED_LEAST_LOSS_NS)
    if not (grows and slow) or total < TOTAL or reference_power >= REFERENCE_POWER:
        return None
    handled, before = last.profile.handled_bytes or 0, first.profile.handled_bytes or 0
    compared, evidence = _against(first, last)
    return perf_cliff(
        0.85,
        f"its framework calls handle {times(handled / before)} the bytes from {dim}={first.case.dims[dim]} to "
        f"{last.case.dims[dim]} ({handled:,} in {last.profile.torch_calls or 0:,} calls, {us(last.operator_ns)}), its "
        f"data are {times(last.bytes / first.bytes)}{compared}",
        {**evidence, "dim": dim, "excess": total, "handled_bytes": handled, "calls": last.profile.torch_calls},
        again,
    )


def _against(first: Profiled, last: Profiled) -> tuple[str, dict[str, float | None]]:
    evidence: dict[str, float | None] = {
        "operator_ns": last.operator_ns,
        "reference_ns": last.reference_ns,
        "operator_growth": last.operator_ns / first.operator_ns,
        "bytes_growth": last.bytes / first.bytes,
        "reference_growth": None,
    }
    if last.reference_ns is None or first.reference_ns is None:
        return "", evidence
    growth = last.reference_ns / first.reference_ns
    evidence["reference_growth"] = growth
    return f" and the torch reference {times(growth)} (to {us(last.reference_ns)})", evidence


def _total(steps: Sequence[Step], tail: Sequence[Profiled], dim: str) -> float:
    grown = [math.log(after.case.dims[dim] / before.case.dims[dim]) for before, after in pairwise(tail)]
    return math.exp(sum(step.excess * size for step, size in zip(steps, grown, strict=True)))


def _rising(points: Sequence[Profiled], dim: str) -> list[Profiled]:
    """Points of each size once, those with data, in order of size."""
    by_size = {point.case.dims[dim]: point for point in points if point.bytes > 0 and math.isfinite(point.operator_ns)}
    return [by_size[size] for size in sorted(by_size) if size > 0]


def _steps(
    tail: Sequence[Profiled],
    dim: str,
    operator: Callable[[Profiled], float | None],
    reference: Callable[[Profiled], float | None],
) -> list[Step] | None:
    """Growth step by step; None where something is missing, or sizes lie too close to tell growth from noise."""
    steps = []
    for before, after in pairwise(tail):
        grown = math.log(after.case.dims[dim] / before.case.dims[dim])
        own = _power(operator(before), operator(after), grown)
        if own is None or grown < math.log(1.5):
            return None
        work = [_power(before.bytes, after.bytes, grown), _power(before.flops, after.flops, grown)]
        theirs = _power(reference(before), reference(after), grown)
        steps.append(
            Step(
                work=max((power for power in work if power is not None), default=0.0),
                operator=own,
                reference=-math.inf if theirs is None else theirs,
            )
        )
    return steps


def _power(before: float | None, after: float | None, grown: float) -> float | None:
    return math.log(after / before) / grown if before and after else None
