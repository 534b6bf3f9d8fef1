"""The families for floating-point dtypes: flat float64 values, before their one rounding to the dtype.

Each function is one family; `FAMILY_TRAITS` says what each is for.
"""

from __future__ import annotations

import numpy as np

from opsdebug_ci.inputs.generator import UNIFORM_BITS, Real
from opsdebug_ci.inputs.magnitude import large_exponent
from opsdebug_ci.inputs.placement import place_elements, place_rows
from opsdebug_ci.inputs.recipe import Recipe

SHIFT = 30.0
"""Mean of `shifted`: 30 standard deviations, so x**2 loses 2 * log2(30), about 10 bits, in a one-pass variance."""

STAGNATION = 0.1
"""Value of `constant`: not a binary fraction, so serial sums in a narrow accumulator stagnate."""

SMALL_SCALE = 2.0**-10
"""Standard deviation of `small`: its variance, about 1e-6, lies between the epsilons people confuse (1e-5, 1e-6)."""

INTEGER_LIMIT = 32
"""Largest magnitude of `integer`: sums of up to 2**14 products are below 2**24, hence exact in float32."""

MIDPOINTS = (-2.5, -1.5, -0.5, 0.0, 0.5, 1.0, 1.5, 2.5)
"""Values of `ties`: halves, on which rounding to whole numbers must decide; exact in every format (3 bits)."""


def normal(recipe: Recipe) -> Real:
    """Standard normal values."""
    return recipe.stream.normal(recipe.count)


def uniform(recipe: Recipe) -> Real:
    """[0, 1) before rounding, with as many bits as the dtype keeps but not fewer than 24."""
    return recipe.stream.uniform(recipe.count, max(UNIFORM_BITS, recipe.float_format.precision))


def shifted(recipe: Recipe) -> Real:
    """Normal values around `SHIFT`: a mean that is far larger than the deviation."""
    return normal(recipe) + SHIFT


def heavy(recipe: Recipe) -> Real:
    """Cubes of normal values: a few large ones among many small."""
    values = normal(recipe)
    return values * values * values


def constant(recipe: Recipe) -> Real:
    """`STAGNATION` everywhere: running sums of it stop growing early in a narrow accumulator."""
    return np.full(recipe.count, STAGNATION)


def cancelling(recipe: Recipe) -> Real:
    """Neighbours +v, -v along each row; the last element of an odd row is 0. Rows of one element hold no pair: normal.

    Rounding is symmetric, so the pairs still cancel in the dtype.
    """
    if recipe.width < 2:
        return normal(recipe)
    pairs = recipe.width // 2
    halves = recipe.stream.normal(recipe.rows * pairs).reshape(recipe.rows, pairs)
    values = np.zeros((recipe.rows, recipe.width))
    values[:, 0 : 2 * pairs : 2] = halves
    values[:, 1 : 2 * pairs : 2] = -halves
    return values.reshape(-1)


def large(recipe: Recipe) -> Real:
    """Magnitudes in (m/2, m] with random signs; `magnitude` derives m."""
    share = 1.0 - 0.5 * recipe.stream.uniform(recipe.count)
    signs = 1.0 - 2.0 * recipe.stream.part("signs").integers(recipe.count, 0, 1)
    return signs * share * 2.0 ** large_exponent(recipe)


def small(recipe: Recipe) -> Real:
    """Normal with deviation 2**-10, or twice the smallest normal number of a format that hardly reaches down there."""
    return normal(recipe) * max(SMALL_SCALE, 2.0 * recipe.float_format.min_normal)


def subnormal(recipe: Recipe) -> Real:
    """Non-zero multiples of the smallest subnormal number, half of each sign."""
    form = recipe.float_format
    multiples = recipe.stream.integers(recipe.count, 1, 2 ** (form.precision - 1) - 1)
    signs = 1 - 2 * (recipe.stream.part("signs").permutation(recipe.count) % 2)
    return (signs * multiples).astype(np.float64) * form.min_subnormal


def integer(recipe: Recipe) -> Real:
    """Whole numbers up to 32, or as far as the format holds all of them."""
    limit = min(INTEGER_LIMIT, 2**recipe.float_format.precision)
    return recipe.stream.integers(recipe.count, -limit, limit).astype(np.float64)


def index_coded(recipe: Recipe) -> Real:
    """Flat index modulo 2**p, below which the format holds every whole number."""
    indices: Real = np.arange(recipe.count, dtype=np.float64)
    return indices % 2.0**recipe.float_format.precision


def ties(recipe: Recipe) -> Real:
    """Values from `MIDPOINTS`, which rounding to the nearest whole number must break evenly."""
    values: Real = np.array(MIDPOINTS)[recipe.stream.integers(recipe.count, 0, len(MIDPOINTS) - 1)]
    return values


def signed_zeros(recipe: Recipe) -> Real:
    """Zeros of either sign at a quarter of the places each, at random; +0 throughout a quarter of the rows.

    A row of both signs would ask which zero is the larger, which nobody specifies. The only row, such as a weight or a
    bias, keeps its other values.
    """
    values = normal(recipe)
    order = recipe.stream.part("places").permutation(recipe.count)
    values[order % 4 == 0] = 0.0
    values[order % 4 == 1] = -0.0
    rows = values.reshape(recipe.rows, recipe.width)
    empty = recipe.stream.part("rows").permutation(recipe.rows) % 4 == 0
    rows[empty & (recipe.rows > 1)] = 0.0
    return rows.reshape(-1)


def specials(recipe: Recipe) -> Real:
    """Single NaN, +inf, -inf, +0, -0; a format without infinities gets its largest finite values instead."""
    return place_elements(recipe, normal(recipe), (np.nan, np.inf, -np.inf, 0.0, -0.0))


def special_rows(recipe: Recipe) -> Real:
    """Whole rows of NaN, -inf, +inf, 0; infinities as in `specials`."""
    return place_rows(recipe, normal(recipe), (np.nan, -np.inf, np.inf, 0.0))
