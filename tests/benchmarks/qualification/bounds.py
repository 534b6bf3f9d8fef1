"""Exact bounds of a rate, from counts.

Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26
(1934), doi:10.1093/biomet/26.4.404: the upper bound is the rate at which so few events have probability alpha, the
lower one the rate at which so many have. Assumes independent trials of one rate, which operators of one round are not
quite: the summary gives counts of rounds beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

ALPHA = 0.05
"""One-sided: the bound holds in 95 of 100 experiments."""

HALVINGS = 60
"""Of the interval from 0 to 1: to less than the rounding of a float64."""


def upper(events: int, trials: int) -> float:
    """Rate that is not exceeded."""
    if events == trials:
        return 1.0
    return _crossing(lambda rate: _at_most(events, trials, rate) > ALPHA)


def lower(events: int, trials: int) -> float:
    """Rate that is reached."""
    return 1.0 - upper(trials - events, trials)


def _at_most(events: int, trials: int, rate: float) -> float:
    """Probability of no more than `events`."""
    terms = (math.comb(trials, k) * rate**k * (1.0 - rate) ** (trials - k) for k in range(events + 1))
    return math.fsum(terms)


def _crossing(below: Callable[[float], bool]) -> float:
    """The rate at which `below`, which falls, turns false."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return high
