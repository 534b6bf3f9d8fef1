"""Sums without some of their terms."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal, only

from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.patterns import reduction_block

X = normal(40, 100).double()
Y = normal(40, 100, seed=1).double()
CUBE = normal(6, 20, 30).double()
A, B = normal(24, 70).double(), normal(70, 30, seed=1).double()
BATCH, OTHER = normal(3, 24, 70).double(), normal(3, 70, 17, seed=1).double()
LONG = normal(4099).double()


@pytest.mark.parametrize(
    ("wrong", "right", "arguments", "words"),
    [
        (
            X[:, :96].sum(1),
            X.sum(1),
            {"x": X},
            "the last 4 of 100 of the sum over `x` along axis 1 are missing; 100 % 8",
        ),
        (X[:, :99].sum(1), X.sum(1), {"x": X}, "the last 1 of 100"),
        (X[3:].sum(0), X.sum(0), {"x": X}, "the first 3 of 40 of the sum over `x` along axis 0"),
        (X[:, :96].mean(1), X.mean(1), {"x": X}, "missing, and the divisor with them"),
        (X[:, :96].sum(1) / 100, X.mean(1), {"x": X}, "the last 4 of 100"),
        (X[:, :96].square().sum(1), X.square().sum(1), {"x": X}, "`x`**2 along axis 1"),
        ((X * Y)[:, :96].sum(1), (X * Y).sum(1), {"x": X, "y": Y}, "`x` * `y` along axis 1"),
        (X.sum(1) + X[:, 32:64].sum(1), X.sum(1), {"x": X}, "terms 32..63 of 100 of the sum"),
        (CUBE[:, :16].sum(1), CUBE.sum(1), {"x": CUBE}, "the last 4 of 20"),
        (CUBE[:, :16].sum(1, keepdim=True), CUBE.sum(1, keepdim=True), {"x": CUBE}, "the last 4 of 20"),
        (CUBE[:, :-1].sum((1, 2)), CUBE.sum((1, 2)), {"x": CUBE}, "the last 30 of 600"),
        (
            A[:, :64] @ B[:64],
            A @ B,
            {"a": A, "b": B},
            "the last 6 of 70 of the sum over `a` @ `b` are missing; 70 % 8 = 6",
        ),
        (A[:, :64] @ B[:64], A @ B, {"a": A, "w": B.T.contiguous()}, "`a` @ `w`.T"),
        (A[:, :64] @ B[:64, 0], A @ B[:, 0], {"a": A, "v": B[:, 0]}, "`a` @ `v`"),
        (BATCH[..., :64] @ OTHER[:, :64], BATCH @ OTHER, {"a": BATCH, "b": OTHER}, "the last 6 of 70"),
        (LONG[:4096].sum(), LONG.sum(), {"x": LONG}, "the last 3 of 4,099"),
    ],
)
def test_the_terms_are_told(
    wrong: torch.Tensor, right: torch.Tensor, arguments: dict[str, torch.Tensor], words: str
) -> None:
    clue = only(reduction_block, failing(wrong, right, **arguments))
    assert clue.cause is Cause.TAIL_MASK
    assert words in clue.statement


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (X.sum(1) * 1.01, X.sum(1)),
        (X.sum(1) + normal(40, seed=2), X.sum(1)),
        (X[:, ::2].sum(1), X.sum(1)),
        (X.sum() * 1.01, X.sum()),
        (X[:, 10:90].sum(1), X.sum(1)),
    ],
    ids=["factor", "noise", "every other term", "a single wrong sum", "two stretches"],
)
def test_other_errors_leave_it_silent(wrong: torch.Tensor, right: torch.Tensor) -> None:
    assert causes(reduction_block, failing(wrong, right, x=X)) == []


def test_other_kinds_are_left_alone() -> None:
    assert causes(reduction_block, failing(X[:, :96].sum(1), X.sum(1), kind=Kind.SOFTMAX, x=X)) == []
