"""What the stored history says of one series: is the newest value among those expected, and where did it change.

Decides nothing that gates: history screens and locates, a comparison of the commits themselves confirms.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.case_document import CaseDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A lasting change of a series."""

    ratio: float
    """Level after over level before."""

    before: str
    """Newest commit measured at the old level; full hash."""

    after: str
    """Oldest commit measured at the new level; full hash."""

    at: str
    """When the run of `after` started; ISO 8601, UTC."""

    p_value: float
    """Of the test that the two levels are one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Stored runs whose times may not be compared, all for the same reasons."""

    machines: int
    """Machine keys they have."""

    runs: int
    """How many they are."""

    differs: tuple[str, ...]
    """In which facts, e.g. `torch 2.12.0 there, 2.13.0 here`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparableRuns:
    """Which stored runs the history counted."""

    machine_key: str
    """Of this run; runs with the same are counted."""

    counted: int
    """How many are; of one series fewer may be. 0: this is the first run of this machine, and nothing is doubted."""

    left_out: int
    """Runs of other machine keys."""

    other_machines: int
    """How many keys those are."""

    why: tuple[LeftOut, ...]
    """Those of most runs, with what differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReading:
    """One series on one machine key."""

    case: CaseDocument
    """What was timed."""

    runs: int
    """Stored runs of this segment that count; throttled and contaminated ones do not."""

    left_out: int
    """Runs that do not count."""

    observed_ns: float
    """Median of this run's launch minima; ns per call."""

    expected_ns: float | None
    """Centre of the prediction; None: too few runs."""

    low_ns: float | None
    """Lower end of the one-sided or two-sided prediction interval; ns."""

    high_ns: float | None
    """Upper end; ns."""

    suspected: bool
    """The observed value lies above the interval and by more than half the threshold: to be compared for certain."""

    drifting: str | None
    """Slow drift, in a sentence with its commit range; None: there is none."""

    detectable: float | None
    """Smallest slowdown that this history could show, as a share; None: too few runs."""

    covariate: str | None
    """Probe that helps to explain the series, with its share of the variance; None: none does."""

    changes: tuple[ChangePoint, ...]
    """Where the level changed, oldest first."""

    statement: str
    """One sentence with numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One stored run of a series."""

    commit: str
    """Commit under test; full hash, empty outside git."""

    ns: float
    """Median of its launch minima; ns per call."""

    at: str
    """When the run started; ISO 8601, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """How a series that is now slower stood in the newest stored runs: for the eye, nothing is concluded from it."""

    case: CaseDocument
    """What was timed."""

    now_ns: float | None
    """Median of this run's launch minima; ns per call. None: not timed."""

    points: tuple[TrendPoint, ...]
    """Runs of the default branch on this machine, oldest first, throttled and contaminated ones left out; empty: there
    is none."""
