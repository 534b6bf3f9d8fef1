"""What a run says of speed, beside what it says of values."""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.history import ComparableRuns, HistoryReading, Trend
from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.model.profile_document import DevicePeaks, ProfileEntry, Sweep
from opsdebug_ci.model.speed import AlarmBound, ComparisonRun


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceDocument:
    """Profiles, comparisons and history of one run."""

    peaks: tuple[DevicePeaks, ...] = ()
    """What floors rest on."""

    profiles: tuple[ProfileEntry, ...] = ()
    """One per operator and case."""

    sweeps: tuple[Sweep, ...] = ()
    """How time grows with size."""

    comparison: ComparisonRun | None = None
    """Against the baseline commit and the rungs of the ladder; None: not asked for, or there is nothing to compare
    with, as `notes` say."""

    history: tuple[HistoryReading, ...] = ()
    """One per series that is stored."""

    alarms: AlarmBound | None = None
    """Our own false-alarm rate so far."""

    notes: tuple[str, ...] = ()
    """What a reader must know, e.g. why nothing was compared."""

    imported: tuple[ImportedTime, ...] = ()
    """Times that another tool recorded; no verdict rests on them."""

    comparable: ComparableRuns | None = None
    """Which stored runs the history counted; None: it was not asked."""

    trends: tuple[Trend, ...] = ()
    """One per operator that regressed, of its worst series, in the order of the comparisons."""
