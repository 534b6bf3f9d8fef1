"""Ways of rounding other than to nearest even; silent on steps to either side and on larger ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from numbers_notation import failing, integers, normal, said, uniform
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


def cut(x: torch.Tensor) -> torch.Tensor:
    """float32 to bfloat16 without its low bits."""
    return (x.float().view(torch.int32) & -(1 << 16)).view(torch.float32).bfloat16()


def confidence(actual: Callable[..., torch.Tensor], x: torch.Tensor) -> list[float]:
    found = rounding_mode(failing(actual, lambda x: x.bfloat16(), kind="elementwise", x=x))
    return [clue.confidence for clue in found]


@pytest.mark.parametrize("shape", [(16, 64), (1, 128)], ids=str)
def test_a_cut_bit_for_bit_is_surer_than_any_number_that_reproduces_it_within_the_tolerance(
    shape: tuple[int, ...],
) -> None:
    assert confidence(cut, normal(*shape)) == [0.99]


def test_values_of_one_size_are_cut_by_a_factor_as_well() -> None:
    x = 1.5 + uniform(1024) / 64
    assert confidence(cut, x) == [0.88]
    assert confidence(lambda x: (x * (1 - 2**-8 / 1.508)).bfloat16(), x) == [0.88]


def test_a_factor_cuts_nothing_else() -> None:
    x = normal(16, 64)
    assert [confidence(lambda x, by=by: (x * (1 - by * 2**-9)).bfloat16(), x) for by in (1, 1.5, 2, 3)] == [[]] * 4


@pytest.mark.parametrize("levels", [1, 4])
def test_few_distinct_values_hint_at_it(levels: int) -> None:
    x = (1 + 2**-7.5 + 0.3 * torch.arange(levels)).repeat(64)
    assert confidence(cut, x) == [0.5]
