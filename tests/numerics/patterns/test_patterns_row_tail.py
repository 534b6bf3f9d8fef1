"""Ends of axes: remainders of blocks, last slices, corners, borders."""

from __future__ import annotations

from typing import Any

import pytest
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import row_tail

RIGHT = normal(40, 130)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ((..., slice(128, None)), "last 2 of 130 indices of axis 1; 130 % 4 = 2"),
        ((..., slice(127, None)), "last 3 of 130 indices of axis 1"),
        ((slice(-1, None),), "last of 40 indices of axis 0"),
        ((slice(0, 1),), "first of 40 indices of axis 0"),
        ((slice(32, None), slice(128, None)), "last 8 of 40 indices of axis 0 and the last 2 of 130 indices of axis 1"),
    ],
)
def test_an_end_is_named(where: Any, words: str) -> None:
    clue = only(row_tail, failing(replaced(RIGHT, where, 9.0), RIGHT))
    assert clue.cause is Cause.TAIL_MASK
    assert words in clue.statement


def test_a_border_of_two_axes_is_a_union() -> None:
    wrong = replaced(replaced(RIGHT, slice(-1, None), 9.0), (..., slice(-1, None)), 9.0)
    assert "axis 0 and the last of 130 indices of axis 1" in only(row_tail, failing(wrong, RIGHT)).statement


def test_a_remainder_is_surer_than_another_last_stretch() -> None:
    remainder = only(row_tail, failing(replaced(RIGHT, (..., slice(128, None)), 9.0), RIGHT))
    stretch = only(row_tail, failing(replaced(RIGHT, (..., slice(127, None)), 9.0), RIGHT))
    assert remainder.confidence == 0.85 > stretch.confidence


def test_three_elements_are_believed_when_they_are_a_whole_slice() -> None:
    right = normal(3, 17)
    assert causes(row_tail, failing(replaced(right, (..., 16), 9.0), right)) == [Cause.TAIL_MASK]


def test_what_the_elements_hold_is_told() -> None:
    argument = normal(40, 130, seed=1)
    wrong = replaced(RIGHT, (..., slice(128, None)), argument[:, 128:])
    assert "they hold the argument `x` unchanged" in only(row_tail, failing(wrong, RIGHT, x=argument)).statement


@pytest.mark.parametrize(
    "where",
    [
        (..., slice(60, 64)),  # in the middle
        (slice(15, None),),  # most of it
        (slice(0, 38, 19), slice(128, None)),  # two elements in two rows
        (..., slice(64, 128)),  # next to the end
    ],
)
def test_other_places_leave_it_silent(where: Any) -> None:
    assert causes(row_tail, failing(replaced(RIGHT, where, 9.0), RIGHT)) == []


def test_a_short_axis_stacks_different_things() -> None:
    right = normal(3, 64)
    assert causes(row_tail, failing(replaced(right, 2, 9.0), right)) == []
