"""One number more for all."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal, only, replaced, whole

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import offset

X = normal(40, 60)


def test_the_number_is_told() -> None:
    clue = only(offset, failing(X + 0.125, X))
    assert clue.cause is Cause.WRONG_CONSTANT_EPS
    assert clue.evidence["offset"] == pytest.approx(0.125, abs=1e-6)


def test_integers_have_offsets() -> None:
    right = whole(-100, 100, 500)
    assert only(offset, failing(right + 3, right)).evidence["offset"] == 3


@pytest.mark.parametrize(
    "wrong",
    [X + normal(40, 60, seed=1), X * 1.5, X + normal(60, seed=1), replaced(X, slice(20, None), X[20:] + 1)],
    ids=["noise", "factor", "per column", "half of it"],
)
def test_other_errors_leave_it_silent(wrong: torch.Tensor) -> None:
    assert causes(offset, failing(wrong, X)) == []
