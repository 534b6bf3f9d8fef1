"""Places that a mask, a length or the diagonal describes."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import mask_region

X = normal(24, 24)
MASK = normal(24, 24, seed=1) > 1
ROWS = normal(24, seed=2) > 1
BLOCKED = replaced(replaced(normal(24, 16, seed=3) > 0, 5, False), 11, False)
RAGGED = normal(4, 10, 6)
ENDS = torch.tensor([5, 9, 2, 7])
PLACES = torch.arange(10)
COLUMN_MINUS_ROW = torch.arange(24) - torch.arange(24)[:, None]


def within(where: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """`right` with something else `where`."""
    return torch.where(where, right + 3, right)


@pytest.mark.parametrize(
    ("where", "right", "arguments", "words"),
    [
        (MASK, X, {"m": MASK}, "where `m` is true"),
        (~MASK, X, {"m": MASK}, "where `m` is false"),
        (ROWS.expand(24, 24), X, {"m": ROWS}, "where `m` is true"),
        (~BLOCKED.any(-1)[:, None].expand(24, 24), X, {"m": BLOCKED}, "of rows where `m` is false throughout"),
        ((ENDS[:, None] <= PLACES)[..., None], RAGGED, {"n": ENDS}, "at or behind the length that `n` gives"),
        ((ENDS[:, None] - 1 == PLACES)[..., None], RAGGED, {"n": ENDS}, "at the last inside the length that `n` gives"),
        ((ENDS[:, None] == PLACES)[..., None], RAGGED, {"n": ENDS}, "at the first outside the length"),
        (COLUMN_MINUS_ROW == 1, X, {}, "on the diagonal where column - row = 1"),
        (COLUMN_MINUS_ROW > 3, X, {}, "where column - row >= 4"),
        (COLUMN_MINUS_ROW < 0, X, {}, "where column - row <= -1"),
    ],
)
def test_the_place_is_described(
    where: torch.Tensor, right: torch.Tensor, arguments: dict[str, torch.Tensor], words: str
) -> None:
    clue = only(mask_region, failing(within(where, right), right, **arguments))
    assert clue.cause is Cause.MASK_SEMANTICS
    assert words in clue.statement


def test_a_mask_that_runs_along_the_other_axis() -> None:
    wrong, right = X.masked_fill(ROWS[:, None], -9.0), X.masked_fill(ROWS, -9.0)
    assert causes(mask_region, failing(wrong, right, m=ROWS)) == [Cause.BROADCASTING]


@pytest.mark.parametrize(
    "where",
    [
        (slice(12, None),),
        (..., slice(None, 6)),
        (slice(1, None),),
        (slice(None, None, 2), slice(None, None, 2)),
        (slice(3, 9), slice(4, 20)),
    ],
)
def test_rectangles_leave_it_silent(where: object) -> None:
    assert causes(mask_region, failing(replaced(X, where, 9.0), X, m=MASK, n=torch.arange(24))) == []
