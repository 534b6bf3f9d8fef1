"""What a series' stored runs say of its newest value.

Decides which runs are its baseline, whether the newest value is among those expected, and whether the series drifts.
Deliberately calls nothing regressed: what looks slower is to be compared with the old level's last commit by A/B.

The baseline does not move up by itself. It begins after the last change that made the series faster than it ever was,
or that a person accepted, and ends before the first slowdown after it that nobody accepted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from opsdebug_ci.model.profile_document import BoundBy
from opsdebug_ci.regress.change_points import Step, change_points
from opsdebug_ci.regress.covariate import Covariate, best_fit
from opsdebug_ci.regress.drift import Drift, find_drift
from opsdebug_ci.regress.prediction import FEWEST_RUNS, Prediction, predict
from opsdebug_ci.regress.ranks import Sample
from opsdebug_ci.regress.rule import CUT


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesHistory:
    """Comparable runs of a series, oldest first, and the newest one."""

    values: Sample
    """Shape (n,), finite: log of the median launch minimum of every stored run; log of ns per call."""

    newest: float
    """The same of the run that is looked at."""

    accepted: int = 0
    """How many of the stored runs a person has accepted the level of: those before the acceptance."""

    probes: Mapping[str, Sample] = field(default_factory=dict)
    """Probes by name, as `best_fit` takes them, for the stored runs; only such as the newest run has too."""

    newest_probes: Mapping[str, float] = field(default_factory=dict)
    """The same of the newest run."""

    bound: BoundBy | None = None
    """What the time of the series goes to; None: not known, and no probe is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesReading:
    """What they say."""

    steps: tuple[Step, ...]
    """Where the level changed, over all stored runs."""

    begin: int
    """Index of the first run of the baseline."""

    end: int
    """Index after its last run."""

    prediction: Prediction | None
    """Of the newest value; None: too few runs."""

    covariate: Covariate | None
    """Probe that helps to explain the series."""

    adjusted: float
    """The newest value as if that probe had taken its usual time; the value itself where none helps."""

    suspected: bool
    """The newest value is above the prediction, and by more than half the threshold above its centre."""

    drift: Drift | None
    """Slow drift since the baseline; indices count the newest run as the last of all."""


def read_series(history: SeriesHistory, threshold: float, chance: float) -> SeriesReading:
    """Read one series.

    Args:
        history: its runs.
        threshold: slowdown that needs a person, as a share.
        chance: of suspecting it falsely, in (0, 1/2).
    """
    steps = change_points(history.values)
    begin, end = baseline(steps, runs=int(history.values.size), accepted=history.accepted)
    if end - begin < FEWEST_RUNS:
        return SeriesReading(
            steps=steps,
            begin=begin,
            end=end,
            prediction=None,
            covariate=None,
            adjusted=history.newest,
            suspected=False,
            drift=None,
        )
    covariate = _covariate(history, begin, end)
    everything = _adjusted(history, covariate)
    prediction = predict(everything[begin:end], chance)
    newest = float(everything[-1])
    least = prediction.centre + CUT * math.log1p(threshold)
    return SeriesReading(
        steps=steps,
        begin=begin,
        end=end,
        prediction=prediction,
        covariate=covariate,
        adjusted=newest,
        suspected=newest > max(prediction.high, least),
        drift=_drift(everything, begin, threshold),
    )


def baseline(steps: Sequence[Step], *, runs: int, accepted: int) -> tuple[int, int]:
    """First run of the baseline, and the one after its last.

    A step down makes a new baseline only where it leads below the old one: after +10 % and -3 % the series is still 7 %
    slower than it was.

    Args:
        steps: changes of the level, oldest first.
        runs: how many runs there are.
        accepted: how many of them have a level that a person accepted.
    """
    begin, end, level = 0, runs, 0.0
    for step in steps:
        level += step.shift
        if level < 0 or step.first_after < accepted:
            begin, end, level = step.first_after, runs, 0.0
        elif end == runs:
            end = step.first_after
    return begin, end


def _covariate(history: SeriesHistory, begin: int, end: int) -> Covariate | None:
    if history.bound is None:
        return None
    probes = {name: values[begin:end] for name, values in history.probes.items() if name in history.newest_probes}
    return best_fit(history.bound, history.values[begin:end], probes)


def _adjusted(history: SeriesHistory, covariate: Covariate | None) -> Sample:
    everything = np.append(history.values, history.newest)
    if covariate is None:
        return everything
    name = covariate.probe
    return covariate.adjusted(everything, np.append(history.probes[name], history.newest_probes[name]))


def _drift(everything: Sample, begin: int, threshold: float) -> Drift | None:
    found = find_drift(everything[begin:], threshold)
    if found is None:
        return None
    return Drift(ratio=found.ratio, last_before=begin + found.last_before, first_after=begin + found.first_after)
