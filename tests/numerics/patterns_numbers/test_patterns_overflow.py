"""Which range was left; silent where infinities have another reason."""

from __future__ import annotations

import math

import pytest
import torch
from numbers_notation import failing, normal, said
from numbers_planted import PLANTED, Planted, planted_for

from opsdebug_ci.numerics.patterns.overflow import overflow


@pytest.mark.parametrize("planted", planted_for("overflow"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(overflow, planted.failure)[0] == planted.cause


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("softmax without its maximum", "finite up to 87.93: exp overflows float32 above 88.72"),
        ("logsumexp without its maximum", "exp overflows float32"),
        ("softplus of large x", "where `x` is 89.32 or more"),
        ("product through fp16", "65504"),
        ("squares overflow", "overflowed float32"),
        ("flushed", "below 1.175e-38"),
    ],
)
def test_says_which_limit(name: str, words: str) -> None:
    planted_for("overflow")
    assert words in next(iter(overflow(PLANTED[name].failure))).statement


def test_silent_on_infinities_at_random_places() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        output = x * 2
        output[::3, ::5] = math.inf
        return output

    assert said(overflow, failing(wrong, lambda x: x * 2, kind="elementwise", x=normal(16, 64))) == []


def test_silent_on_zero_rows_of_ordinary_size() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        output = x * 2
        output[3] = 0
        return output

    assert said(overflow, failing(wrong, lambda x: x * 2, kind="elementwise", x=normal(16, 64))) == []


def test_silent_on_finite_errors() -> None:
    assert said(overflow, failing(lambda x: x * 2.1, lambda x: x * 2, kind="elementwise", x=normal(16, 64) * 1e4)) == []
