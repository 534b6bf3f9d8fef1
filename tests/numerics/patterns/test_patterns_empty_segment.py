"""Rows to which nothing belongs, which are marked, or which several write."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal, only, replaced, whole

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import empty_segment

RIGHT = normal(6, 20)
X = normal(12, 20, seed=1)
LENGTHS = torch.tensor([4, 0, 5, 0, 1, 2])
OFFSETS = torch.tensor([0, 4, 4, 9, 9, 10, 12])
IDS = torch.tensor([0, 0, 0, 0, 2, 2, 2, 2, 2, 4, 5, 5])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": LENGTHS}, "where `n` is 0: empty segments"),
        ({"offsets": OFFSETS}, "where `offsets` does not grow"),
        ({"offsets": OFFSETS[:-1]}, "where `offsets` does not grow"),
        ({"ids": IDS}, "that no entry of `ids` names"),
    ],
)
def test_empty_segments(arguments: dict[str, torch.Tensor], words: str) -> None:
    clue = only(empty_segment, failing(replaced(RIGHT, LENGTHS == 0, 1e9), RIGHT, x=X, **arguments))
    assert clue.cause is Cause.EMPTY_OR_ZERO_DIM
    assert words in clue.statement


def test_rows_that_several_write() -> None:
    wrong = replaced(RIGHT, torch.tensor([0, 2, 5]), RIGHT[[0, 2, 5]] + 1)
    assert causes(empty_segment, failing(wrong, RIGHT, x=X, ids=IDS)) == [Cause.NONDETERMINISM_RACE]


def test_rows_of_one_value_are_marked() -> None:
    tokens = whole(0, 9, 50)
    right = normal(50, 8)
    clue = only(empty_segment, failing(replaced(right, tokens == 3, 0.0), right, tokens=tokens))
    assert clue.cause is Cause.MASK_SEMANTICS
    assert "where `tokens` is 3" in clue.statement


def test_markers_beside_a_result_over_everything_are_a_hint() -> None:
    targets = torch.tensor([3, -100, 5, 1, -100])
    clue = only(empty_segment, failing(torch.tensor(1.5), torch.tensor(1.2), t=targets))
    assert (clue.cause, clue.confidence) == (Cause.MASK_SEMANTICS, 0.55)
    assert "2 of 5 entries of `t` are -100" in clue.statement


@pytest.mark.parametrize("rows", [[1], [0, 1], [1, 3, 4], [4, 5]])
def test_other_rows_leave_it_silent(rows: list[int]) -> None:
    wrong = replaced(RIGHT, torch.tensor(rows), 7.0)
    assert causes(empty_segment, failing(wrong, RIGHT, x=X, n=LENGTHS, offsets=OFFSETS, ids=IDS)) == []


def test_a_result_without_markers_leaves_it_silent() -> None:
    assert causes(empty_segment, failing(torch.tensor(1.5), torch.tensor(1.2), t=torch.tensor([3, 5, 1]))) == []
