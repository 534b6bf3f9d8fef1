"""Slices beside a loop over quantiles; planted low precision in one row and in small values, and its clean twins."""

from __future__ import annotations

import pytest
import torch
from bounds_notation import drawn, judged

from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.reproach import SUMMING
from opsdebug_ci.numerics.slices import DECILES, FEWEST, LIMITS, far_worse

UNIT = 2.0**-11


def row_loop(error: list[float], framework: list[float], truth: list[float]) -> bool:
    """The definition for one slice, in plain Python."""
    floor = UNIT * (sum(value * value for value in truth) / len(truth)) ** 0.5
    mine, theirs = sorted(error), sorted(framework)
    return all(
        mine[round(q * (len(mine) - 1))] > factor * max(theirs[round(q * (len(mine) - 1))], floor)
        for q, factor in LIMITS
    )


@pytest.mark.parametrize("seed", range(4))
def test_rows_against_the_loop(seed: int) -> None:
    truth = drawn("normal", 5, FEWEST, dtype=torch.float64, seed=seed)
    framework = drawn("uniform", 5, FEWEST, dtype=torch.float64, seed=seed + 10) * 1e-3
    error = framework * torch.tensor([0.5, 1.0, 1.9, 3.5, 40.0], dtype=torch.float64).unsqueeze(-1)
    found = far_worse(error, framework, truth, UNIT)
    wanted = [row_loop(*(side[row].tolist() for side in (error, framework, truth))) for row in range(5)]
    assert found.all(-1).tolist() == wanted
    assert wanted[0] is False
    assert wanted[4] is True


def test_small_values_are_a_slice_of_their_own() -> None:
    """Errors that only the small tenth of the values has, spread over all rows: no row shows them."""
    truth = drawn("normal", 64, 64, dtype=torch.float64)
    small = truth.abs() < truth.abs().flatten().kthvalue(truth.numel() // DECILES).values
    error = torch.where(small, 1e-3, 0.0).double()
    found = far_worse(error, torch.zeros_like(error), truth, 2.0**-14)
    assert bool(found.any())
    assert not bool((found & (truth.abs() > 0.3)).any())


def test_the_framework_s_own_error_and_one_rounding_are_allowed() -> None:
    truth = drawn("normal", 16, 64, dtype=torch.float64)
    error = truth.abs() * 1e-2
    assert not bool(far_worse(error, error, truth, UNIT).any())
    assert not bool(far_worse(truth.abs().clamp_max(1.0) * UNIT, torch.zeros_like(truth), truth, UNIT).any())


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (FEWEST - 1,)])
def test_too_few_elements_say_nothing(shape: tuple[int, ...]) -> None:
    truth = torch.ones(shape, dtype=torch.float64)
    assert not bool(far_worse(truth, torch.zeros_like(truth), truth, UNIT).any())


def test_a_truth_that_is_not_finite_leaves_its_slice_out() -> None:
    truth = torch.ones(2, FEWEST, dtype=torch.float64)
    truth[0, 3] = torch.inf
    error = torch.ones_like(truth)
    found = far_worse(error, torch.zeros_like(truth), truth, UNIT)
    assert found.any(-1).tolist() == [False, True]


def cancelling(x: torch.Tensor) -> torch.Tensor:
    """log of a sum of exponentials of almost equal size, minus that size: the truth is small, its terms are not."""
    return (torch.exp(x.float()) - torch.exp(x.float() * 0.9999)).to(x.dtype)


@pytest.mark.parametrize("kind", [Kind.TRANSCENDENTAL, *sorted(SUMMING, key=str), Kind.AUTO])
def test_only_declared_kinds_without_an_order_of_summation_are_held_to_it(kind: Kind) -> None:
    x = drawn("uniform", 32, 64, dtype=torch.bfloat16)
    exact = torch.exp(x.double()) - torch.exp(x.double() * 0.9999)
    reading = judged(cancelling(x), cancelling, x, kind=kind)
    assert reading.worse_than_framework == 0
    lifted = exact + 9e-7 * torch.sign(exact)
    worse = judged(lifted.to(torch.bfloat16), cancelling, x, kind=kind)
    assert (worse.worse_than_framework > 0) == (kind is Kind.TRANSCENDENTAL)
