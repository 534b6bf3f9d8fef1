"""One factor for all: its value, its name, where it is."""

from __future__ import annotations

import math

import pytest
import torch
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import scale

X = normal(40, 250)
EXP = X.exp()


@pytest.mark.parametrize(
    ("factor", "name"),
    [
        (2.0, "= 2)"),
        (math.sqrt(2), "= sqrt(2))"),
        (math.log(2), "= ln 2)"),
        (1.702, "= 1.702)"),
        (2 / math.sqrt(math.pi), "= 2/sqrt(pi))"),
        (1 / 40, "= 1/40)"),
        (math.sqrt(250), "= sqrt(250))"),
        (math.sqrt(249 / 250), "= sqrt(249/250)): the divisor is n-1, not n"),
        (250 / 256, "= 250/256): the divisor is 256, 250 padded to blocks of 8"),
        (5 / 7, "= 5/7)"),
    ],
)
def test_a_factor_gets_its_name(factor: float, name: str) -> None:
    clue = only(scale, failing(EXP * factor, EXP, x=X))
    assert clue.cause is Cause.WRONG_CONSTANT_EPS
    assert name in clue.statement


def test_bessels_correction_of_a_variance() -> None:
    clue = only(scale, failing(X.var(1), X.var(1, unbiased=False), x=X))
    assert "= 250/249): the divisor is n-1, not n" in clue.statement


@pytest.mark.parametrize(("factor", "words"), [(0.3, "= alpha)"), (1 / 0.3, "= 1/alpha): `alpha` is missing")])
def test_a_factor_that_is_an_argument(factor: float, words: str) -> None:
    clue = only(scale, failing(EXP * factor, EXP, alpha=0.3))
    assert clue.cause is Cause.WRONG_SCALE
    assert words in clue.statement


def test_a_factor_without_a_name() -> None:
    clue = only(scale, failing(EXP * 1.2345, EXP))
    assert clue.cause is Cause.WRONG_SCALE
    assert "a number without a name" in clue.statement


def test_minus_one_is_a_sign() -> None:
    assert causes(scale, failing(-EXP, EXP)) == [Cause.SIGN_FLIP]


def test_half_precision_blurs_no_name() -> None:
    right = EXP[:, :16]
    assert "= sqrt(15/16))" in only(scale, failing((right * math.sqrt(15 / 16)).half(), right)).statement


def test_a_factor_in_one_place_is_less_sure() -> None:
    clue = only(scale, failing(replaced(EXP, (..., 249), EXP[:, 249] * 1.4), EXP))
    assert clue.confidence == 0.75
    assert clue.statement.endswith("the others are right as they are")


def test_integers_have_factors() -> None:
    right = torch.arange(-50, 50)
    assert "= 2)" in only(scale, failing(right * 2, right)).statement


@pytest.mark.parametrize(
    "wrong",
    [
        EXP * (1 + 1e-3 * normal(40, 250, seed=1)),
        EXP + 1,
        EXP * normal(40, 1, seed=1).exp(),
        torch.zeros_like(EXP),
        EXP**1.01,
    ],
    ids=["noise", "offset", "per row", "zeros", "power"],
)
def test_other_errors_leave_it_silent(wrong: torch.Tensor) -> None:
    assert causes(scale, failing(wrong, EXP)) == []


def test_one_value_has_no_factor() -> None:
    right = torch.ones(100)
    assert causes(scale, failing(right * 2, right)) == []
