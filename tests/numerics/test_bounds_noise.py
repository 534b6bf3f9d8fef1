"""Injected errors against their closed forms, in rationals where the form is exact."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from bounds_notation import DISTRIBUTIONS, U, drawn, noise, wide

from opsdebug_ci.numerics.noise import CONSPIRING, FUNCTION_ULPS, TABLE_LENGTH, WORST_ROUNDINGS, Draws

CPU = torch.device("cpu")
COUNT = 100_000
STATISTICAL = 0.02
"""Relative error of a standard deviation from 1e5 uniform numbers is 0.14 %; ten times that, and more."""


def test_draws_are_uniform_and_uncorrelated() -> None:
    draws = Draws(3, signs=False)
    first, second = draws.window(CPU)[:COUNT], draws.window(CPU)[:COUNT]
    assert float(first.abs().max()) <= 1.0
    assert abs(float(first.mean())) < 4 / math.sqrt(3 * COUNT)
    assert float(first.square().mean()) == pytest.approx(1 / 3, rel=STATISTICAL)
    assert abs(float((first * second).mean())) < 4 / (3 * math.sqrt(COUNT))


def test_signs_are_signs() -> None:
    signs = Draws(3, signs=True).window(CPU)[:COUNT]
    assert set(signs.unique().tolist()) == {-1.0, 1.0}
    assert abs(float(signs.mean())) < 4 / math.sqrt(COUNT)


def test_a_tensor_larger_than_the_table_meets_it_again() -> None:
    noisy = noise().rounding(torch.ones(2, TABLE_LENGTH + 5, dtype=torch.float64))
    flat = noisy.flatten()
    assert noisy.shape == (2, TABLE_LENGTH + 5)
    assert torch.equal(flat[:5], flat[TABLE_LENGTH : TABLE_LENGTH + 5])


def test_no_short_stride_meets_the_table_in_step() -> None:
    """A prime has no divisors, so columns of any matrix see all of it."""
    assert all(TABLE_LENGTH % divisor for divisor in range(2, math.isqrt(TABLE_LENGTH) + 1))


@pytest.mark.parametrize("signs", [False, True])
def test_the_seed_decides(signs: bool) -> None:
    first = Draws(1, signs=signs).window(CPU)
    assert torch.equal(first, Draws(1, signs=signs).window(CPU))
    assert not torch.equal(first, Draws(2, signs=signs).window(CPU))


@pytest.mark.parametrize("roundings", [1.0, 3.0])
def test_a_rounding_is_uniform_within_u(roundings: float) -> None:
    value = drawn("normal", COUNT).double()
    relative = noise().rounding(value, roundings) / value - 1
    assert float(relative.abs().max()) <= roundings * U * (1 + 1e-6)
    assert float(relative.square().mean().sqrt()) == pytest.approx(roundings * U / math.sqrt(3), rel=STATISTICAL)


def test_the_worst_rounding_is_of_fixed_size() -> None:
    value = wide(1.0, -2.0, 3.0, 1e-20)
    error = noise(worst=True).rounding(value) - value
    assert torch.allclose(error.abs(), WORST_ROUNDINGS * U * value.abs(), rtol=1e-7, atol=0)


@pytest.mark.parametrize("worst", [False, True])
def test_values_that_are_not_finite_stay(worst: bool) -> None:
    value = wide(math.inf, -math.inf, math.nan, 0.0, -0.0)
    source = noise(worst=worst)
    for noisy in (source.rounding(value), source.magnitude(value, value.abs(), 2.0), source.function(abs, value)):
        assert noisy[:2].abs().tolist() == [math.inf, math.inf]
        assert torch.isnan(noisy[2])
        assert noisy[3:].tolist() == [0.0, 0.0]


def test_a_magnitude_counts_where_terms_cancel() -> None:
    error = noise(worst=True).magnitude(wide(1e-9), wide(1.0), 2.0) - 1e-9
    assert float(error.abs()) == pytest.approx(2 * WORST_ROUNDINGS * U, rel=1e-6)


def test_a_complex_rounding_has_the_size_of_the_number() -> None:
    value = torch.complex(torch.full((COUNT,), 1e-9, dtype=torch.float64), torch.ones(COUNT, dtype=torch.float64))
    error = noise().rounding(value) - value
    for part in (error.real, error.imag):
        assert float(part.square().mean().sqrt()) == pytest.approx(U / math.sqrt(3), rel=STATISTICAL)


@pytest.mark.parametrize("x", [-40.0, -1.0, 0.5, 30.0])
def test_a_function_loses_what_its_condition_says(x: float) -> None:
    """exp(x*(1 + d)) = exp(x)*(1 + x*d): relative deviation 2u*sqrt((1 + x**2)/3)."""
    value = torch.full((COUNT,), x, dtype=torch.float64)
    relative = noise().function(torch.exp, value) / math.exp(x) - 1
    closed = FUNCTION_ULPS * U * math.sqrt((1 + x**2) / 3)
    assert float(relative.square().mean().sqrt()) == pytest.approx(closed, rel=STATISTICAL)


def variance(terms: list[float]) -> Fraction:
    """V of section 4.2 in rationals."""
    exact = [Fraction(term) for term in terms]
    n, y, q = len(exact), sum(exact), sum(term**2 for term in exact)
    return n * y**2 / 3 + max(Fraction(0), n * q - y**2) / 2


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [1, 7, 250])
def test_a_sum_s_deviation_is_u_times_the_root_of_v(distribution: str, n: int) -> None:
    row = drawn(distribution, n).double()
    source, runs = noise(), []
    rows = row.expand(2000, n).contiguous()
    for _ in range(5):
        source.restart()
        runs.append(source.sum(rows, [1], keepdim=False) - math.fsum(row.tolist()))
    closed = U * math.sqrt(variance(row.tolist()))
    assert float(torch.stack(runs).square().mean().sqrt()) == pytest.approx(closed, rel=0.03)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [1, 7, 4096])
def test_a_sum_s_worst_case_is_the_smallest_of_three_bounds(distribution: str, n: int) -> None:
    row = drawn(distribution, n).double()
    u = Fraction(U)
    absolute = sum(abs(Fraction(term)) for term in row.tolist())
    any_order = float(n * u / (1 - n * u) * absolute)
    running = U * (float(absolute) + math.sqrt(n * variance(row.tolist())))
    end = CONSPIRING * U * math.sqrt(variance(row.tolist()))
    error = noise(worst=True).sum(row, None, keepdim=False) - math.fsum(row.tolist())
    assert float(error.abs()) == pytest.approx(min(any_order, running, end), rel=1e-6)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_worst_case_covers_roundings_that_conspire_in_the_given_order(distribution: str) -> None:
    """u * (sum of products and partial sums), the running error bound itself, in either direction."""
    for row in drawn(distribution, 20, 500).double():
        worst = float((noise(worst=True).sum(row, None, keepdim=False) - row.sum()).abs())
        for ordered in (row, row.flip(0)):
            partial = ordered.cumsum(0).abs()
            random_walk = U * float(partial.square().sum().sqrt())
            assert worst > 4 * random_walk


def test_the_worst_case_is_capped_where_it_means_nothing() -> None:
    row = torch.ones(5000, dtype=torch.float64)
    error = noise(worst=True, accumulator=2.0**-3).sum(row, None, keepdim=False) - 5000.0
    assert float(error.abs()) == 5000.0


def test_elementwise_steps_and_sums_have_their_own_precision() -> None:
    source = noise(worst=True, u=2.0**-24, accumulator=2.0**-11)
    ones = torch.ones(4, dtype=torch.float64)
    assert float((source.sum(ones, None, keepdim=False) - 4).abs()) == pytest.approx(
        (4 + math.sqrt(4 * 4 * 16 / 3)) * 2.0**-11
    )
    assert float((source.rounding(ones) - 1).abs()[0]) == WORST_ROUNDINGS * 2.0**-24


@pytest.mark.parametrize("dims", [None, [], [0], [-1], [0, 2], [-3, -1]])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums_over_any_axes_keep_the_exact_shape(dims: list[int] | None, keepdim: bool) -> None:
    terms = drawn("normal", 3, 4, 5).double()
    exact = terms.sum() if not dims else terms.sum(dims, keepdim=keepdim)
    noisy = noise().sum(terms, dims, keepdim=keepdim)
    assert noisy.reshape(exact.shape).shape == exact.shape
    assert torch.allclose(noisy.reshape(exact.shape), exact, rtol=0, atol=1e-4)


def test_an_empty_sum_is_zero() -> None:
    assert noise().sum(torch.empty(2, 0, dtype=torch.float64), [1], keepdim=False).tolist() == [0.0, 0.0]
    assert float(noise().sum(torch.empty(0, dtype=torch.float64), None, keepdim=False)) == 0.0


def test_operands_are_rounded_only_when_asked() -> None:
    value = drawn("normal", COUNT).double()
    assert noise().operand(value) is value
    relative = noise(operand=2.0**-8).operand(value) / value - 1
    assert float(relative.square().mean().sqrt()) == pytest.approx(2.0**-8 / math.sqrt(3), rel=STATISTICAL)


def test_sums_of_later_runs_reuse_sizes_of_the_first() -> None:
    source, asked = noise(), []

    def squares() -> torch.Tensor:
        asked.append(1)
        return wide(4.0)

    for _ in range(3):
        source.restart()
        for _ in range(2):
            source.total(wide(2.0), 1.0, squares=squares, absolutes=lambda: wide(2.0))
    assert len(asked) == 2


def test_a_run_that_takes_another_turn_measures_again() -> None:
    source = noise()
    source.sum(torch.ones(3, dtype=torch.float64), None, keepdim=False)
    source.restart()
    noisy = source.sum(torch.ones(2, 3, dtype=torch.float64), [1], keepdim=False)
    assert noisy.shape == (2,)
