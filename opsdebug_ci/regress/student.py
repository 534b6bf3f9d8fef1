"""Student's t distribution: tail and quantile.

Decides how they are computed: by the regularised incomplete beta function of mpmath, so that no larger library is
needed for two numbers. Deliberately nothing about what they are used for.
"""

from __future__ import annotations

import functools

import mpmath

BISECTIONS = 60
"""Halvings of an interval of at most 2^40 that leave less than the spacing of float64 near 1."""

LARGEST = 2.0**40
"""Quantiles beyond it are not needed: at two runs and a chance of 1e-6 it is 3e5."""


def upper_tail(t: float, freedom: float) -> float:
    """P(T > t) for Student's t with `freedom` degrees of freedom.

    I_x(freedom / 2, 1 / 2) / 2 with x = freedom / (freedom + t^2) for t >= 0 (Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.7.1 and 26.5.27).
    """
    x = freedom / (freedom + t * t)
    half = float(mpmath.betainc(freedom / 2, 0.5, 0, x, regularized=True)) / 2
    return half if t >= 0 else 1 - half


@functools.cache
def upper_quantile(chance: float, freedom: float) -> float:
    """The t >= 0 that Student's t exceeds with this chance, 0 < chance <= 1/2; by bisection."""
    low, high = 0.0, 1.0
    while upper_tail(high, freedom) > chance and high < LARGEST:
        low, high = high, 2 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(middle, freedom) > chance else (low, middle)
    return (low + high) / 2
