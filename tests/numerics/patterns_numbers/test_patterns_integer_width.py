"""Integers of another width or through a float; silent on other integers."""

from __future__ import annotations

import pytest
import torch
from numbers_notation import failing, integers, said
from numbers_planted import PLANTED, Planted, planted_for

from opsdebug_ci.numerics.patterns.integer_width import integer_width


@pytest.mark.parametrize("planted", planted_for("integer_width"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(integer_width, planted.failure) == [planted.cause]


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("sum wraps", "bits", 32),
        ("sum does not wrap", "bits", 8),
        ("indices in float32", "format", "float32"),
        ("sum clipped", "format", "uint8"),
    ],
)
def test_says_which_width(name: str, key: str, value: object) -> None:
    planted_for("integer_width")
    (clue,) = integer_width(PLANTED[name].failure)
    assert clue.evidence[key] == value


@pytest.mark.parametrize("wrong", [lambda x: x + 3, lambda x: x * 2, lambda x: x.flip(0)])
def test_silent_on_other_integers(wrong) -> None:
    assert said(integer_width, failing(wrong, lambda x: x + 0, x=integers(0, 1000, 64))) == []


def test_silent_on_multiples_of_256_that_no_width_explains() -> None:
    failure = failing(lambda x: x + 256, lambda x: x + 0, x=integers(0, 1000, 64) * 64)
    assert said(integer_width, failure) == []


def test_silent_on_whole_numbers_from_floats() -> None:
    failure = failing(torch.round, lambda x: x * 1.0, x=integers(0, 100, 64).float() + 0.3)
    assert said(integer_width, failure) == []
