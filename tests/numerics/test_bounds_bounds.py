"""The tolerance of an output against rationals, and the sentence that explains it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from bounds_notation import wide

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.bounds import Bound, BoundTerms, bound_of, deviation_multiple, licensed
from opsdebug_ci.numerics.spread import Spread

Y = wide(0.0, 1.5, -300.0, 1e-30, math.inf, -math.inf, math.nan)
FINITE = 4


def terms(
    output: str = "float32", *, kind: Kind = Kind.REDUCTION, flushes: bool = False, self_reference: bool = False
) -> BoundTerms:
    compute = FLOAT_FORMATS["float64" if output == "float64" else "float32"]
    return BoundTerms(
        kind=kind,
        output=FLOAT_FORMATS[output],
        compute=compute,
        accumulate=compute,
        flushes=flushes,
        self_reference=self_reference,
    )


def spread(deviation: float, worst: float, operand: float | None = None) -> Spread:
    return Spread(
        deviation=torch.full_like(Y, deviation),
        worst=torch.full_like(Y, worst),
        operand=None if operand is None else torch.full_like(Y, operand),
    )


def bound(of: Spread | None = None, contract: Contract | None = None, **options: object) -> Bound:
    return bound_of(Y, of, terms(**options), contract or Contract())  # type: ignore[arg-type]  # keywords of `terms`


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_one_rounding_is_u_y_and_half_a_subnormal(name: str) -> None:
    form = FLOAT_FORMATS[name]
    u, eta = Fraction(1, 2**form.precision), Fraction(2) ** (form.min_exponent - form.precision + 1) / 2
    exact = [float(u * abs(Fraction(y)) + eta) for y in Y[:FINITE].tolist()]
    found = bound(output=name)
    assert found.rounding[:FINITE].tolist() == pytest.approx(exact, rel=1e-12, abs=0)
    assert torch.equal(found.tolerance, found.rounding)
    assert torch.equal(found.worst_case, 2 * found.rounding)


def test_where_the_reference_is_not_finite_only_eta_is_left() -> None:
    found = bound()
    assert found.rounding[FINITE:].tolist() == [2.0**-150] * 3


def test_green_is_lambda_deviations_and_amber_the_largest_explanation() -> None:
    multiple = deviation_multiple(Y.numel())
    for of, explained in (
        (spread(1e-3, 1e-2), 2 * multiple * 1e-3),
        (spread(1e-3, 0.03), 0.03),
        (spread(1e-3, 1.0), 1.0),
        (spread(1e-3, 1e-2, operand=0.5), multiple * 0.5),
        (spread(1e-3, 0.03, operand=1e-9), 0.03),
    ):
        found = bound(of)
        assert (found.tolerance - found.rounding).tolist() == pytest.approx([multiple * 1e-3] * 7, rel=1e-9)
        assert (found.worst_case - found.rounding).tolist() == pytest.approx([explained] * 7, rel=1e-9)
        assert bool((found.worst_case >= found.tolerance).all())


@pytest.mark.parametrize("elements", [0, 1, 1000, 10**6, 10**9])
def test_lambda_grows_with_the_elements_so_that_false_alarms_do_not(elements: int) -> None:
    """Two-sided Gaussian tail: elements * erfc(lambda/sqrt(2)) stays below one in a thousand outputs."""
    multiple = deviation_multiple(elements)
    assert multiple >= 6.0
    assert elements * math.erfc(multiple / math.sqrt(2)) < 1e-3


@pytest.mark.parametrize("kind", [Kind.EXACT, Kind.INDEX])
def test_exact_kinds_leave_no_room(kind: Kind) -> None:
    found = bound(spread(1.0, 1.0), kind=kind)
    assert found.exact
    assert float(found.worst_case.abs().max()) == 0.0
    assert found.text == "exact: bits must agree"


@pytest.mark.parametrize(
    ("output", "eta"),
    [
        ("float32", 2.0**-126),
        ("bfloat16", 2.0**-126),
        ("float16", 2.0**-25),
        ("float64", 2.0**-1022),
    ],
)
def test_flushing_forgives_subnormals_of_the_compute_format(output: str, eta: float) -> None:
    assert float(bound(output=output, flushes=True).rounding[0]) == pytest.approx(eta, rel=1e-12)
    assert float(bound(output=output).rounding[0]) < eta or output == "float16"


def test_a_reference_of_the_same_precision_doubles_everything() -> None:
    single, double = bound(spread(1e-3, 1.0)), bound(spread(1e-3, 1.0), self_reference=True)
    for one, two in (
        (single.rounding, double.rounding),
        (single.tolerance, double.tolerance),
        (single.worst_case, double.worst_case),
    ):
        assert torch.allclose(two, 2 * one, rtol=1e-12)
    assert "doubled" in double.text and "doubled" not in single.text


@pytest.mark.parametrize(
    ("contract", "tolerances"),
    [
        (Contract(atol=0.5), [0.5, 0.5, 0.5]),
        (Contract(rtol=0.1), [0.0, 0.15, 30.0]),
        (Contract(atol=0.5, rtol=0.1), [0.5, 0.65, 30.5]),
        (Contract(atol=0.0), [0.0, 0.0, 0.0]),
    ],
)
def test_the_user_s_tolerance_overrides_ours_and_says_so(contract: Contract, tolerances: list[float]) -> None:
    found = bound(spread(1.0, 1.0), contract, kind=Kind.EXACT)
    assert found.tolerance[:3].tolist() == pytest.approx(tolerances)
    assert torch.equal(found.worst_case, found.tolerance)
    assert not found.exact
    assert found.text.startswith("overridden by the contract: atol=")


def test_the_bound_says_its_terms() -> None:
    assert bound(output="float16", flushes=True).text == (
        "reduction: u_o*|y| + eta + 6.0*sigma; u_o=2^-11 (float16), eta=3e-08, sigma from float32 steps and float32 "
        "sums; subnormals may flush to zero; worst case: max(12.0*sigma, all roundings of a sum conspiring) for the "
        "last term"
    )


def test_a_bound_of_nothing_is_empty() -> None:
    assert bound_of(torch.empty(0, 3, dtype=torch.float64), None, terms(), Contract()).tolerance.shape == (0, 3)


def licence_of(native_errors: list[float]) -> list[float]:
    """Worst cases of a row of ones, given the framework's errors in it; so far rounding is 0.1, worst case 1."""
    expected = torch.ones(1, len(native_errors), dtype=torch.float64)
    one, rounding = torch.ones_like(expected), torch.full_like(expected, 0.1)
    bound = Bound(rounding=rounding, tolerance=one, worst_case=one, exact=False, text="so far")
    native = expected + torch.tensor([native_errors], dtype=torch.float64)
    return licensed(bound, expected, native, actual=expected).worst_case[0].tolist()


def test_the_framework_licenses_three_times_its_inner_error_in_the_row() -> None:
    assert licence_of([0.0, 0.6, 0.0]) == pytest.approx([1.6, 1.6, 1.6])
    assert licence_of([0.0, 0.1, 0.0]) == [1.0, 1.0, 1.0], "rounding once licenses nothing"


def test_a_bad_framework_kernel_licenses_no_more_than_the_cap() -> None:
    assert licence_of([0.0, 500.0]) == [4.0, 4.0]
    assert licence_of([math.nan, math.inf]) == [1.0, 1.0]


def steps_license(units: torch.Tensor) -> bool:
    """Whether errors of so many standard deviations of steps in half precision are licensed by them alone."""
    expected = torch.ones_like(units)
    some = torch.full_like(units, 1e-3)
    bound = Bound(rounding=some, tolerance=some, worst_case=some, exact=False, text="so far")
    found = licensed(bound, expected, expected, expected + 0.5 * units, torch.full_like(units, 0.5))
    return bool((found.worst_case > 1.0).all())


def test_errors_that_look_like_steps_in_half_precision_are_licensed_by_them() -> None:
    noise = torch.randn(64, 16, generator=torch.Generator().manual_seed(0)).double()
    shared = torch.randn(64, 1, generator=torch.Generator().manual_seed(1)).double().expand(64, 16)
    assert steps_license(noise)
    assert steps_license(shared), "a row may share the step that rounded"


def test_errors_that_are_larger_or_lean_to_one_side_are_not() -> None:
    noise = torch.randn(64, 16, generator=torch.Generator().manual_seed(0)).double()
    assert not steps_license(3.0 * noise)
    assert not steps_license(noise + 1.0), "a wrong factor"
    assert not steps_license(torch.zeros_like(noise) + math.nan)
