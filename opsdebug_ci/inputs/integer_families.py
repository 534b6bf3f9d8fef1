"""The families read for integer and bool dtypes: flat int64 values inside the dtype's range.

Each function is one family's sense where there are no fractions, NaN or infinities. Unsigned dtypes get magnitudes;
bool gets the lowest bit, so that a family's structure stays visible as a pattern of truth values.
"""

from __future__ import annotations

import numpy as np

from opsdebug_ci.inputs.float_families import INTEGER_LIMIT
from opsdebug_ci.inputs.generator import Whole
from opsdebug_ci.inputs.placement import EDGE_STEPS, mask_rows, place_at_edges, place_elements, place_rows
from opsdebug_ci.inputs.recipe import Recipe

DEVIATION = 16.0
"""Standard deviation of `normal`: within +-56, so that int8 holds every value."""

UNIFORM_MAXIMUM = 99
"""Largest value of `uniform`: sums of int8 stay readable."""

EDGE_HEIGHT = 100
"""Least magnitude of the one large value in a row of `edges`: above every value of `normal`."""

LEVELS = (0, -100, 100, -12)
"""Means of the rows of `levels`."""


def normal(recipe: Recipe) -> Whole:
    """Whole numbers around 0 with deviation `DEVIATION`."""
    return _within(recipe, _bell(recipe, DEVIATION))


def uniform(recipe: Recipe) -> Whole:
    """Whole numbers from 0 to `UNIFORM_MAXIMUM`, equally likely."""
    return _within(recipe, recipe.stream.integers(recipe.count, 0, UNIFORM_MAXIMUM))


def shifted(recipe: Recipe) -> Whole:
    """30 plus a bell of deviation 8: all positive, 2 to 58."""
    return _within(recipe, _bell(recipe, 8.0) + 30)


def heavy(recipe: Recipe) -> Whole:
    """Cubes of whole numbers up to 5: mostly 0 and 1, seldom 125."""
    base = np.clip(_bell(recipe, 1.5), -5, 5)
    return _within(recipe, base * base * base)


def constant(recipe: Recipe) -> Whole:
    """1 everywhere."""
    return np.ones(recipe.count, dtype=np.int64)


def cancelling(recipe: Recipe) -> Whole:
    """Neighbours whose sum is zero modulo the dtype's size; the last of an odd row is 0; rows of one: normal."""
    if recipe.width < 2:
        return normal(recipe)
    pairs = recipe.width // 2
    halves = np.rint(recipe.stream.normal(recipe.rows * pairs) * DEVIATION).astype(np.int64).reshape(-1, pairs)
    values = np.zeros((recipe.rows, recipe.width), dtype=np.int64)
    values[:, 0 : 2 * pairs : 2] = halves
    values[:, 1 : 2 * pairs : 2] = -halves
    form = recipe.integer_format
    return (values if form.minimum < 0 else values % (form.maximum + 1)).reshape(-1)


def large(recipe: Recipe) -> Whole:
    """The dtype's limits and their neighbours."""
    low, high = _limits(recipe)
    limits = np.array([low, low + 1, high - 1, high], dtype=np.int64)
    return limits[recipe.stream.integers(recipe.count, 0, 3)]


def small(recipe: Recipe) -> Whole:
    """-1, 0 and 1."""
    return _within(recipe, recipe.stream.integers(recipe.count, -1, 1))


def subnormal(recipe: Recipe) -> Whole:
    """The smallest magnitude there is: 1, half of each sign."""
    return _within(recipe, 1 - 2 * (recipe.stream.part("signs").permutation(recipe.count) % 2))


def integer(recipe: Recipe) -> Whole:
    """Whole numbers of at most `INTEGER_LIMIT`, of either sign, equally likely."""
    return _within(recipe, recipe.stream.integers(recipe.count, -INTEGER_LIMIT, INTEGER_LIMIT))


def index_coded(recipe: Recipe) -> Whole:
    """Flat index modulo the number of values that are not negative."""
    indices = np.arange(recipe.count, dtype=np.int64)
    high = recipe.integer_format.maximum
    return indices if recipe.count <= high else indices % (high + 1)


def ties(recipe: Recipe) -> Whole:
    """Five values only."""
    return _within(recipe, recipe.stream.integers(recipe.count, -2, 2))


def signed_zeros(recipe: Recipe) -> Whole:
    """Zeros at half of the places; integers have only one zero."""
    values = normal(recipe)
    values[recipe.stream.part("places").permutation(recipe.count) % 2 == 0] = 0
    return values


def specials(recipe: Recipe) -> Whole:
    """Single extreme values and zeros."""
    return place_elements(recipe, normal(recipe), (*_limits(recipe), 0))


def special_rows(recipe: Recipe) -> Whole:
    """Whole rows of the extreme values and of 0."""
    return place_rows(recipe, normal(recipe), (*_limits(recipe), 0))


def near_constant(recipe: Recipe) -> Whole:
    """100 and its neighbours."""
    return _within(recipe, recipe.stream.integers(recipe.count, 99, 101))


def thresholds(recipe: Recipe) -> Whole:
    """Powers of two and their neighbours, as far as the dtype goes, half of either sign: widths, 2**24, 2**53."""
    low, high = _limits(recipe)
    exponents = recipe.stream.integers(recipe.count, 0, max(0, high.bit_length() - 1))
    beside = recipe.stream.part("beside").integers(recipe.count, -1, 1)
    values = np.left_shift(np.int64(1), exponents) + beside
    return _within(
        recipe, values if low == 0 else values * (1 - 2 * recipe.stream.part("signs").integers(recipe.count, 0, 1))
    )


def halves(recipe: Recipe) -> Whole:
    """Odd numbers, of which halving must round."""
    return _within(recipe, 2 * recipe.stream.integers(recipe.count, -INTEGER_LIMIT, INTEGER_LIMIT) + 1)


def edges(recipe: Recipe) -> Whole:
    """One value far above, or below, the others of its row, where `edge_columns` says; bool: the only true one."""
    if recipe.integer_format.maximum == 1:
        return place_at_edges(recipe, np.zeros(recipe.count, dtype=np.int64), np.ones(recipe.rows, dtype=np.int64))
    return _within(recipe, place_at_edges(recipe, normal(recipe), EDGE_HEIGHT + np.arange(recipe.rows) % EDGE_STEPS))


def masked(recipe: Recipe) -> Whole:
    """The lowest value where `mask_rows` hides an element."""
    hidden, _ = mask_rows(recipe)
    return np.where(hidden, recipe.integer_format.minimum, normal(recipe))


def levels(recipe: Recipe) -> Whole:
    """A few whole numbers around 0, -100, 100 and -12, row by row in turn; the only row is around -100."""
    turn = (np.arange(recipe.rows) + (recipe.rows == 1)) % len(LEVELS)
    narrow = recipe.stream.integers(recipe.count, -8, 8).reshape(recipe.rows, recipe.width)
    return _within(recipe, (narrow + np.array(LEVELS)[turn, np.newaxis]).reshape(-1))


def _limits(recipe: Recipe) -> tuple[int, int]:
    return recipe.integer_format.minimum, recipe.integer_format.maximum


def _bell(recipe: Recipe, deviation: float) -> Whole:
    return np.rint(recipe.stream.normal(recipe.count) * deviation).astype(np.int64)


def _within(recipe: Recipe, values: Whole) -> Whole:
    low, high = _limits(recipe)
    magnitudes = values if low < 0 else np.abs(values)
    return magnitudes & 1 if high == 1 else magnitudes
