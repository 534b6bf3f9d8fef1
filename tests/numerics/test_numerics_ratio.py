"""A ratio of the outputs is told where it is one number in the altered reference and in the output, and only there."""

from __future__ import annotations

import math
from types import MappingProxyType

import pytest
import torch

from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.variants.ratio import Ratio, one_ratio

ROWS = torch.linspace(-3, 3, 50, dtype=torch.float64).reshape(5, 10)
"""Whole thirds apart, and never 0."""


def failing(actual: torch.Tensor, dtype: torch.dtype = torch.float16) -> Failure:
    return Failure(
        output="out0",
        kind=Kind.NORM,
        actual=actual.to(dtype),
        expected=ROWS,
        bad=torch.ones_like(ROWS, dtype=torch.bool),
        tolerance=torch.full_like(ROWS, 1e-3),
        deviation=None,
        compute=FLOAT_FORMATS["float32"],
        accumulate=FLOAT_FORMATS["float32"],
        arguments=MappingProxyType({}),
        dims={},
    )


@pytest.mark.parametrize(
    ("factor", "counts", "words"),
    [
        (math.sqrt(249 / 250), (249, 250), "0.9980 = sqrt(249/250)"),
        (250 / 249, (249, 250), "1.0040 = 250/249"),
        (math.sqrt(1023 / 1024), (1023, 1024), "0.99951 = sqrt(1023/1024)"),
        (math.sqrt(1 / 2), (1, 2), "0.7071 = sqrt(1/2)"),
        (0.9985, (249, 250), "0.9985"),
        (250.0, None, "250"),
        (0.125, None, "0.1250"),
    ],
)
def test_one_ratio_is_told_with_what_it_is(factor: float, counts: tuple[float, float] | None, words: str) -> None:
    found = one_ratio(failing(ROWS * factor), ROWS * factor)
    assert found is not None
    assert found.told(counts) == words
    rounded = (ROWS * factor).to(torch.float16).double() / ROWS
    assert found.measured == pytest.approx(float(rounded.quantile(0.5)))
    assert 0 <= found.spread <= float(rounded.max() - rounded.min())


@pytest.mark.parametrize(
    ("actual", "altered"),
    [
        pytest.param(ROWS * 0.998 + 0.5, ROWS * 0.998 + 0.5, id="a bias beside it"),
        pytest.param(ROWS * 0.9, ROWS * 0.998, id="the outputs are off by another"),
        pytest.param(ROWS * torch.linspace(0.99, 0.998, 10), ROWS * torch.linspace(0.99, 0.998, 10), id="many ratios"),
        pytest.param(-ROWS, -ROWS, id="only the sign"),
        pytest.param(ROWS * torch.nan, ROWS * torch.nan, id="no numbers"),
    ],
)
def test_no_ratio_is_told_that_is_not_one(actual: torch.Tensor, altered: torch.Tensor) -> None:
    assert one_ratio(failing(actual), altered) is None


def test_a_divisor_of_nothing_has_no_fraction() -> None:
    assert Ratio(value=0.5, measured=0.5, spread=0.0).told((0, 1)) == "0.5000"
