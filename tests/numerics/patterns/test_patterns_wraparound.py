"""Integers that wrap."""

from __future__ import annotations

import pytest
import torch
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


def test_indices_within_their_block_lack_its_start() -> None:
    right = torch.tensor([3, 17, 40, 41, 90, 5, 33])
    clue = only(wraparound, failing(right % 16, right))
    assert clue.cause is Cause.WRONG_DEFAULT
    assert "modulo 16: they count from the start of their block of 16" in clue.statement
    assert causes(wraparound, failing(right % 16 + 1, right)) == []
