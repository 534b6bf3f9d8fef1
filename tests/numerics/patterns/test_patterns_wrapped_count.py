"""Counts that wrapped: what is computed ends at N modulo a power of two."""

from __future__ import annotations

import pytest
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import wrapped_count

ROWS = normal(300, 8)
LONG = normal(100_000)


def test_rows_that_a_byte_counts() -> None:
    clue = only(wrapped_count, failing(replaced(ROWS, slice(44, None), 0.0), ROWS))
    assert clue.cause is Cause.INDEX_OVERFLOW
    assert clue.statement == (
        "the number of rows is kept in 8 bits: of 300 rows the first 44 = 300 mod 2**8 are computed, and no others; "
        "all of them hold 0"
    )


@pytest.mark.parametrize(("size", "first", "bits"), [(70_000, 4_464, 16), (40_000, 7_232, 15)])
def test_the_widest_count_of_elements_is_named(size: int, first: int, bits: int) -> None:
    right = normal(size)
    clue = only(wrapped_count, failing(replaced(right, slice(first, None), -1.0), right))
    assert clue.evidence["bits"] == bits


def test_the_size_of_counted_blocks_is_told_as_far_as_it_shows() -> None:
    right = normal(66_000)
    clue = only(wrapped_count, failing(replaced(right, slice(512, None), 0.0), right))
    assert "the number of blocks of 64 to 256 elements is kept in 8 bits" in clue.statement


@pytest.mark.parametrize("first", [43, 45, 256, 288])
def test_other_ends_leave_it_silent(first: int) -> None:
    assert causes(wrapped_count, failing(replaced(ROWS, slice(first, None), 0.0), ROWS)) == []


@pytest.mark.parametrize("first", [32_768, 65_536, 99_968])
def test_other_positions_leave_it_silent(first: int) -> None:
    assert causes(wrapped_count, failing(replaced(LONG, slice(first, None), 0.0), LONG)) == []
