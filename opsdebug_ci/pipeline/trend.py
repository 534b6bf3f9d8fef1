"""How the series of regressed operators stood in the newest stored runs, for whoever decides about a regression.

Decides which series stands for an operator: the one that lost most. Deliberately concludes nothing, and so is asked on
pull requests too, where the history is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from opsdebug_ci.model.history import Trend, TrendPoint
from opsdebug_ci.model.speed import Comparison, ComparisonRun, SpeedVerdict
from opsdebug_ci.store.memory.series import SeriesRun, stored_series

MOST_POINTS = 20
"""Newest stored runs of a trend: about three weeks of nights, and still one line."""


def trends_of(run: ComparisonRun, location: Path, machine_key: str) -> tuple[Trend, ...]:
    """One trend per operator that regressed, in the order of the comparisons.

    Args:
        run: what was compared; its last arm is the code under test.
        location: the store; where there is none, or none of its runs is of this machine, trends have no points.
        machine_key: of the machine it was compared on.

    Raises:
        StoreError: a file of the store cannot be read.
    """
    worst = _worst(run)
    if not worst:
        return ()
    stored = stored_series(location, machine_key)
    head = run.arms[-1].name
    return tuple(
        Trend(case=one.case, now_ns=_now(one, head), points=_points(stored.get(one.case.id, ()))) for one in worst
    )


def _worst(run: ComparisonRun) -> Sequence[Comparison]:
    """The comparison that lost most of every regressed operator."""
    found: dict[str, Comparison] = {}
    for one in run.comparisons:
        if one.verdict is SpeedVerdict.REGRESSED:
            known = found.setdefault(one.case.operator, one)
            if _ratio(one) > _ratio(known):
                found[one.case.operator] = one
    return tuple(found.values())


def _ratio(one: Comparison) -> float:
    return 0.0 if one.effect is None else one.effect.ratio


def _now(one: Comparison, head: str) -> float | None:
    minima = [launch.min_ns for launch in one.launches if launch.arm == head]
    return median(minima) if minima else one.head_ns


def _points(runs: Sequence[SeriesRun]) -> tuple[TrendPoint, ...]:
    counted = [run for run in runs if run.minima_ns and not run.throttled and not run.contaminated]
    return tuple(
        TrendPoint(commit=run.commit, ns=median(run.minima_ns), at=run.started_at.isoformat())
        for run in counted[-MOST_POINTS:]
    )
