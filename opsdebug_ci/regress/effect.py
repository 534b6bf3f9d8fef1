"""The effect of a change on one series, from the launches of two arms.

Decides what is estimated: the shift of the logarithms of launch minima. The launch is the unit of replication, since
code and data lie where they lie for as long as a process lives; samples of one process only find its minimum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from opsdebug_ci.model.speed import Effect, LaunchTime
from opsdebug_ci.regress.ranks import Sample, probability_larger, shift
from opsdebug_ci.regress.scale import detectable, standard_error


def effect_of(base: Sequence[LaunchTime], head: Sequence[LaunchTime]) -> Effect:
    """The effect by launches of both arms, at least two each."""
    first, second = _logs(base), _logs(head)
    moved = shift(first, second)
    tenths = shift(_logs(base, tenth=True), _logs(head, tenth=True))
    return Effect(
        ratio=math.exp(moved.estimate),
        low=math.exp(moved.low),
        high=math.exp(moved.high),
        p_slower=probability_larger(first, second),
        p_faster=probability_larger(second, first),
        tenth_ratio=math.exp(tenths.estimate),
        detectable=detectable(standard_error(first, second)),
        launches=min(len(base), len(head)),
    )


def _logs(launches: Sequence[LaunchTime], *, tenth: bool = False) -> Sample:
    return np.log([launch.p10_ns if tenth else launch.min_ns for launch in launches])
