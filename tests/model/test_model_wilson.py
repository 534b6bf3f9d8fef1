"""The Wilson interval against values worked out by hand and against its defining equation."""

from __future__ import annotations

from fractions import Fraction

import pytest

from opsdebug_ci.model.wilson import Z, wilson


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        # With z^2 = 3.8414588: (0.5 + 0.19207 -+ 1.95996 sqrt(0.025 + 0.0096036)) / 1.3841459 of 5 in 10.
        (5, 10, 0.236593, 0.763407),
        # (0.1 + 0.0192073 -+ 1.95996 sqrt(0.0009 + 0.000096036)) / 1.0384146 of 10 in 100.
        (10, 100, 0.055229, 0.174366),
        (0, 1000, 0.0, 0.003827),  # z^2 / (n + z^2)
        (1000, 1000, 0.996173, 1.0),
        (0, 1, 0.0, 0.793451),
        (1, 1, 0.206549, 1.0),
    ],
)
def test_known_intervals(count: int, of: int, low: float, high: float) -> None:
    rate = wilson(count, of)
    assert (rate.count, rate.of) == (count, of)
    assert rate.low == pytest.approx(low, abs=1e-6)
    assert rate.high == pytest.approx(high, abs=1e-6)


@pytest.mark.parametrize(("count", "of"), [(1, 7), (3, 40), (39, 40), (12, 1500), (250, 400)])
def test_the_ends_solve_the_equation_they_are_defined_by(count: int, of: int) -> None:
    """|p - P| = z sqrt(P (1 - P) / n) at both ends P, in exact arithmetic from the floats on."""
    share = Fraction(count, of)
    for end in (wilson(count, of).low, wilson(count, of).high):
        exact = Fraction(end)
        assert float((share - exact) ** 2 / (exact * (1 - exact) / of)) == pytest.approx(Z**2, rel=1e-9)


def test_nothing_counted_says_nothing() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
