"""How well so many of so many tells a share.

Decides the interval. Knows nothing about what is counted.
"""

from __future__ import annotations

import math

from opsdebug_ci.model.selftest import Rate

Z = 1.959963984540054
"""97.5 % quantile of the standard normal distribution: a two-sided interval of 95 %."""


def wilson(count: int, of: int) -> Rate:
    """The Wilson score interval of a binomial share (Wilson, J. Amer. Statist. Assoc. 22(158), 1927, pp. 209-212).

    (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n) with p = count / n. Unlike p +- z sqrt(p(1-p)/n) it does
    not shrink to a point where nothing, or everything, was counted: 0 of 1,000 has the upper end 0.38 %.

    Args:
        count: how many, from 0 to `of`.
        of: how many independent trials; 0 leaves the whole range from 0 to 1.
    """
    if of == 0:
        return Rate(count=0, of=0, low=0.0, high=1.0)
    share = count / of
    centre = share + Z**2 / (2 * of)
    reach = Z * math.sqrt(share * (1 - share) / of + Z**2 / (4 * of**2))
    scale = 1 + Z**2 / of
    low = 0.0 if count == 0 else (centre - reach) / scale  # exactly 0 and 1 at the ends, without rounding
    high = 1.0 if count == of else (centre + reach) / scale
    return Rate(count=count, of=of, low=low, high=high)
