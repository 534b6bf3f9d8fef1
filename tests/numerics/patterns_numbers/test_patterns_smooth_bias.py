"""Smooth errors and thresholds; silent on noise, scales and slopes."""

from __future__ import annotations

import pytest
import torch
from numbers_notation import examined, failing, normal, said
from numbers_planted import PLANTED, Planted, planted_for
from torch.nn import functional

from opsdebug_ci.numerics.patterns.sample import von_neumann
from opsdebug_ci.numerics.patterns.smooth_bias import smooth_bias


@pytest.mark.parametrize("planted", planted_for("smooth_bias"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(smooth_bias, planted.failure) == [planted.cause]


@pytest.mark.parametrize(("name", "threshold"), [("clipped tanh", 3.0), ("branch plus residual", 1.5)])
def test_says_the_threshold_of_a_branch(name: str, threshold: float) -> None:
    planted_for("smooth_bias")
    (clue,) = smooth_bias(PLANTED[name].failure)
    assert abs(float(clue.evidence["threshold"] or 0) - threshold) < 0.1
    assert ("> " in clue.statement) and "x" in clue.statement


def test_the_exact_function_gives_no_failure() -> None:
    assert examined(functional.gelu, functional.gelu, kind="transcendental", x=normal(16, 128)) is None


@pytest.mark.parametrize("wrong", [lambda x: torch.exp(x) * 1.01, lambda x: torch.exp(x) + 0.01])
def test_silent_on_a_scale_and_a_shift(wrong) -> None:
    assert said(smooth_bias, failing(wrong, torch.exp, kind="transcendental", x=normal(16, 128))) == []


def test_silent_on_another_slope() -> None:
    failure = failing(
        lambda x: functional.leaky_relu(x, 0.02), functional.leaky_relu, kind="elementwise", x=normal(16, 128)
    )
    assert said(smooth_bias, failure) == []


def test_silent_on_lost_precision() -> None:
    failure = failing(lambda x: x.half().exp().float(), torch.exp, kind="transcendental", x=normal(16, 128))
    assert said(smooth_bias, failure) == []


def test_the_ratio_of_von_neumann_is_two_for_noise_and_none_for_a_line() -> None:
    assert abs(von_neumann(normal(1 << 14).double()) - 2) < 0.1
    assert von_neumann(torch.arange(100.0).double()) < 0.01
