"""Ways of rounding other than to nearest even; silent on steps to either side and on larger ones."""

from __future__ import annotations

import pytest
import torch
from numbers_notation import failing, integers, normal, said
from numbers_planted import PLANTED, Planted, planted_for

from opsdebug_ci.numerics.patterns.rounding_mode import rounding_mode


@pytest.mark.parametrize("planted", planted_for("rounding_mode"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(rounding_mode, planted.failure) == [planted.cause]


@pytest.mark.parametrize(
    ("name", "way", "ties"),
    [
        ("codes cut", "cut towards zero", False),
        ("codes rounded down", "rounded down", False),
        ("code ties away", "rounded away from zero", True),
        ("float ties away", "rounded away from zero", True),
        ("bf16 output cut", "cut towards zero", None),
        ("fp16 rounded down", "rounded down", None),
    ],
)
def test_says_which_way(name: str, way: str, ties: bool | None) -> None:
    planted_for("rounding_mode")
    (clue,) = rounding_mode(PLANTED[name].failure)
    assert (clue.evidence["way"], clue.evidence.get("ties_only")) == (way, ties)


def test_silent_on_larger_steps() -> None:
    failure = failing(lambda x: x + 2, lambda x: x + 0, x=integers(-50, 50, 256))
    assert said(rounding_mode, failure) == []


def test_silent_on_noise_of_several_ulps() -> None:
    noise = 1 + 2e-3 * normal(16, 64, seed=3)
    failure = failing(lambda x: (x * noise).half(), lambda x: x.half(), kind="elementwise", x=normal(16, 64))
    assert said(rounding_mode, failure) == []


def test_silent_on_indices() -> None:
    failure = failing(
        lambda x: x.argmax(-1) - 1, lambda x: x.argmax(-1), kind="index", x=normal(64, 16).abs() + torch.eye(16)[5] * 9
    )
    assert said(rounding_mode, failure) == []
