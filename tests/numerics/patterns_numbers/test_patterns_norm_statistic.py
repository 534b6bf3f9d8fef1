"""The scale of a normalisation's rows; silent on scales that are the same everywhere."""

from __future__ import annotations

import pytest
import torch
from numbers_notation import examined, failing, normal, said
from numbers_planted import PLANTED, Planted, planted_for
from torch.nn import functional

from opsdebug_ci.numerics.patterns.norm_statistic import norm_statistic
from opsdebug_ci.numerics.patterns.row_fit import fitted_rows, solved


@pytest.mark.parametrize("planted", planted_for("norm_statistic"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(norm_statistic, planted.failure) == [planted.cause]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("eps", "eps = 1e-06 instead of 1e-05"),
        ("eps with weight", "eps = 1e-06 instead of 1e-05"),
        ("eps in fp16", "eps = 0.001 instead of 1e-05"),
        ("eps outside", "1e-05 added outside the root"),
        ("no eps", "eps = 0 instead of 1e-05"),
        ("rms eps", "eps = 1e-05 instead of 1e-06"),
        ("group eps", "eps = 1e-06 instead of 1e-05"),
        ("batch eps", "eps = 1e-06 instead of 1e-05"),
        ("ddof", "n - 1 = 63"),
        ("padded variance", "64 lanes, 14 of them padding"),
        ("mean square over the block", "64 lanes, 14 of them padding"),
        ("lost tail of the mean square", "first 48 of 50"),
        ("one-pass variance", "E[x**2] - mean**2"),
    ],
)
def test_says_what_reproduces_the_rows(name: str, words: str) -> None:
    planted_for("norm_statistic")
    (clue,) = norm_statistic(PLANTED[name].failure)
    assert words in clue.statement


def layer_norm(x: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, x.shape[-1:])


def test_the_same_formula_gives_no_failure() -> None:
    assert examined(layer_norm, layer_norm, kind="norm", x=normal(32, 64)) is None


@pytest.mark.parametrize("wrong", [lambda x: layer_norm(x) * 1.01, lambda x: layer_norm(x) + 0.01, lambda x: x * 1.0])
def test_silent_on_other_formulas(wrong) -> None:
    assert said(norm_statistic, failing(wrong, layer_norm, kind="norm", x=normal(32, 64))) == []


def test_a_fit_needs_the_error_to_follow_the_rows() -> None:
    noisy = failing(lambda x: layer_norm(x) + 0.01 * normal(32, 64, seed=3), layer_norm, kind="norm", x=normal(32, 64))
    assert fitted_rows(noisy) is None


def test_least_squares_is_that_of_torch() -> None:
    basis, values = normal(3, 20, 4).double(), normal(3, 20, seed=1).double()
    expected = torch.linalg.lstsq(basis, values.unsqueeze(-1)).solution.squeeze(-1)
    assert torch.allclose(solved(basis, values), expected, rtol=1e-10)
