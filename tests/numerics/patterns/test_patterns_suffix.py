"""Thresholds of flat positions: powers of two, and blocks that end inside a row."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import suffix

TALL = normal(1000, 64)
LONG = normal(100_000)


@pytest.mark.parametrize(("first", "bits"), [(32_768, 15), (65_536, 16)])
def test_a_position_that_is_a_power_of_two(first: int, bits: int) -> None:
    clue = only(suffix, failing(replaced(LONG, slice(first, None), 0.0), LONG))
    assert (clue.cause, clue.evidence["bits"]) == (Cause.INDEX_OVERFLOW, bits)


def test_a_row_of_an_argument_that_reaches_one() -> None:
    right = TALL.sum(1)
    clue = only(suffix, failing(replaced(right, slice(512, None), 7.0), right, x=TALL))
    assert clue.cause is Cause.INDEX_OVERFLOW
    assert "the offset into `x` reaches 2**15" in clue.statement


def test_the_row_that_holds_the_threshold_is_near_enough() -> None:
    right = normal(1000, 60)
    clue = only(suffix, failing(replaced(right, slice(547, None), 0.0), right))
    assert clue.evidence["bits"] == 15


def test_blocks_that_end_inside_a_row() -> None:
    right = normal(9, 15)
    clue = only(suffix, failing(replaced(right.flatten(), slice(128, None), 0.0).view(9, 15), right))
    assert (clue.cause, clue.evidence["block"]) == (Cause.TAIL_MASK, 8)


@pytest.mark.parametrize("first", [30_000, 40_001, 99_000])
def test_other_positions_leave_it_silent(first: int) -> None:
    assert causes(suffix, failing(replaced(LONG, slice(first, None), 0.0), LONG)) == []


def test_a_bad_element_before_leaves_it_silent() -> None:
    wrong = replaced(replaced(LONG, slice(32_768, None), 0.0), 5, 9.0)
    assert causes(suffix, failing(wrong, LONG)) == []


def test_rows_by_accident_at_a_coarse_threshold_are_none() -> None:
    right = torch.ones(9, 4096) * normal(9, 1).exp()
    assert causes(suffix, failing(replaced(right, slice(7, None), 0.0), right)) == []
