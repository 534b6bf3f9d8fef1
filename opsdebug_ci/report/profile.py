"""`opsdebug profile` as text: one table, made to be compared with another by `diff`.

Decides columns and rounding. Columns are fixed, rows stand in order of discovery, times have two significant digits and
shares whole per cent: what a repetition gives again, mostly. docs/profile.md defines every column.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.profile_document import BoundBy, DevicePeaks, ProfileDocument, ProfileEntry, Sweep
from opsdebug_ci.report import figures
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.subject import ending_lines
from opsdebug_ci.report.table import aligned

HEADER = (
    "case",
    "bytes",
    "flops",
    "fl/B",
    "bound",
    "floor",
    "warm",
    "cold",
    "first",
    "launch",
    "execute",
    "sync",
    "of floor",
    "GB/s",
    "torch",
)

SWEEP_HEADER = ("sweep", "sizes", "time", "torch", "power", "torch power")


def profile_text(document: ProfileDocument) -> str:
    """The answer as text, ending in a newline."""
    sections = [
        [_machine(document), *map(_peaks, document.peaks)],
        aligned(HEADER, [_row(entry, document.peaks) for entry in document.entries]) if document.entries else [],
        _todo(document.entries),
        _sweeps(document.sweeps),
        [f"note: {plain(note)}" for note in document.notes],
        ending_lines(document.next),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def duration(ns: float | None) -> str:
    """A time, two significant digits: `1.2 us`, `340 us`, `5.6 ms`."""
    if ns is None:
        return figures.MISSING
    for unit, size in (("ns", 1.0), ("us", 1e3), ("ms", 1e6)):
        if ns < 995 * size:
            return f"{_two(ns / size)} {unit}"
    return f"{_two(ns / 1e9)} s"


def amount(value: float | None) -> str:
    """A number of bytes or flops in thousands, two significant digits: `64 k`, `1.1 M`."""
    if value is None:
        return figures.MISSING
    for unit, size in (("", 1.0), (" k", 1e3), (" M", 1e6), (" G", 1e9)):
        if value < 995 * size:
            return f"{_two(value / size)}{unit}"
    return f"{_two(value / 1e12)} T"


def share(value: float | None) -> str:
    """A share in whole per cent."""
    return figures.MISSING if value is None else f"{100 * value:.0f} %"


def _two(value: float) -> str:
    rounded = float(f"{value:.2g}")
    return f"{rounded:.0f}" if rounded >= 10 or rounded == int(rounded) else f"{rounded:g}"


def _machine(document: ProfileDocument) -> str:
    machine = document.machine
    return f"PROFILE: {plain(machine.cpu)}, {machine.cores} cores, torch {machine.torch}, threads {machine.threads}"


def _peaks(peaks: DevicePeaks) -> str:
    bandwidth = (
        "not known" if peaks.bandwidth_bytes_per_s is None else f"{_two(peaks.bandwidth_bytes_per_s / 1e9)} GB/s"
    )
    flops = ", ".join(f"{dtype} {amount(value)}flop/s" for dtype, value in peaks.flops_per_s.items())
    cached = ", ".join(
        f"{_two(one.bandwidth_bytes_per_s / 1e9)} GB/s within {amount(one.working_set_bytes)}B" for one in peaks.cached
    )
    parts = [f"memory {bandwidth}", f"caches {cached}" if cached else "", flops]
    return f"{peaks.device}: {'; '.join(part for part in parts if part)} ({plain(peaks.source)})"


def _row(entry: ProfileEntry, peaks: Sequence[DevicePeaks]) -> tuple[str, ...]:
    name, watch, floor, parts = _name(entry), entry.measured, entry.floor, entry.parts
    traffic, reference = entry.traffic, entry.reference
    return (
        name,
        amount(None if traffic is None else traffic.bytes),
        amount(None if traffic is None else traffic.flops),
        figures.MISSING if floor is None or floor.intensity is None else _two(floor.intensity),
        figures.MISSING if floor is None else _bound(entry, peaks),
        duration(None if floor is None else floor.ns),
        duration(None if watch is None else watch.best_ns),
        duration(None if watch is None else watch.cold_ns),
        duration(None if watch is None else watch.first_call_ns),
        share(entry.launch_share),
        duration(None if parts is None else parts.execute_ns),
        duration(None if parts is None else parts.sync_ns),
        share(entry.utilisation),
        figures.MISSING if entry.bandwidth_bytes_per_s is None else _two(entry.bandwidth_bytes_per_s / 1e9),
        duration(None if reference is None else reference.best_ns),
    )


def _name(entry: ProfileEntry) -> str:
    """Operator and everything that tells its rows apart; the everyday layout and values go without saying."""
    case = entry.case
    dims = ",".join(f"{name}={size}" for name, size in case.dims.items())
    odd = [word for word in (case.layout, case.inputs) if word not in ("contiguous", "normal", "own")]
    device = [] if case.device == "cpu" else [case.device]
    return plain(" ".join([case.operator, *([dims] if dims else []), case.dtype, *odd, *device]))


def _bound(entry: ProfileEntry, peaks: Sequence[DevicePeaks]) -> str:
    """Memory, cache (where the bandwidth of one applies) or compute."""
    floor, traffic = entry.floor, entry.traffic
    if floor is None or floor.bound is not BoundBy.MEMORY or traffic is None or not floor.memory_ns:
        return figures.MISSING if floor is None else str(floor.bound)
    memory = next((one.bandwidth_bytes_per_s for one in peaks if one.device == entry.case.device), None)
    used = traffic.bytes / floor.memory_ns * 1e9
    return "cache" if memory is not None and used > 1.001 * memory else str(floor.bound)


def _todo(entries: Sequence[ProfileEntry]) -> list[str]:
    """What to do next, entry by entry, in the order of the table."""
    lines = ["what to do next"] if entries else []
    for entry in entries:
        lines.append(f"  {_name(entry)}: {'remove the cliff' if entry.findings else plain(entry.advice)}")
        if entry.explanation is not None and (entry.utilisation or 0.0) > 1:
            lines.append(f"    {plain(entry.explanation)}")
        for finding in entry.findings:
            lines.append(f"    {finding.cause} {finding.confidence:.2f}: {plain(finding.statement)}")
            lines.append(f"      again: {plain(finding.next)}")
    return lines


def _sweeps(sweeps: Sequence[Sweep]) -> list[str]:
    return aligned(SWEEP_HEADER, [_sweep_row(sweep) for sweep in sweeps], left=2) if sweeps else []


def _sweep_row(sweep: Sweep) -> tuple[str, ...]:
    """From the smallest to the largest size; the dims that change."""
    first, last = sweep.points[0], sweep.points[-1]
    changed = [name for name, size in last.dims.items() if first.dims.get(name) != size]
    sizes = ", ".join(f"{name} {first.dims.get(name, 0)}..{last.dims[name]}" for name in changed)
    return (
        plain(f"{sweep.operator} {sweep.dtype}"),
        plain(sizes),
        f"{duration(first.operator_ns)} .. {duration(last.operator_ns)}",
        f"{duration(first.reference_ns)} .. {duration(last.reference_ns)}",
        _power(sweep.exponent),
        _power(sweep.reference_exponent),
    )


def _power(value: float | None) -> str:
    return figures.MISSING if value is None else f"{value:.1f}"
