"""Periods: lanes of vectors, edges of blocks, every n-th row."""

from __future__ import annotations

from typing import Any

import pytest
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import vector_lane

RIGHT = normal(48, 128)


@pytest.mark.parametrize(
    ("where", "period", "lanes", "cause"),
    [
        ((..., slice(3, None, 4)), 4, "3", Cause.TAIL_MASK),
        ((..., slice(0, None, 16)), 16, "0", Cause.TAIL_MASK),
        ((..., slice(1, None, 4)), 4, "1", Cause.LAYOUT_PERMUTATION),
        ((..., slice(1, None, 2)), 2, "1", Cause.LAYOUT_PERMUTATION),
        ((slice(2, None, 3),), 3, "2", Cause.TAIL_MASK),
    ],
)
def test_the_largest_lift_wins(where: Any, period: int, lanes: str, cause: Cause) -> None:
    clue = only(vector_lane, failing(replaced(RIGHT, where, 9.0), RIGHT))
    assert (clue.evidence["period"], clue.evidence["lanes"], clue.cause) == (period, lanes, cause)


def test_several_lanes_of_a_vector() -> None:
    right = normal(20, 64)
    wrong = right.clone()
    wrong.view(20, 8, 8)[..., 4:] = 0.0
    clue = only(vector_lane, failing(wrong, right))
    assert (clue.evidence["period"], clue.evidence["lanes"]) == (8, "4, 5, 6, 7")


def test_flat_outputs_have_lanes_too() -> None:
    right = normal(1001)
    assert only(vector_lane, failing(replaced(right, slice(7, None, 8), 9.0), right)).evidence["period"] == 8


@pytest.mark.parametrize("where", [(..., 5), (..., slice(64, None)), (..., slice(3, 64, 4)), (slice(None, None, 17),)])
def test_no_period_leaves_it_silent(where: Any) -> None:
    assert causes(vector_lane, failing(replaced(RIGHT, where, 9.0), RIGHT)) == []


def test_values_with_the_same_period_leave_it_silent() -> None:
    large = replaced(RIGHT, slice(1, None, 4), RIGHT[1::4] * 100)
    wrong = replaced(large, slice(1, None, 4), large[1::4] + 1)
    assert causes(vector_lane, failing(wrong, large, x=large)) == []
    assert causes(vector_lane, failing(wrong, large)) == [Cause.LAYOUT_PERMUTATION]
