"""Percentiles against sorting in plain Python."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.numerics.quantiles import NO_QUANTILES, quantiles


def nearest_rank(errors: list[float], percent: int) -> float:
    """The smallest element that at least `percent` % of the elements do not exceed, by counting."""
    return min(e for e in errors if Fraction(sum(o <= e for o in errors), len(errors)) >= Fraction(percent, 100))


def by_counting(errors: list[float]) -> Quantiles:
    p50, p95, p99 = (float(nearest_rank(errors, percent)) for percent in (50, 95, 99))
    return Quantiles(p50=p50, p95=p95, p99=p99, max=float(max(errors)))


@given(errors=st.lists(st.floats(min_value=0, allow_nan=False), min_size=1, max_size=150))
def test_float_errors(errors: list[float]) -> None:
    assert quantiles(torch.tensor(errors, dtype=torch.float64)) == by_counting(errors)


@given(errors=st.lists(st.integers(0, 40) | st.integers(0, 2**63 - 1), min_size=1, max_size=150))
def test_integer_errors(errors: list[int]) -> None:
    assert quantiles(torch.tensor(errors, dtype=torch.int64)) == by_counting(errors)


@given(errors=st.lists(st.integers(0, 7), min_size=10, max_size=150))
def test_small_integers_are_counted_to_the_same_answer(errors: list[int]) -> None:
    assert quantiles(torch.tensor(errors, dtype=torch.int64)) == by_counting(errors)


def test_a_hundred_ranks_name_themselves() -> None:
    errors = torch.arange(100, 0, -1, dtype=torch.float64)
    assert quantiles(errors) == Quantiles(p50=50.0, p95=95.0, p99=99.0, max=100.0)
    assert quantiles(errors.to(torch.int64)) == Quantiles(p50=50.0, p95=95.0, p99=99.0, max=100.0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
def test_every_size_rounds_its_rank_up(dtype: torch.dtype) -> None:
    for size in range(2, 202):
        ranks = [math.ceil(Fraction(size * percent, 100)) for percent in (50, 95, 99)]
        found = quantiles(torch.arange(1, size + 1).to(dtype))
        assert [found.p50, found.p95, found.p99, found.max] == [*ranks, size]


def test_one_bad_element_of_many_is_the_maximum_only() -> None:
    errors = torch.zeros(10, 200, dtype=torch.float64)
    errors[7, 3] = 5.0
    assert quantiles(errors.t()) == Quantiles(p50=0.0, p95=0.0, p99=0.0, max=5.0)


def test_the_argument_is_left_as_it_is() -> None:
    errors = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)
    quantiles(errors)
    assert errors.tolist() == [3.0, 1.0, 2.0]


def test_of_nothing_there_are_none() -> None:
    assert quantiles(torch.empty(0, 4, dtype=torch.float64)) == NO_QUANTILES
    assert Quantiles(p50=None, p95=None, p99=None, max=None) == NO_QUANTILES


@pytest.mark.parametrize("planted", [math.nan, -1.0])
def test_errors_that_cannot_be_are_refused(planted: float) -> None:
    with pytest.raises(InternalError, match="wanted nonnegative numbers without NaN"):
        quantiles(torch.tensor([0.0, planted, 2.0], dtype=torch.float64))


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(InternalError, match=r"wanted torch\.float64 or torch\.int64"):
        quantiles(torch.ones(3))
