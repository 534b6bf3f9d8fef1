"""Results of very few elements that are off by a factor made of sizes."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import whole_ratio

X = normal(12, 20)
RIGHT = torch.tensor(3.7)


@pytest.mark.parametrize(
    ("factor", "words"), [(1 / 20, "1/20 times"), (240 / 239, "240/239 times"), (12.0, "12 times"), (-1.0, "-1 times")]
)
def test_a_factor_made_of_sizes(factor: float, words: str) -> None:
    first, second = whole_ratio(failing(RIGHT * factor, RIGHT, x=X))
    assert (first.cause, second.cause) == (Cause.WRONG_DEFAULT, Cause.WRONG_SCALE)
    assert words in first.statement


def test_another_factor_has_no_name() -> None:
    assert causes(whole_ratio, failing(RIGHT * 0.9371, RIGHT, x=X)) == []


def test_larger_outputs_are_left_to_the_rule_of_ratios() -> None:
    right = normal(6)
    assert causes(whole_ratio, failing(right * 2, right, x=X)) == []


def test_several_factors_are_no_scale() -> None:
    right = torch.tensor([1.0, 2.0])
    assert causes(whole_ratio, failing(right * torch.tensor([2.0, 0.5]), right, x=X)) == []
