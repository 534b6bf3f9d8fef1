"""Student's t against integration and the tables."""

from __future__ import annotations

import math

import mpmath
import pytest

from opsdebug_ci.regress.student import upper_quantile, upper_tail


@pytest.mark.parametrize("freedom", [1, 2, 7, 29])
@pytest.mark.parametrize("t", [-1.5, 0.0, 0.7, 4.0, 40.0])
def test_the_tail_is_the_integral_of_the_density(t: float, freedom: int) -> None:
    scale = mpmath.gamma((freedom + 1) / 2) / (mpmath.sqrt(freedom * mpmath.pi) * mpmath.gamma(freedom / 2))
    integral = mpmath.quad(lambda x: scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2), [t, t + 10, mpmath.inf])
    assert upper_tail(t, freedom) == pytest.approx(float(integral), rel=1e-6)


@pytest.mark.parametrize(
    ("chance", "freedom", "expected"),
    [  # Abramowitz and Stegun, table 26.10
        (0.25, 1, 1.000),
        (0.05, 7, 1.895),
        (0.01, 29, 2.462),
        (0.005, 10, 3.169),
        (0.0005, 5, 6.869),
    ],
)
def test_quantiles_are_those_of_the_tables(chance: float, freedom: int, expected: float) -> None:
    assert upper_quantile(chance, freedom) == pytest.approx(expected, abs=6e-4)


def test_one_degree_of_freedom_has_a_closed_form() -> None:
    assert upper_quantile(1e-4, 1) == pytest.approx(1 / math.tan(math.pi * 1e-4), rel=1e-9)


def test_the_median_is_zero() -> None:
    assert upper_quantile(0.5, 4) == pytest.approx(0, abs=1e-12)
