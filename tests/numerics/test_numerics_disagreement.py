"""Two references beside each other, element by element in plain Python."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.numerics.disagreement import agreement, disagreement

numbers = st.sampled_from((0.0, -0.0, 1.0, 1.5, -2.0, 7e4, 1e-9, math.inf, -math.inf, math.nan))
allowances = st.sampled_from((0.0, 0.25, 0.5, 2.0, math.inf, math.nan))


def half(value: float) -> float:
    return float(torch.tensor(value, dtype=torch.float32).to(torch.float16))


def loop(elements: list[tuple[float, float, float]]) -> tuple[float | None, int]:
    shares = [abs(v - y) / a for v, y, a in elements if math.isfinite(abs(v - y)) and a > 0]
    agree = [v in (y, half(y)) or (math.isnan(v) and math.isnan(y)) or abs(v - y) <= a for v, y, a in elements]
    return max(shares, default=None), agree.count(False)


def columns(elements: list[tuple[float, float, float]]) -> list[torch.Tensor]:
    return [torch.tensor(column, dtype=torch.float64) for column in zip(*elements, strict=True)]


@given(elements=st.lists(st.tuples(numbers, numbers, allowances), min_size=1, max_size=12))
def test_against_the_loop(elements: list[tuple[float, float, float]]) -> None:
    assert disagreement(*columns(elements), torch.float16) == loop(elements)


@given(elements=st.lists(st.tuples(numbers.filter(math.isfinite), st.just(0.0), st.just(8e4)), min_size=1, max_size=9))
def test_where_all_agree(elements: list[tuple[float, float, float]]) -> None:
    assert disagreement(*columns(elements), torch.float16) == loop(elements)
    assert loop(elements)[1] == 0


@pytest.mark.parametrize("planted", [3.0, math.nan, math.inf])
def test_one_element_too_far_is_counted(planted: float) -> None:
    expected, allowed = torch.ones(50, dtype=torch.float64), torch.full((50,), 0.5, dtype=torch.float64)
    values = expected.clone()
    assert disagreement(values, expected, allowed, torch.float32) == (0.0, 0)
    values[17] = planted
    assert disagreement(values, expected, allowed, torch.float32)[1] == 1


def test_of_nothing_there_is_no_share() -> None:
    assert disagreement(*(torch.empty(0, dtype=torch.float64) for _ in range(3)), torch.float32) == (None, 0)


@given(elements=st.lists(st.tuples(numbers, numbers, st.sampled_from((0.25, 0.5, 2.0))), min_size=1, max_size=250))
def test_agreement_against_the_loop(elements: list[tuple[float, float, float]]) -> None:
    """1 - min(1, d/allowed) sorted from the worst: the value that 99 % reach."""
    shares = sorted(min(1.0, abs(v - y) / a) for v, y, a in elements if math.isfinite(abs(v - y)))
    reached = 1.0 - shares[max(1, math.ceil(0.99 * len(shares))) - 1] if shares else 1.0
    assert agreement(*columns(elements)) == pytest.approx(reached)
