"""Too much or too little in the denominator; silent on other softmaxes."""

from __future__ import annotations

import pytest
import torch
from numbers_notation import examined, failing, normal, said
from numbers_planted import PLANTED, Planted, planted_for

from opsdebug_ci.numerics.patterns.softmax_denominator import softmax_denominator


@pytest.mark.parametrize("planted", planted_for("softmax_denominator"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(softmax_denominator, planted.failure) == [planted.cause]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("padded softmax", "14 exp(0) too many"),
        ("padded log-softmax", "14 exp(0) too many"),
        ("lost tail of the denominator", "last 2 of 50"),
        ("denominator in fp16", "random direction"),
    ],
)
def test_says_what_is_wrong_with_it(name: str, words: str) -> None:
    planted_for("softmax_denominator")
    (clue,) = softmax_denominator(PLANTED[name].failure)
    assert words in clue.statement


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def test_the_same_formula_gives_no_failure() -> None:
    assert examined(softmax, softmax, kind="softmax", x=normal(32, 50)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: softmax(x * 1.1),
        lambda x: torch.softmax(x, 0),
        lambda x: softmax(x) * 1.01,
        lambda x: softmax(x).flip(-1),
    ],
)
def test_silent_on_other_softmaxes(wrong) -> None:
    assert said(softmax_denominator, failing(wrong, softmax, kind="softmax", x=normal(32, 50))) == []
