"""Minus the reference, or one term with the wrong sign; silent on other values."""

from __future__ import annotations

import pytest
import torch
from numbers_notation import failing, normal, said
from numbers_planted import PLANTED, Planted, planted_for

from opsdebug_ci.numerics.patterns.sign_pattern import sign_pattern


@pytest.mark.parametrize("planted", planted_for("sign_pattern"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(sign_pattern, planted.failure) == [planted.cause]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("swapped operands", "the whole output"),
        ("lost absolute value", "those with x < 0"),
        ("minus for plus", "twice `y`"),
        ("minus bias", "twice `b`"),
        ("rope half", "`s` times `x` with its halves swapped"),
    ],
)
def test_says_what_has_the_wrong_sign(name: str, words: str) -> None:
    planted_for("sign_pattern")
    (clue,) = sign_pattern(PLANTED[name].failure)
    assert words in clue.statement


def test_silent_on_a_lost_term() -> None:
    failure = failing(lambda x, y: x, torch.add, kind="elementwise", x=normal(16, 64), y=normal(16, 64, seed=1))
    assert said(sign_pattern, failure) == []


def test_silent_on_unwritten_zeros() -> None:
    assert said(sign_pattern, failing(torch.zeros_like, lambda x: 2 * x, kind="elementwise", x=normal(16, 64))) == []


def test_silent_on_the_sign_of_zero() -> None:
    zeros = torch.zeros(64)
    assert said(sign_pattern, failing(lambda x: 0 - x, torch.neg, kind="exact", x=zeros)) == []


def test_one_element_is_less_sure_than_all() -> None:
    def one(x: torch.Tensor) -> torch.Tensor:
        output = x * 2
        output[3, 4] *= -1
        return output

    failure = failing(one, lambda x: x * 2, kind="elementwise", x=normal(16, 64))
    (clue,) = sign_pattern(failure)
    assert (str(clue.cause), clue.confidence) == ("sign_flip", 0.7)
