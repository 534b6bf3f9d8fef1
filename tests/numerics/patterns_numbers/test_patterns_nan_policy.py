"""Where NaN, masked rows and ties reach; silent where other elements are wrong as well."""

from __future__ import annotations

import math

import pytest
import torch
from numbers_notation import failing, integers, normal, said
from numbers_planted import PLANTED, Planted, planted_for

from opsdebug_ci.numerics.patterns.nan_policy import nan_policy


@pytest.mark.parametrize("planted", planted_for("nan_policy"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(nan_policy, planted.failure) == [planted.cause]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fully masked rows", "NaN is made exactly where `x` is -inf all along axis 1: 0/0"),
        ("maximum past NaN", "NaN is dropped exactly where `x` holds a NaN along axis 1"),
        ("clamp past NaN", "NaN is dropped exactly where `x` is NaN"),
        ("last of equals", "the largest of `x` along axis 1 occurs twice"),
        ("not less for greater", "`x` equals `y`"),
    ],
)
def test_says_where(name: str, words: str) -> None:
    planted_for("nan_policy")
    (clue,) = nan_policy(PLANTED[name].failure)
    assert words in clue.statement


def test_silent_where_finite_elements_are_wrong_as_well() -> None:
    holed = normal(16, 24)
    holed[::2, 7] = math.nan
    failure = failing(lambda x: x.nan_to_num() * 2, lambda x: x * 1.0, kind="elementwise", x=holed)
    assert said(nan_policy, failure) == []


def test_silent_without_special_inputs() -> None:
    failure = failing(lambda x: x.argmin(-1), lambda x: x.argmax(-1), kind="auto", x=normal(16, 24))
    assert said(nan_policy, failure) == []


def test_silent_where_every_row_ties() -> None:
    failure = failing(lambda x: x.argmax(-1) + 1, lambda x: x.argmax(-1), kind="auto", x=integers(0, 2, 16, 24).float())
    assert said(nan_policy, failure) == []


def test_silent_on_a_comparison_that_is_wrong_elsewhere() -> None:
    failure = failing(torch.lt, torch.gt, kind="auto", x=normal(16, 24), y=normal(16, 24, seed=1))
    assert said(nan_policy, failure) == []
