"""Stretches of zeros."""

from __future__ import annotations

import pytest
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import zero_fill

FLAT = normal(4096)
TALL = normal(1000, 30)


def test_a_launch_that_was_too_small() -> None:
    clue = only(zero_fill, failing(replaced(TALL, slice(128, None), 0.0), TALL))
    assert (clue.cause, clue.evidence["block"]) == (Cause.TAIL_MASK, 128)
    assert "from row 128 to 999" in clue.statement


def test_a_block_that_was_left_out() -> None:
    clue = only(zero_fill, failing(replaced(FLAT, slice(2048, 2304), 0.0), FLAT))
    assert (clue.cause, clue.evidence["block"]) == (Cause.UNINITIALISED, 256)


@pytest.mark.parametrize(
    ("first", "last", "value"),
    [(2049, 2304, 0.0), (2048, 2304, 1.0), (0, 4096, 0.0), (2048, 2052, 0.0)],
    ids=["no block", "no zeros", "everything", "too few"],
)
def test_other_stretches_leave_it_silent(first: int, last: int, value: float) -> None:
    assert causes(zero_fill, failing(replaced(FLAT, slice(first, last), value), FLAT)) == []


def test_zeros_that_should_be_zeros_are_none() -> None:
    right = replaced(FLAT, slice(2048, None), 0.0)
    assert causes(zero_fill, failing(replaced(right, slice(0, 16), 5.0), right)) == []


def test_a_power_of_two_is_left_to_the_offset() -> None:
    right = normal(50_000)
    assert causes(zero_fill, failing(replaced(right, slice(32_768, None), 0.0), right)) == []
