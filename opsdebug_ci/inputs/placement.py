"""Where special values go among ordinary ones.

Decides places: few and up to the seed for single specials and whole rows; the same for every seed for what belongs at
the ends of rows and blocks.
"""

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

BLOCKS = (8, 16, 32, 64, 128)
"""Widths of vectors and tiles beside whose borders `edges` puts its large value."""

EDGE_STEPS = 16
"""Neighbouring rows of `edges` differ in their large value; after as many rows it repeats."""

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


def edge_columns(width: int) -> tuple[int, ...]:
    """Columns a mask gets wrong: the last, the first, then the two beside every border of `BLOCKS` inside the row."""
    borders = (column for block in BLOCKS for column in (block - 1, block))
    return tuple(dict.fromkeys((width - 1, 0, *(column for column in borders if column < width))))


def place_at_edges(recipe: Recipe, values: Values, heights: Values) -> Values:
    """Flat `values` with one large value per row, in the columns of `edge_columns` in turn from the first row on.

    After every column has had one, the next round of rows has it negative, and so on.
    """
    placed: Values = values.copy().reshape(recipe.rows, recipe.width)
    if placed.size:
        columns = edge_columns(recipe.width)
        rows = np.arange(recipe.rows)
        signs = 1 - 2 * (rows // len(columns) % 2)
        placed[rows, np.array(columns)[rows % len(columns)]] = signs * heights
    return placed.reshape(-1)


def mask_rows(recipe: Recipe) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Flat: which elements are hidden, and which hidden ones are NaN instead where the format has it.

    Rows in turn: the first half hidden, all but the last element, the second half, everything with one NaN in it. The
    only row, such as a bias of scores, is the second: it leaves every row it is added to fewer than are looked for.
    """
    rows, columns = np.arange(recipe.rows)[:, np.newaxis], np.arange(recipe.width)[np.newaxis, :]
    rows = rows + (recipe.rows == 1)
    middle, turn = (recipe.width + 1) // 2, rows % 4
    hidden = np.select(
        [turn == 0, turn == 1, turn == 2],
        [columns < recipe.width // 2, columns < recipe.width - 1, columns >= middle],
        default=True,
    )
    lost = (turn == 3) & (columns == rows % max(1, recipe.width))
    return hidden.reshape(-1), lost.reshape(-1)


def _in_turn(recipe: Recipe, values: Values, specials: Sequence[float], number: int) -> Values:
    first = int(recipe.stream.part("turn").integers(1, 0, len(specials) - 1)[0])
    return np.array([specials[(first + i) % len(specials)] for i in range(number)], dtype=values.dtype)
