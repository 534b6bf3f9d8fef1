"""Whole slices."""

from __future__ import annotations

from typing import Any

import pytest
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import bad_slice

RIGHT = normal(4, 64, 9)


@pytest.mark.parametrize(
    ("where", "value", "cause", "words"),
    [
        ((slice(None), 5), 0.0, Cause.UNINITIALISED, "axis 1 is wrong throughout at 1 of 64 indices (5)"),
        ((slice(None), [3, 9, 40]), 7.0, Cause.UNKNOWN, "axis 1 is wrong throughout at 3 of 64 indices (3, 9, 40)"),
        ((2,), 7.0, Cause.UNKNOWN, "axis 0 is wrong throughout at 1 of 4 indices (2)"),
    ],
)
def test_the_slices_are_told(where: Any, value: float, cause: Cause, words: str) -> None:
    clue = only(bad_slice, failing(replaced(RIGHT, where, value), RIGHT))
    assert clue.cause is cause
    assert words in clue.statement
    assert clue.confidence <= 0.5


@pytest.mark.parametrize("where", [(slice(None), 5, slice(0, 6)), (slice(1, 3), slice(5, 9)), (slice(0, 3),)])
def test_parts_of_slices_leave_it_silent(where: Any) -> None:
    assert causes(bad_slice, failing(replaced(RIGHT, where, 7.0), RIGHT)) == []


def test_flat_outputs_have_no_slices() -> None:
    right = normal(64)
    assert causes(bad_slice, failing(replaced(right, slice(8, 16), 7.0), right)) == []
