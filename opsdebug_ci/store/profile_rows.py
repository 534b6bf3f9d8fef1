"""A profiled case as a row of table `timings`, and back; both directions are total."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from opsdebug_ci.model.profile import Parts, Stopwatch, Traffic
from opsdebug_ci.model.profile_document import Floor, ProfileEntry
from opsdebug_ci.model.timing import Clocks
from opsdebug_ci.model.wire import from_json
from opsdebug_ci.store.case_columns import case_cells, read_case
from opsdebug_ci.store.column import FLAG, INTEGER, REAL, TEXT, Column, Row
from opsdebug_ci.store.struct import FINDING, cells, finding_struct, read_cells, read_finding, to_struct

PROFILE = "profile"
"""Value of column `round` that says that the row is a profile's."""

STOPWATCH = pa.struct(
    [
        ("warm_ns", REAL),
        ("best_ns", REAL),
        ("cold_ns", REAL),
        ("samples_ns", pa.list_(REAL)),
        ("calls", INTEGER),
        ("first_call_ns", REAL),
        ("warm_calls", INTEGER),
        ("timer_ns", REAL),
        ("cpu_share", REAL),
        ("slowdown_per_call", REAL),
    ]
)
"""Model value `Stopwatch`."""

_MEASURED = {
    "warm_ns": "median_ns",
    "best_ns": "min_ns",
    "cold_ns": "cold_ns",
    "samples_ns": "samples_ns",
    "calls": "calls",
    "first_call_ns": "first_call_ns",
    "warm_calls": "warm_calls",
    "timer_ns": "timer_ns",
    "cpu_share": "cpu_share",
    "slowdown_per_call": "slowdown_per_call",
}
_PARTS = {"launch_ns": "launch_ns", "execute_ns": "execute_ns", "sync_ns": "sync_ns", "how": "parts_how"}
_TRAFFIC = {
    "read_bytes": "read_bytes",
    "written_bytes": "written_bytes",
    "stated_bytes": "stated_bytes",
    "flops": "flops",
}
_FLOOR = {
    "ns": "floor_ns",
    "memory_ns": "memory_floor_ns",
    "compute_ns": "compute_floor_ns",
    "bound": "bound",
    "intensity": "intensity",
}
_CLOCKS = {
    "policy": "clock_policy",
    "frequency_hz": "frequency_hz",
    "nominal_hz": "nominal_hz",
    "throttled": "throttled",
    "stolen": "stolen",
    "load": "load",
}
"""Field -> column of each value; the first of each but the last is never None."""

PARTS_COLUMNS = (
    Column(name="launch_ns", type=REAL, comment="time to launch; null: parts were not told apart", unit="ns"),
    Column(name="execute_ns", type=REAL, comment="time the device works", unit="ns"),
    Column(name="sync_ns", type=REAL, comment="time to synchronise; 0 on the CPU", unit="ns"),
    Column(name="parts_how", type=TEXT, comment="how the three were told apart"),
    Column(name="launch_share", type=REAL, comment="launch / total", unit="1"),
)
"""Where the time of a profiled case goes; null in the rows of comparisons."""

FLOOR_COLUMNS = (
    Column(name="bytes", type=REAL, comment="bytes the floor rests on; null: not known", unit="bytes"),
    Column(name="read_bytes", type=INTEGER, comment="bytes of every argument it may read", unit="bytes"),
    Column(name="written_bytes", type=INTEGER, comment="bytes of every output or written argument", unit="bytes"),
    Column(name="stated_bytes", type=REAL, comment="bytes its cost states instead; null: none", unit="bytes"),
    Column(name="flops", type=REAL, comment="floating-point operations; null: none stated", unit="flop"),
    Column(name="floor_ns", type=REAL, comment="shortest possible time on this device; null: not known", unit="ns"),
    Column(name="memory_floor_ns", type=REAL, comment="bytes / bandwidth; null: no bandwidth is known", unit="ns"),
    Column(name="compute_floor_ns", type=REAL, comment="flops / peak; null: none stated, no peak known", unit="ns"),
    Column(name="bound", type=TEXT, comment="what the floor rests on: memory, compute or launch"),
    Column(name="intensity", type=REAL, comment="arithmetic intensity; null: not known", unit="flop/byte"),
    Column(name="utilisation", type=REAL, comment="floor / measured execution; null: there is no floor", unit="1"),
    Column(name="bandwidth_bytes_per_s", type=REAL, comment="bytes / measured execution", unit="bytes/s"),
    Column(name="reference_ns", type=REAL, comment="median of the torch reference; null: not timed", unit="ns"),
    Column(name="reference", type=STOPWATCH, comment="every time of the torch reference"),
    Column(name="explanation", type=TEXT, comment="why a number is not what one expects; null: it is"),
    Column(name="advice", type=TEXT, comment="what to do next"),
    Column(name="findings", type=pa.list_(FINDING), comment="cliffs and calls that become slower; null: a launch"),
    Column(name="reason", type=TEXT, comment="why it could not be timed; null: it was"),
)
"""What a profiled case must move and compute; null in the rows of comparisons."""

WATCH_COLUMNS = (
    Column(name="cold_ns", type=REAL, comment="median with flushed caches; null: not taken", unit="ns"),
    Column(name="first_call_ns", type=REAL, comment="first call in its process; null: not told", unit="ns"),
    Column(name="warm_calls", type=INTEGER, comment="calls before times settled, the first included", unit="calls"),
    Column(name="timer_ns", type=REAL, comment="what the clock costs one call; not subtracted", unit="ns"),
    Column(name="cpu_share", type=REAL, comment="processor time / wall time; null: not known", unit="1"),
    Column(name="slowdown_per_call", type=REAL, comment="growth per call; null: none for certain", unit="1"),
    Column(name="throttled", type=FLAG, comment="the clocks were held down; null: the system does not tell"),
    Column(name="clock_policy", type=TEXT, comment="who decides the frequency; null: not told"),
    Column(name="frequency_hz", type=REAL, comment="frequency while it ran; null: not told", unit="Hz"),
    Column(name="nominal_hz", type=REAL, comment="frequency it is built for; null: not told", unit="Hz"),
    Column(name="stolen", type=REAL, comment="share of time taken by the hypervisor; null: not told", unit="1"),
    Column(name="load", type=REAL, comment="runnable processes beside ours; null: not told", unit="processes"),
)
"""How a profiled case was timed; all but `throttled` null in the rows of comparisons."""


def profile_cells(entry: ProfileEntry) -> dict[str, Any]:
    """Columns of one profiled case."""
    return {
        **case_cells(entry.case),
        "round": PROFILE,
        "samples": None if entry.measured is None else len(entry.measured.samples_ns),
        **cells(entry.measured, _MEASURED),
        **cells(entry.parts, _PARTS),
        **cells(entry.traffic, _TRAFFIC),
        "bytes": None if entry.traffic is None else float(entry.traffic.bytes),
        **cells(entry.floor, _FLOOR),
        **cells(entry.clocks, _CLOCKS),
        "utilisation": entry.utilisation,
        "bandwidth_bytes_per_s": entry.bandwidth_bytes_per_s,
        "launch_share": entry.launch_share,
        "reference_ns": None if entry.reference is None else entry.reference.warm_ns,
        "reference": to_struct(entry.reference),
        "explanation": entry.explanation,
        "advice": entry.advice,
        "findings": [finding_struct(finding) for finding in entry.findings],
        "reason": entry.reason,
    }


def read_profile(row: Row) -> ProfileEntry:
    """Inverse of `profile_cells`."""
    return ProfileEntry(
        case=read_case(row),
        measured=read_cells(row, _MEASURED, Stopwatch),
        parts=read_cells(row, _PARTS, Parts),
        traffic=read_cells(row, _TRAFFIC, Traffic),
        floor=read_cells(row, _FLOOR, Floor),
        utilisation=row["utilisation"],
        bandwidth_bytes_per_s=row["bandwidth_bytes_per_s"],
        launch_share=row["launch_share"],
        reference=None if row["reference"] is None else from_json(row["reference"], Stopwatch),
        explanation=row["explanation"],
        advice=row["advice"],
        findings=tuple(read_finding(finding) for finding in row["findings"]),
        clocks=Clocks(**{field: row[column] for field, column in _CLOCKS.items()}),
        reason=row["reason"],
    )
