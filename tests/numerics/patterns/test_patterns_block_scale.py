"""A factor of its own for every block."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal, only

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import block_scale

X = normal(8, 512)


@pytest.mark.parametrize("block", [8, 32, 128])
def test_the_block_is_told(block: int) -> None:
    factors = (normal(8, 512 // block, seed=1).abs() + 0.5).repeat_interleave(block, 1)
    clue = only(block_scale, failing(X * factors, X))
    assert (clue.cause, clue.evidence["block"]) == (Cause.WRONG_SCALE, block)


def test_a_factor_per_row_is_a_hint() -> None:
    clue = only(block_scale, failing(X * (normal(8, 1, seed=1).abs() + 0.5), X))
    assert (clue.evidence["block"], clue.confidence) == (512, 0.4)


@pytest.mark.parametrize(
    "wrong",
    [X * 2, -X, X + normal(8, 512, seed=1), torch.where(torch.arange(512) < 64, 0.0, X), 1e-4 * X.flip(1)],
    ids=["one factor", "sign", "noise", "zeros in some place", "something small"],
)
def test_other_errors_leave_it_silent(wrong: torch.Tensor) -> None:
    assert causes(block_scale, failing(wrong, X)) == []
