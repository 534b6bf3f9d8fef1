"""Slow drift of a series: changes too small to show one by one.

Decides when the newest nights lie above the first ones for certain, and since when. Deliberately does not say what
changed: drift is many small changes, of which an A/B of commits a week apart tells the sum for certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from opsdebug_ci.regress.outliers import winsorised
from opsdebug_ci.regress.ranks import Sample
from opsdebug_ci.regress.rule import CUT
from opsdebug_ci.regress.scale import STEADIEST
from opsdebug_ci.regress.student import upper_quantile

ANCHOR_RUNS = 30
"""First runs of a segment, which stay what later ones are compared with: an anchor that moved along would never see
drift."""

FEWEST_ANCHOR_RUNS = 8
"""Median of so many is known to 0.44 % at a scatter of 1 %: a tenth of what is looked for."""

RECENT_RUNS = 7
"""Runs whose median is the present: a week of nights, of which three may be bad."""

MEDIAN_ERROR = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, normal values (Kendall and Stuart, Advanced Theory of Statistics 1,
section 10.10)."""

CHANCE = 0.01
"""Of the anchor lying that far below the present by noise alone."""

ALLOWANCE = 0.75
"""Standard deviations that the cumulative sum forgives every night; tuned to steps of 1.5 and more."""

CLIP = 3.0
"""Standard deviations that one night may count at most: three bad nights in a row alone do not reach LIMIT."""

LIMIT = 8.0
"""Height of the cumulative sum that is an alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A series that has become slower bit by bit."""

    ratio: float
    """Present over anchor."""

    last_before: int
    """Index of the newest run at the old level."""

    first_after: int
    """Index of the first run at the present level: from there on three neighbours in a row have their median within a
    standard deviation of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Anchor:
    """The level that later runs are compared with; log ns."""

    runs: int
    """How many."""

    median: float
    """Their median."""

    spread: float
    """Standard deviation between them."""


def find_drift(values: Sample, threshold: float) -> Drift | None:
    """Drift up to the newest run, by two rules of which either is enough.

    The anchor rule: median of the last RECENT_RUNS less that of the anchor, less t(0.99) of its standard error, exceeds
    CUT of log(1 + threshold). The cumulative sum C = max(0, C + clip(z, -CLIP, CLIP) - ALLOWANCE) reaches LIMIT (Page,
    Biometrika 41, 1954, with bounded influence), and the runs since it left zero lie above the anchor by as much as the
    anchor rule asks.

    Args:
        values: shape (n,), finite; log ns per call, one per run, oldest first, all of one segment.
        threshold: slowdown that needs a person, as a share.
    """
    anchor = _anchor(values)
    if anchor is None:
        return None
    least = CUT * math.log1p(threshold)
    sums = cumulative_sums(values, anchor.runs)
    since = _left_zero(sums)
    present = _shift(values[-RECENT_RUNS:], anchor)
    later = _shift(values[since:], anchor)
    by_sum = bool(sums[-1] >= LIMIT) and later.certain > least
    if present.certain <= least and not by_sum:
        return None
    shift = max(present.estimate, later.estimate) if by_sum else present.estimate
    last_before = min(since, values.size - 1) - 1
    return Drift(
        ratio=math.exp(shift),
        last_before=last_before,
        first_after=_arrived(values, last_before + 1, anchor.median + shift - anchor.spread),
    )


def cumulative_sums(values: Sample, anchor_runs: int) -> Sample:
    """The cumulative sum after every run, shape (n,); 0 throughout the anchor, the first `anchor_runs`."""
    kept = winsorised(values[:anchor_runs])
    spread = max(STEADIEST, float(np.std(kept, ddof=1))) * math.sqrt(1 + 1 / anchor_runs)
    scores = np.clip((values - float(np.mean(kept))) / spread, -CLIP, CLIP)
    sums = np.zeros(values.size)
    for night in range(anchor_runs, values.size):
        sums[night] = max(0.0, sums[night - 1] + scores[night] - ALLOWANCE)
    return sums


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shift:
    """How far some runs lie above the anchor; log ratio."""

    estimate: float
    """Difference of the medians."""

    certain: float
    """The same less what noise may add."""


def _anchor(values: Sample) -> _Anchor | None:
    runs = min(ANCHOR_RUNS, values.size - RECENT_RUNS)
    if runs < FEWEST_ANCHOR_RUNS:
        return None
    kept = winsorised(values[:runs])
    return _Anchor(
        runs=runs,
        median=float(np.median(values[:runs])),
        spread=max(STEADIEST, float(np.std(kept, ddof=1))),
    )


def _shift(values: Sample, anchor: _Anchor) -> _Shift:
    if values.size == 0:
        return _Shift(estimate=0.0, certain=-math.inf)
    estimate = float(np.median(values)) - anchor.median
    error = MEDIAN_ERROR * anchor.spread * math.sqrt(1 / anchor.runs + 1 / values.size)
    return _Shift(estimate=estimate, certain=estimate - upper_quantile(CHANCE, anchor.runs - 1) * error)


def _left_zero(sums: Sample) -> int:
    """Index of the first run since the cumulative sum was last zero; the length of `sums` where it is zero now."""
    return int(np.flatnonzero(sums == 0)[-1]) + 1


def _arrived(values: Sample, start: int, level: float) -> int:
    """First index from `start` at which the median of the run and the two after it reaches `level`; else the newest."""
    for night in range(start, values.size):
        if float(np.median(values[night : night + 3])) >= level:
            return night
    return int(values.size) - 1
