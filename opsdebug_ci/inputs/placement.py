"""Where special values go among ordinary ones: few, at places that depend on the seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from opsdebug_ci.inputs.recipe import Recipe

ELEMENT_SHARE = 16
"""At most one element in 16 is special (one in a smaller tensor), so that most outputs stay comparable."""

ELEMENTS_PER_SPECIAL = 4
"""At most as many elements per special value however large the tensor, so that most rows hold none."""

ROW_SHARE = 4
"""At most one row in four is special."""

ROWS_PER_SPECIAL = 2
"""At most as many rows per special value."""

Values = npt.NDArray[Any]


def place_elements(recipe: Recipe, values: Values, specials: Sequence[float]) -> Values:
    """Flat `values` with `specials` in turn at random places; the first of them depends on the seed.

    One of each when there are at least 16 elements per special value.
    """
    most = len(specials) * ELEMENTS_PER_SPECIAL
    number = min(most, max(1, recipe.count // ELEMENT_SHARE)) if recipe.count else 0
    places = recipe.stream.part("places").permutation(recipe.count)[:number]
    placed: Values = values.copy()
    placed[places] = _in_turn(recipe, values, specials, number)
    return placed


def place_rows(recipe: Recipe, values: Values, specials: Sequence[float]) -> Values:
    """Flat `values` with whole rows of one special value each.

    One of each when there are at least four rows per special value. A tensor of one row becomes special on every
    other seed only: as a weight or a bias it would leave nothing else to see.
    """
    if recipe.rows == 1:
        number = int(recipe.stream.part("number").integers(1, 0, 1)[0])
    else:
        number = min(len(specials) * ROWS_PER_SPECIAL, max(1, recipe.rows // ROW_SHARE)) if recipe.rows else 0
    rows = recipe.stream.part("places").permutation(recipe.rows)[:number]
    placed: Values = values.copy().reshape(recipe.rows, recipe.width)
    placed[rows] = _in_turn(recipe, values, specials, number)[:, np.newaxis]
    return placed.reshape(-1)


def _in_turn(recipe: Recipe, values: Values, specials: Sequence[float], number: int) -> Values:
    first = int(recipe.stream.part("turn").integers(1, 0, len(specials) - 1)[0])
    return np.array([specials[(first + i) % len(specials)] for i in range(number)], dtype=values.dtype)
