"""What a run says of speed, put together from its tables.

Decides what lies in column `performance` of table `runs`: what belongs to the whole run. What belongs to a case or a
series has a table of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from opsdebug_ci.model.history import ComparableRuns, Trend
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.profile_document import CachedBandwidth, DevicePeaks
from opsdebug_ci.model.speed import AlarmBound, ArmFacts, Comparing, Comparison, ComparisonRun
from opsdebug_ci.model.wire import from_json
from opsdebug_ci.store.column import FLAG, INTEGER, INTEGER_MAP, REAL, TEXT, TEXTS, Row
from opsdebug_ci.store.machine_columns import MACHINE, read_machine
from opsdebug_ci.store.struct import to_struct
from opsdebug_ci.store.tables import comparisons, histories, sweeps, timings

_CACHED = pa.struct([("working_set_bytes", INTEGER), ("bandwidth_bytes_per_s", REAL)])
_PEAKS = pa.struct(
    [
        ("device", TEXT),
        ("bandwidth_bytes_per_s", REAL),
        ("flops_per_s", pa.map_(pa.string(), pa.float64())),
        ("source", TEXT),
        ("cached", pa.list_(_CACHED)),
        ("launch_ns", REAL),
    ]
)
_ARM = pa.struct(
    [(name, TEXT) for name in ("name", "revision", "commit", "tree", "python", "torch")]
    + [("dirty", FLAG), ("build_s", REAL)]
)
_COMPARISON = pa.struct(
    [
        ("arms", pa.list_(_ARM)),
        ("contaminated", TEXT),
        ("probe_ratio", REAL),
        ("machine", MACHINE),
        ("processes", INTEGER),
        ("duration_s", REAL),
        ("seed", INTEGER),
        ("complete", FLAG),
        ("notes", TEXTS),
    ]
)
_ALARMS = pa.struct([("alarms", INTEGER), ("of", INTEGER), ("upper", REAL)])

_LEFT_OUT = pa.struct([("machines", INTEGER), ("runs", INTEGER), ("differs", TEXTS)])
_COMPARABLE = pa.struct(
    [("machine_key", TEXT)]
    + [(name, INTEGER) for name in ("counted", "left_out", "other_machines")]
    + [("why", pa.list_(_LEFT_OUT))]
)

_CASE = pa.struct(
    [(name, TEXT) for name in ("id", "name", "operator", "dtype", "layout", "inputs", "device", "direction")]
    + [("dims", INTEGER_MAP), ("seed", INTEGER)]
)
_POINT = pa.struct([("commit", TEXT), ("ns", REAL), ("at", TEXT)])
_TREND = pa.struct([("case", _CASE), ("now_ns", REAL), ("points", pa.list_(_POINT))])

PERFORMANCE = pa.struct(
    [
        ("peaks", pa.list_(_PEAKS)),
        ("comparison", _COMPARISON),
        ("alarms", _ALARMS),
        ("notes", TEXTS),
        ("comparable", _COMPARABLE),
        ("trends", pa.list_(_TREND)),
    ]
)
"""Model value `PerformanceDocument` without its profiles, sweeps, comparisons, history and imported times."""


def performance_struct(performance: PerformanceDocument | None) -> dict[str, Any] | None:
    """What belongs to the whole run; None: speed was not asked about."""
    if performance is None:
        return None
    return {
        "peaks": to_struct(performance.peaks),
        "comparison": _comparison_struct(performance.comparison),
        "alarms": to_struct(performance.alarms),
        "notes": list(performance.notes),
        "comparable": to_struct(performance.comparable),
        "trends": to_struct(performance.trends),
    }


def read_performance(struct: Row | None, stored: Mapping[str, Sequence[Row]]) -> PerformanceDocument | None:
    """Inverse of `performance_struct` and of the tables of speed.

    Args:
        struct: column `performance` of table `runs`.
        stored: the run's rows by table; a table it added nothing to may be absent.
    """
    if struct is None:
        return None
    launches = stored.get(timings.TABLE.name, ())
    compared = comparisons.read_comparisons(stored.get(comparisons.TABLE.name, ()), launches)
    return PerformanceDocument(
        peaks=tuple(_read_peaks(peaks) for peaks in struct["peaks"]),
        profiles=timings.read_profiles(launches),
        sweeps=sweeps.read_sweeps(stored.get(sweeps.TABLE.name, ())),
        comparison=None if struct["comparison"] is None else _read_comparison(struct["comparison"], compared),
        history=histories.read_history(stored.get(histories.TABLE.name, ())),
        alarms=None if struct["alarms"] is None else from_json(struct["alarms"], AlarmBound),
        notes=tuple(struct["notes"]),
        imported=timings.read_imported(launches),
        comparable=_read_comparable(struct.get("comparable")),
        trends=tuple(_read_trend(trend) for trend in struct.get("trends") or ()),
    )


def _read_trend(struct: Row) -> Trend:
    case = {**struct["case"], "dims": dict(struct["case"]["dims"])}
    trend: Trend = from_json({**struct, "case": case}, Trend)
    return trend


def _read_comparable(struct: Row | None) -> ComparableRuns | None:
    """None where the history was not asked, and in the rows of older programs."""
    counted: ComparableRuns | None = None if struct is None else from_json(struct, ComparableRuns)
    return counted


def _comparison_struct(run: ComparisonRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        _COMPARISON.field(i).name: to_struct(getattr(run, _COMPARISON.field(i).name)) for i in range(len(_COMPARISON))
    }


def _read_comparison(struct: Row, compared: Sequence[Comparison]) -> ComparisonRun:
    return ComparisonRun(
        arms=tuple(from_json(arm, ArmFacts) for arm in struct["arms"]),
        comparisons=tuple(comparison for comparison in compared if comparison.why is not Comparing.CONTROL),
        controls=tuple(comparison for comparison in compared if comparison.why is Comparing.CONTROL),
        contaminated=struct["contaminated"],
        probe_ratio=struct["probe_ratio"],
        machine=read_machine(struct["machine"], key="key"),
        processes=struct["processes"],
        duration_s=struct["duration_s"],
        seed=struct["seed"],
        complete=struct["complete"],
        notes=tuple(struct["notes"]),
    )


def _read_peaks(struct: Row) -> DevicePeaks:
    return DevicePeaks(
        device=struct["device"],
        bandwidth_bytes_per_s=struct["bandwidth_bytes_per_s"],
        flops_per_s=dict(struct["flops_per_s"]),
        source=struct["source"],
        cached=tuple(from_json(cached, CachedBandwidth) for cached in struct["cached"]),
        launch_ns=struct["launch_ns"],
    )
