"""Nights on which something else ran: values far from the rest, nearly always too long.

Decides how far they may pull. Deliberately removes none: what is cut out of a history cannot be counted in it.
"""

from __future__ import annotations

import numpy as np

from opsdebug_ci.regress.ranks import Sample
from opsdebug_ci.regress.scale import scatter

REACH = 3.0
"""Robust standard deviations beyond which a value counts as if it lay there. Of normal values 3 in 1000 do, which takes
half a percent off their standard deviation."""


def winsorised(values: Sample, reach: float = REACH) -> Sample:
    """`values` moved to within `reach` robust standard deviations of their median.

    Winsorising (Huber and Ronchetti, Robust Statistics, 2nd ed., section 1.3) with the scale of `scatter`.

    Args:
        values: shape (n,), n >= 2, finite.
        reach: limit, in robust standard deviations.

    Returns:
        Shape (n,), same unit.
    """
    centre = float(np.median(values))
    limit = reach * scatter(values)
    return np.clip(values, centre - limit, centre + limit)
