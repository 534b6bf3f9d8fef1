"""Cosine against mpmath with 60 digits."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import ShapeMismatchError
from opsdebug_ci.numerics.cosine import CHUNK, cosine

pairs = st.lists(
    st.tuples(*[st.floats(allow_nan=False, allow_infinity=False).filter(lambda v: v != 0)] * 2), min_size=1, max_size=20
)


def float64(values: list[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def exact_cosine(left: list[float], right: list[float]) -> float:
    with mpmath.workdps(60):
        product = mpmath.fdot(left, right)
        return float(product / mpmath.sqrt(mpmath.fdot(left, left) * mpmath.fdot(right, right)))


@given(values=pairs)
def test_against_sixty_digits_over_the_whole_range(values: list[tuple[float, float]]) -> None:
    left, right = ([pair[side] for pair in values] for side in (0, 1))
    answer = cosine(float64(left), float64(right))
    assert answer is not None
    assert abs(answer - exact_cosine(left, right)) < 1e-14


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_equal_tensors_give_exactly_one_and_negated_minus_one(values: list[float]) -> None:
    tensor = float64([*values, 1.0])
    assert cosine(tensor, tensor.clone()) == 1.0
    assert cosine(tensor, -tensor) == -1.0


def test_zeros() -> None:
    zeros, ones = torch.zeros(3), torch.ones(3)
    assert cosine(zeros, -zeros) == 1.0
    assert cosine(zeros, ones) == cosine(ones, zeros) == 0.0


@pytest.mark.parametrize("planted", [math.nan, math.inf, -math.inf])
def test_undefined_with_any_non_finite_element(planted: float) -> None:
    clean, broken = torch.ones(4), torch.tensor([1.0, planted, 1.0, 1.0])
    assert cosine(broken, clean) is None
    assert cosine(clean, broken) is None
    assert cosine(broken, broken) is None


def test_undefined_of_nothing() -> None:
    assert cosine(torch.ones(0, 3), torch.ones(0, 3)) is None


def test_more_elements_than_one_chunk() -> None:
    size = CHUNK + 3
    left = torch.ones(size, dtype=torch.float32)
    right = left.clone()
    right[-1] = -1.0
    assert cosine(left, right) == pytest.approx(1 - 2 / size, abs=1e-14)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.bfloat16, torch.float8_e4m3fn])
def test_every_kind_of_dtype(dtype: torch.dtype) -> None:
    left = torch.tensor([0.0, 1.0, 1.0, 0.0]).to(dtype)
    right = torch.tensor([0.0, 1.0, 0.0, 0.0]).to(dtype)
    assert cosine(left, right) == pytest.approx(math.sqrt(0.5), abs=1e-15)


def test_views_pair_logical_elements() -> None:
    values = torch.arange(1.0, 13.0).reshape(3, 4)
    assert cosine(values.t(), values.t().contiguous()) == 1.0
    permuted = cosine(values.t().reshape(3, 4), values)
    assert permuted is not None
    assert permuted < 0.99


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ShapeMismatchError, match=r"\(2, 2\).*\(4,\)"):
        cosine(torch.ones(2, 2), torch.ones(4))
