"""Cliffs: an operator that is right, and much slower than it has to be on some layout, size or values.

Decides by ratios of ratios: what the operator loses where something about its arguments changes, against what its
torch reference loses by the same change, and only where the loss is large in absolute terms. Deliberately says nothing
of an operator that is slower everywhere: another algorithm may have its reasons.

What a right operator can show, and so what the thresholds lie above:

* copying first, or walking a view in place, moves each element two or three times where strides spread a cache line (64
  bytes, 16 float32) over as many rows; a reference that does not is at most some 3 times as fast;
* a size off a block border costs one block more, or a padded copy: at most twice the passes over the data;
* a time is off by up to about 1.3 of itself between two places in memory or two moments, even as a minimum.

Together 3 * 1.3, so FACTOR = 4. Who calls must measure again before a finding is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.finding import EvidenceValue, Finding
from opsdebug_ci.regress.growth import LEAST_LOSS_NS
from opsdebug_ci.regress.profiled import Profiled, perf_cliff, times, us

FACTOR = 4.0
"""Loss, as a ratio, and the same beyond the reference's own; see above."""

REFERENCE_SHARE = 0.5
"""A reference that takes this share of the operator's time on the same arguments has the same cliff, or the arguments
are to blame; then nothing is said."""

ALONE_FACTOR = 8.0
"""Loss asked for where there is no reference to compare with: FACTOR twice over."""

MORE_CALLS = 2.0
"""So many times the framework calls on some values as on others shows another path of the code."""

ASSIST_NS = 1000.0
"""A loss per element that no processor explains; ns. Assists for subnormal operands take about 150 cycles each (Fog,
"The microarchitecture of Intel, AMD and VIA CPUs", sections on denormals), at 2 GHz 75 ns, and a formula has a dozen
operations. What is below is told apart by MORE_CALLS only."""

MEMORY_NS_PER_BYTE = 1.0
"""What memory costs at most per byte handled, 4 to 10 times what fresh pages cost (0.1 to 0.25 ns: a fault of 0.5 us
and clearing, for 4 KiB): allocators hand out fresh pages from some size on, and a power of two is a likely one."""

ANOTHER_PATH = 1.5
"""So many times the framework calls between sizes that differ by one or two shows another path of the code."""

BEYOND_MEMORY = 16.0
"""Loss from which fresh pages are ruled out in any case: they move data at 4 GB/s or more, a core's cache at 90 GB/s
or less, and an operator at most half of that."""

BYTES_PER_ELEMENT = 4.0
"""Size of an element assumed for a loss per element; half as much or twice as much does not matter there."""


def layout_cliff(given: Profiled, again: str) -> Finding | None:
    """The arguments as they lie cost several times what copying them to contiguous ones and running on those costs."""
    copied, copying_ns = given.profile.copied, given.profile.copying_ns
    if copied is None or copying_ns is None or given.profile.operator is None:
        return None
    instead_ns = copied.best_ns + copying_ns
    ratio = given.operator_ns / instead_ns
    if not _counts(given, instead_ns):
        return None
    return perf_cliff(
        0.95,
        f"{us(given.operator_ns)} on these strides, {us(instead_ns)} with its arguments made contiguous first "
        f"({times(ratio)}){_reference_text(given)}{_calls_text(given)}",
        {"given_ns": given.operator_ns, "copied_ns": copied.best_ns, "copying_ns": copying_ns, **_evidence(given)},
        again,
    )


def value_cliff(given: Profiled, tame: Profiled, what: str, again: str) -> Finding | None:
    """The same case with other values is several times faster, and not for the reference.

    Args:
        given: with the values in question.
        tame: with everyday ones.
        what: the values in words.
        again: command that shows it again.
    """
    if given.bytes <= 0 or not _counts(given, tame.operator_ns) or not _beyond_reference(given, tame):
        return None
    lost_ns = (given.operator_ns - tame.operator_ns) / max(given.bytes / BYTES_PER_ELEMENT, 1.0)
    calls, before = given.profile.torch_calls, tame.profile.torch_calls
    other_path = calls is not None and before is not None and calls >= MORE_CALLS * max(before, 1)
    if not other_path and lost_ns < ASSIST_NS:
        return None
    path = f"; {calls:,} framework calls against {before:,}" if other_path else ""
    return perf_cliff(
        0.9,
        f"{us(given.operator_ns)} on {what}, {us(tame.operator_ns)} on everyday ones "
        f"({times(given.operator_ns / tame.operator_ns)}){_reference_text(given)}{path}",
        {"given_ns": given.operator_ns, "tame_ns": tame.operator_ns, "tame_calls": before, **_evidence(given)},
        again,
    )


def size_cliff(neighbours: Sequence[Profiled], dim: str, again: str) -> Finding | None:
    """One of sizes that differ by 1 or 2 takes several times as long as another, and not for the reference."""
    timed = sorted((one for one in neighbours if one.profile.operator is not None), key=lambda one: one.operator_ns)
    if len(timed) < 2:
        return None
    fast, slow = timed[0], timed[-1]
    if not _counts(slow, fast.operator_ns) or not _beyond_reference(slow, fast):
        return None
    there, here = slow.case.dims[dim], fast.case.dims[dim]
    calls, before = slow.profile.torch_calls, fast.profile.torch_calls
    if not _beyond_memory(slow, fast):
        return None
    told = f"; {calls:,} framework calls against {before:,}" if calls and before and calls > before else ""
    return perf_cliff(
        0.9,
        f"{us(slow.operator_ns)} at {dim}={there}, {us(fast.operator_ns)} at {dim}={here} "
        f"({times(slow.operator_ns / fast.operator_ns)}){_reference_text(slow)}{told}",
        {
            "dim": dim,
            "slow_size": there,
            "fast_size": here,
            "given_ns": slow.operator_ns,
            "fast_ns": fast.operator_ns,
            **_evidence(slow),
        },
        again,
    )


def _counts(given: Profiled, otherwise_ns: float) -> bool:
    """The loss is large, as a ratio and in itself, and the reference does not share it on the same arguments."""
    if given.profile.operator is None or otherwise_ns <= 0:
        return False
    least = ALONE_FACTOR if given.reference_ns is None else FACTOR
    shared = given.reference_ns is not None and given.reference_ns >= REFERENCE_SHARE * given.operator_ns
    large = given.operator_ns - otherwise_ns >= LEAST_LOSS_NS
    return given.operator_ns >= least * otherwise_ns and large and not shared


def _beyond_reference(slow: Profiled, fast: Profiled) -> bool:
    """The operator loses FACTOR times what the reference loses between the same two cases."""
    if slow.reference_ns is None or fast.reference_ns is None:
        return slow.operator_ns >= ALONE_FACTOR * fast.operator_ns
    own = slow.operator_ns / fast.operator_ns
    return own >= FACTOR * max(1.0, slow.reference_ns / fast.reference_ns)


def _beyond_memory(slow: Profiled, fast: Profiled) -> bool:
    """What a size costs more is not the allocator's doing."""
    calls, before = slow.profile.torch_calls, fast.profile.torch_calls
    if calls is not None and before is not None and calls >= ANOTHER_PATH * max(before, 1):
        return True
    handled = max(float(slow.profile.handled_bytes or 0), slow.bytes)
    per_byte_ns = (slow.operator_ns - fast.operator_ns) / max(handled, 1.0)
    return per_byte_ns >= MEMORY_NS_PER_BYTE or slow.operator_ns >= BEYOND_MEMORY * fast.operator_ns


def _reference_text(given: Profiled) -> str:
    return "" if given.reference_ns is None else f"; the torch reference takes {us(given.reference_ns)}"


def _calls_text(given: Profiled) -> str:
    """How many framework calls stand behind a time, where they are many more than the reference's."""
    calls, theirs = given.profile.torch_calls, given.profile.reference_calls
    if calls is None or theirs is None or calls < 10 * max(theirs, 1):
        return ""
    per = next((name for name, size in given.case.dims.items() if 0 < size <= calls < 4 * size), None)
    reason = "" if per is None else f"one or more for each of {given.case.dims[per]:,} along {per}: "
    return f"; {reason}{calls:,} framework calls against {theirs:,}"


def _evidence(given: Profiled) -> dict[str, EvidenceValue]:
    return {
        "reference_ns": given.reference_ns,
        "calls": given.profile.torch_calls,
        "reference_calls": given.profile.reference_calls,
        "bytes": given.bytes,
    }
