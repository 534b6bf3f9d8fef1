"""What the stored history says of the times of this run, series by series.

Decides which stored runs count, which commits are to be compared for certain, and the words. Deliberately calls nothing
regressed: history screens and locates, `compare_arms` on the commits themselves confirms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from statistics import median

import numpy as np

from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.history import ChangePoint, ComparableRuns, HistoryReading
from opsdebug_ci.model.machine import Calibration, Machine
from opsdebug_ci.model.profile_document import BoundBy
from opsdebug_ci.model.speed import Comparison, ComparisonRun
from opsdebug_ci.pipeline.history_words import drift_told, told
from opsdebug_ci.regress.history import SeriesHistory, SeriesReading, read_series
from opsdebug_ci.regress.ranks import Sample
from opsdebug_ci.regress.rule import FAMILY_ALARMS
from opsdebug_ci.store.memory.machines import comparable_runs
from opsdebug_ci.store.memory.series import ProbeTime, SeriesRun, accepted_levels, stored_series


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSeries:
    """One series in the run that is looked at."""

    case: CaseDocument
    """What was timed."""

    minima_ns: tuple[float, ...]
    """Minimum of every launch of the code under test; ns per call, at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What else is known about that run."""

    machine: Machine
    """Of the run, as it is stored."""

    now: datetime
    """When it began; acceptances that have lapsed by then do not count."""

    thresholds: Callable[[str], float]
    """Operator -> slowdown that needs a person, as a share."""

    commit: str = ""
    """Full hash of the code under test; empty outside git, or where the work tree differs from it."""

    tree: str = ""
    """Hash of its tree; empty as above."""

    calibrations: Sequence[Calibration] = ()
    """What its probes measured."""

    bounds: Mapping[str, BoundBy] = field(default_factory=dict)
    """Case id -> what its time goes to, where a profile told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What is to be compared for certain."""

    commit: str
    """Newest stored commit of the old level: the base of that comparison."""

    operators: tuple[str, ...]
    """Operators of the series that are suspected or drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOutcome:
    """What the history says."""

    readings: tuple[HistoryReading, ...]
    """One per series of the run, in its order."""

    doubts: tuple[Doubt, ...]
    """One per commit; empty: history suspects nothing."""

    comparable: ComparableRuns
    """Which stored runs it counted."""


def new_series(run: ComparisonRun) -> tuple[NewSeries, ...]:
    """The code under test in a comparison: every series once, by all its launches. Where there was no base to compare
    with, it was compared with itself, as a control."""
    head = run.arms[-1].name if run.arms else ""
    found: dict[str, Comparison] = {}
    for comparison in (*run.comparisons, *run.controls):
        if any(launch.arm == head for launch in comparison.launches):
            known = found.setdefault(comparison.case.id, comparison)
            if len(comparison.launches) > len(known.launches):
                found[comparison.case.id] = comparison
    return tuple(
        NewSeries(
            case=comparison.case,
            minima_ns=tuple(launch.min_ns for launch in comparison.launches if launch.arm == head),
        )
        for comparison in found.values()
    )


def read_history(location: str | Path, series: Sequence[NewSeries], circumstances: Circumstances) -> HistoryOutcome:
    """Read every series of a run against the store, which does not hold the run yet.

    Args:
        location: the store; one that does not exist yet has no history.
        series: what was timed.
        circumstances: of the run.

    Raises:
        StoreError: a file of the store cannot be read.
    """
    stored = stored_series(location, circumstances.machine.key)
    accepted = accepted_levels(location, circumstances.now)
    chance = FAMILY_ALARMS / max(1, len({one.case.operator for one in series}))
    readings: list[HistoryReading] = []
    doubts: dict[str, dict[str, None]] = {}
    for one in series:
        runs = stored.get(one.case.id, ())
        threshold = circumstances.thresholds(one.case.operator)
        reading, base = _read(one, runs, circumstances, accepted.get(one.case.operator), (threshold, chance))
        readings.append(reading)
        if base:
            doubts.setdefault(base, {})[one.case.operator] = None
    return HistoryOutcome(
        readings=tuple(readings),
        doubts=tuple(Doubt(commit=commit, operators=tuple(names)) for commit, names in doubts.items()),
        comparable=comparable_runs(location, circumstances.machine),
    )


def _read(
    one: NewSeries,
    runs: Sequence[SeriesRun],
    circumstances: Circumstances,
    accepted: datetime | None,
    limits: tuple[float, float],
) -> tuple[HistoryReading, str | None]:
    """Its reading, and the commit to compare with where there is a doubt."""
    counted = tuple(run for run in runs if not run.throttled and not run.contaminated and run.minima_ns)
    history = _series_history(one, counted, circumstances, accepted)
    threshold, chance = limits
    found = read_series(history, threshold, chance)
    old = _old_level(found)
    same_code = old is not None and _ran_before(circumstances, counted[: old + 1])
    if same_code:
        found = replace(found, suspected=False, drift=None)
    reading = _reading(one, found, counted, moved=history.newest - found.adjusted, left_out=len(runs) - len(counted))
    base = None if old is None or same_code else counted[old].commit or None
    return told(reading, threshold=threshold, base=base, same_code=same_code), base


def _reading(
    one: NewSeries, found: SeriesReading, counted: Sequence[SeriesRun], *, moved: float, left_out: int
) -> HistoryReading:
    """Without its statement. `moved` is what a probe explains of this run, a log ratio: the prediction is told for this
    run's state of the machine."""
    prediction = found.prediction
    ends = None if prediction is None else (prediction.centre, prediction.low, prediction.high)
    expected, low, high = (None, None, None) if ends is None else (math.exp(end + moved) for end in ends)
    return HistoryReading(
        case=one.case,
        runs=found.end - found.begin,
        left_out=left_out,
        observed_ns=median(one.minima_ns),
        expected_ns=expected,
        low_ns=low,
        high_ns=high,
        suspected=found.suspected,
        drifting=None if found.drift is None else drift_told(found.drift, found, counted),
        detectable=None if prediction is None else prediction.detectable,
        covariate=None if found.covariate is None else f"{found.covariate.probe}, {100 * found.covariate.share:.0f} %",
        changes=_changes(found, counted),
        statement="",
    )


def _ran_before(circumstances: Circumstances, old: Sequence[SeriesRun]) -> bool:
    """The very code under test was measured at the old level, so that the machine has changed and not the code."""
    commit, tree = circumstances.commit, circumstances.tree
    return any((commit and run.commit == commit) or (tree and run.tree == tree) for run in old)


def _series_history(
    one: NewSeries, counted: Sequence[SeriesRun], circumstances: Circumstances, accepted: datetime | None
) -> SeriesHistory:
    newest = _newest_probes(circumstances.calibrations, one.case.device)
    sizes = _common_sizes(counted, newest)
    return SeriesHistory(
        values=np.log(np.array([median(run.minima_ns) for run in counted], dtype=np.float64)),
        newest=math.log(median(one.minima_ns)),
        accepted=0 if accepted is None else sum(run.started_at <= accepted for run in counted),
        probes={name: _probe_values(counted, name, size) for name, size in sizes.items()},
        newest_probes={name: math.log(newest[name, size]) for name, size in sizes.items()},
        bound=circumstances.bounds.get(one.case.id),
    )


def _newest_probes(calibrations: Sequence[Calibration], device: str) -> Mapping[tuple[str, int], float]:
    """Shortest repetition of every probe and size, as the store hands it out."""
    found: dict[tuple[str, int], float] = {}
    for calibration in calibrations:
        for reading in calibration.probes if calibration.device == device else ():
            if reading.samples_ns:
                key = reading.probe, reading.size_bytes
                found[key] = min(found.get(key, math.inf), float(min(reading.samples_ns)))
    return found


def _common_sizes(counted: Sequence[SeriesRun], newest: Mapping[tuple[str, int], float]) -> Mapping[str, int]:
    """Probe -> its largest size that every run measured, this one included."""
    common = {key for key, ns in newest.items() if ns > 0}
    for run in counted:
        common &= {(probe.probe, probe.size_bytes) for probe in run.probes if probe.ns > 0}
    return {name: max(size for other, size in common if other == name) for name, _ in sorted(common)}


def _probe_values(counted: Sequence[SeriesRun], name: str, size: int) -> Sample:
    times = [probe.ns for run in counted for probe in run.probes if _is(probe, name, size)]
    return np.log(np.array(times, dtype=np.float64))


def _is(probe: ProbeTime, name: str, size: int) -> bool:
    return (probe.probe, probe.size_bytes) == (name, size)


def _changes(found: SeriesReading, counted: Sequence[SeriesRun]) -> tuple[ChangePoint, ...]:
    return tuple(
        ChangePoint(
            ratio=math.exp(step.shift),
            before=counted[step.first_after - 1].commit,
            after=counted[step.first_after].commit,
            at=counted[step.first_after].started_at.isoformat(),
            p_value=step.p_value,
        )
        for step in found.steps
    )


def _old_level(found: SeriesReading) -> int | None:
    """Index of the newest run of the baseline where this run is suspected; of the last before the drift where it
    drifts; None where there is no doubt."""
    if found.drift is not None:
        return min(found.drift.last_before, found.end - 1)
    return found.end - 1 if found.suspected else None
