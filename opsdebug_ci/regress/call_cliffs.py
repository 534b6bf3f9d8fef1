"""Cliffs of the call itself: what every call costs whatever its size, host reads one by one, calls that slow down.

Decides which cost per call no operator on a computer needs. Deliberately leaves alone what a loop in Python costs: a
compensated sum written as one is right, and slow for a reason.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.profile import Stopwatch
from opsdebug_ci.regress.growth import LEAST_LOSS_NS
from opsdebug_ci.regress.profiled import Profiled, perf_cliff, times, us

FIXED_NS = 1_000_000.0
"""A fixed cost of so much is told; ns. A framework call costs 1 to 10 us, an empty launch on an accelerator 5 to 20."""

FIXED_SLOWER = 50.0
"""And so many times the reference at the smallest size."""

SMALL_BYTES = 65_536
"""The smallest size must move at most this: 64 KiB take 30 us at 2 GB/s."""

FIXED_SPREAD = 1.5
"""Largest over smallest time of a sweep in which the cost counts as fixed, beyond noise of 1.3."""

FIXED_RANGE = 4.0
"""The data must have grown by so much meanwhile."""

FEW_CALLS = 100
"""With so many framework calls or fewer, it is not they that take FIXED_NS: at 10 us each they take as long."""

HOST_READS = 256
"""Single elements read by the host; fewer are what a check or a loop over blocks reads."""

HOST_SLOWER = 10.0
"""Factor over the reference that goes with it."""

GROWN = 1.25
"""And the last samples must be so many times the first ones: the trend is certain already, and this makes it large
enough to matter. Clocks that sink as a device warms up lose less, and the reference's sink with them."""


def fixed_cost(points: Sequence[Profiled], again: str) -> Finding | None:
    """Every call takes milliseconds however little there is to do, in few framework calls: something is built, compiled
    or waited for each time.

    Args:
        points: a sweep over one dim, in any order.
        again: command that shows it again.
    """
    ordered = sorted((one for one in points if one.profile.operator is not None), key=lambda one: one.bytes)
    if len(ordered) < 2:
        return None
    small, large = ordered[0], ordered[-1]
    calls, reference_ns = small.profile.torch_calls, small.reference_ns
    if calls is None or reference_ns is None or calls > FEW_CALLS or small.bytes > SMALL_BYTES:
        return None
    spread = large.operator_ns / small.operator_ns
    if small.operator_ns < max(FIXED_NS, FIXED_SLOWER * reference_ns) or spread > FIXED_SPREAD:
        return None
    if large.bytes < FIXED_RANGE * small.bytes:
        return None
    share = None if small.profile.operator is None else small.profile.operator.cpu_share
    idle = "" if share is None or share >= 0.5 else f"; the processor works {share:.0%} of it"
    return perf_cliff(
        0.85,
        f"every call takes about {us(small.operator_ns)} whatever its size ({small.sizes} to {large.sizes}), the torch "
        f"reference {us(reference_ns)} on the smallest: something is built, compiled or waited for each time{idle}",
        {"fixed_ns": small.operator_ns, "reference_ns": reference_ns, "spread": spread, "calls": calls},
        again,
    )


def host_reads(given: Profiled, again: str) -> Finding | None:
    """The host reads elements one by one, and far more of them than the reference."""
    reads, theirs = given.profile.host_reads, given.profile.reference_host_reads or 0
    reference_ns = given.reference_ns
    if reads is None or reads < HOST_READS or reads < 10 * theirs or reference_ns is None:
        return None
    if given.operator_ns < HOST_SLOWER * reference_ns or given.operator_ns - reference_ns < LEAST_LOSS_NS:
        return None
    return perf_cliff(
        0.8,
        f"the host reads {reads:,} single elements in one call, the torch reference {theirs:,}: "
        f"{us(given.operator_ns)} against {us(reference_ns)} ({times(given.operator_ns / reference_ns)})",
        {"host_reads": reads, "reference_host_reads": theirs, "operator_ns": given.operator_ns},
        again,
    )


def slower_every_call(given: Profiled, again: str) -> Finding | None:
    """Calls become slower and slower on the same arguments, and those of the reference do not."""
    watch, reference = given.profile.operator, given.profile.reference
    if watch is None or watch.slowdown_per_call is None:
        return None
    grown = _last_over_first(watch)
    if grown < GROWN or (reference is not None and reference.slowdown_per_call is not None):
        return None
    return perf_cliff(
        0.85,
        f"every call is {watch.slowdown_per_call:.2%} slower than the one before on the same arguments: "
        f"{times(grown)} from the first samples to the last",
        {"slowdown_per_call": watch.slowdown_per_call, "grown": grown, "calls": len(watch.samples_ns) * watch.calls},
        again,
    )


def _last_over_first(watch: Stopwatch) -> float:
    """Median of the last third of the samples over that of the first."""
    third = max(1, len(watch.samples_ns) // 3)
    return statistics.median(watch.samples_ns[-third:]) / statistics.median(watch.samples_ns[:third])
