"""The families aimed at one defect each, for floating-point dtypes: flat float64 values, as in `float_families`.

Decides values at which a wrong branch, rounding, mask or variance is as large as it gets, and a correct operator is
still well conditioned: nothing here lies where a textbook formula over- or underflows in its compute format.
"""

from __future__ import annotations

import numpy as np

from opsdebug_ci.inputs.float_families import normal
from opsdebug_ci.inputs.generator import Real
from opsdebug_ci.inputs.placement import EDGE_STEPS, mask_rows, place_at_edges
from opsdebug_ci.inputs.recipe import Recipe
from opsdebug_ci.model.vocabulary import Kind, ValueDomain

NEARNESS = 2.0**-10
"""Relative deviation of `near_constant`: x**2 loses 20 bits in a one-pass variance, and 1e-6 lies between epsilons."""

BRANCH_POINTS = (0.25, 0.5, 0.625, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 11.0, 12.0, 16.0, 20.0, 86.0)
"""Where implementations change formula: hard-sigmoid, ReLU6, tanh and erf tails, exp in float16 (overflows at 11.09),
softplus (20), exp in float32: it overflows at 88.72 and its reciprocal is subnormal below -87.33, so 86 with the
widest step below stays inside."""

COARSE_STEP = 2.0**-7
"""Relative distance of the outer neighbours of a branch point; the inner ones are at one or two units in last place."""

HALVES_LIMIT = 80
"""Most whole units of `halves`: exp of their negative is a normal float32."""

CODES_LIMIT = 160
"""The same for codes, which leave room for no formula but rounding: past +-128, where signed bytes saturate."""

HALVES_SCALES = 3
"""`halves` come in units of 1, 1/2, 1/4 by row; so do divisors by element, so that row and divisor agree by row."""

EDGE_HEIGHT = 16.0
"""Least magnitude of the one large value in a row of `edges`: e**-16 of it is left of another in a softmax."""

LEVELS = (0.0, -120.0, 120.0, -12.0)
"""Means of the rows of `levels`: e**-120 is 0 in float32, and nothing lies where it is subnormal."""


def near_constant(recipe: Recipe) -> Real:
    """1 with a deviation of `NEARNESS`, or of two units in the last place of a narrower format."""
    return 1.0 + max(NEARNESS, 2.0 ** (2 - recipe.float_format.precision)) * normal(recipe)


def thresholds(recipe: Recipe) -> Real:
    """`BRANCH_POINTS` of either sign: on the point, just below and above it, and a step further."""
    last_place = 2.0 ** (1 - recipe.float_format.precision)
    steps = np.array((0.0, last_place, -last_place, COARSE_STEP, -COARSE_STEP))
    points = np.array(BRANCH_POINTS)[recipe.stream.integers(recipe.count, 0, len(BRANCH_POINTS) - 1)]
    factors = 1.0 + steps[recipe.stream.part("steps").integers(recipe.count, 0, len(steps) - 1)]
    signs = 1.0 - 2.0 * recipe.stream.part("signs").integers(recipe.count, 0, 1)
    values: Real = signs * points * factors
    return values


def halves(recipe: Recipe) -> Real:
    """Odd multiples of one half in units of 1, 1/2 or 1/4 by row, all exact; a divisor is such a unit by element.

    A divisor is an argument that must not be zero, or one number per row. Divided by a divisor of their unit the
    values lie halfway between two whole numbers, and multiplying by its reciprocal is exact too.
    """
    if recipe.domain in (ValueDomain.NONZERO, ValueDomain.POSITIVE) or recipe.width == 1:
        return _units(recipe.count)
    most = CODES_LIMIT if recipe.kind is Kind.QUANTIZE else HALVES_LIMIT
    limit = min(most, 2 ** (recipe.float_format.precision - 1) - 1)
    odd = (2 * recipe.stream.integers(recipe.count, -limit, limit) + 1).reshape(recipe.rows, recipe.width)
    values: Real = (0.5 * odd * _units(recipe.rows)[:, np.newaxis]).reshape(-1)
    return values


def _units(count: int) -> Real:
    units: Real = np.ldexp(1.0, -(np.arange(count) % HALVES_SCALES))
    return units


def edges(recipe: Recipe) -> Real:
    """Normal, with one value of 16 to 31 or the negative of one in every row, where `place_at_edges` puts it."""
    heights = EDGE_HEIGHT + np.arange(recipe.rows) % EDGE_STEPS
    values: Real = place_at_edges(recipe, normal(recipe), heights)
    return values


def masked(recipe: Recipe) -> Real:
    """Normal, with -inf and a few NaN where `mask_rows` says: scores behind a mask."""
    hidden, lost = mask_rows(recipe)
    values: Real = np.where(hidden, -np.inf, normal(recipe))
    values[lost] = np.nan
    return values


def levels(recipe: Recipe) -> Real:
    """Normal values around `LEVELS`, row by row in turn; the only row is the second, which is all negative."""
    turn = (np.arange(recipe.rows) + (recipe.rows == 1)) % len(LEVELS)
    values: Real = (normal(recipe).reshape(recipe.rows, recipe.width) + np.array(LEVELS)[turn, np.newaxis]).reshape(-1)
    return values
