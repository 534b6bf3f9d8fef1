"""Where copies come from."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal, only, replaced, whole

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import source_index

X = normal(50, 64)
TABLE = normal(200, 8)
IDS = whole(0, 190, 40)
LONG = normal(70_000)


@pytest.mark.parametrize(
    ("wrong", "right", "cause", "words"),
    [
        (X.roll(5, 0), X, Cause.LAYOUT_PERMUTATION, "whole slices of axis 0 have changed places"),
        (replaced(X, slice(10, None), X[5:45]), X, Cause.STRIDE_VIEW, "the one 320 elements (5 rows) before"),
        (X[17].expand(50, 64), X, Cause.BROADCASTING, "index 17 of axis 0 stands for all"),
        (
            replaced(LONG, slice(32_768, 65_536), LONG[:32_768]),
            LONG,
            Cause.INDEX_OVERFLOW,
            "the one 32,768 elements before",
        ),
        (LONG[torch.arange(70_000) % 2**15], LONG, Cause.INDEX_OVERFLOW, "multiples of 2**15 elements off"),
    ],
)
def test_copies_of_the_right_output(wrong: torch.Tensor, right: torch.Tensor, cause: Cause, words: str) -> None:
    clue = only(source_index, failing(wrong.contiguous(), right))
    assert clue.cause is cause
    assert words in clue.statement


def test_copies_of_an_argument() -> None:
    clue = only(source_index, failing(TABLE[IDS + 3], TABLE[IDS], table=TABLE, ids=IDS))
    assert clue.cause is Cause.STRIDE_VIEW
    assert "`table`: each is the one 24 elements (3 rows) further on" in clue.statement


def test_another_stride_is_a_straight_line() -> None:
    places = torch.arange(60)
    table = normal(400)
    clue = only(source_index, failing(table[places * 6], table[places * 5], table=table))
    assert clue.cause is Cause.STRIDE_VIEW
    assert "source = 1.2 x place" in clue.statement


@pytest.mark.parametrize(
    "wrong",
    [X + normal(50, 64, seed=1), X * 2, torch.zeros_like(X), normal(50, 64, seed=2)],
    ids=["noise", "factor", "zeros", "other numbers"],
)
def test_other_errors_leave_it_silent(wrong: torch.Tensor) -> None:
    assert causes(source_index, failing(wrong, X, x=X)) == []


def test_values_that_occur_often_have_no_source() -> None:
    right = whole(0, 5, 50, 64)
    assert causes(source_index, failing(right.roll(1, 0), right)) == []
