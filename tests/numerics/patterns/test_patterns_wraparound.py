"""Integers that wrap."""

from __future__ import annotations

import pytest
from patterns_notation import causes, failing, only, whole

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import wraparound


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_the_bits_are_told(bits: int) -> None:
    right = whole(0, 2 ** (bits + 2), 200)
    clue = only(wraparound, failing(right % 2**bits, right))
    assert (clue.cause, clue.evidence["bits"]) == (Cause.DTYPE_PROMOTION, bits)
    assert "the operator wraps" in clue.statement


def test_the_reference_may_be_the_one_that_wraps() -> None:
    sums = whole(0, 512, 200)
    assert "the reference wraps at 8 bits" in only(wraparound, failing(sums, sums % 256)).statement


def test_other_differences_leave_it_silent() -> None:
    right = whole(0, 1000, 200)
    assert causes(wraparound, failing(right + 128, right)) == []
    assert causes(wraparound, failing(right.float() + 256, right.float())) == []
