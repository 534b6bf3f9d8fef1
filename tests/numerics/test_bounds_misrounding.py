"""Misrounding beside exact rationals, planted biases that fire, and correct kernels that stay silent."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from bounds_notation import drawn, judged
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind, Zone
from opsdebug_ci.numerics.bounds import Bound
from opsdebug_ci.numerics.misrounding import BLOCK, MOST_BLOCKS, mean_bias, misrounding

F = torch.nn.functional

HALF = st.sampled_from((torch.float16, torch.bfloat16))


def bound(truth: torch.Tensor, inside: float) -> Bound:
    """One rounding is granted, `inside` of the size of the truth by the steps, and the same in the worst case."""
    rounding = truth.abs() * 2.0**-8
    wide = rounding + inside * truth.abs()
    return Bound(rounding=rounding, tolerance=wide, worst_case=wide, exact=False, text="planted")


def exact_error_inside(actual: float, other: float, truth: float) -> Fraction:
    """Distance from `truth` to the midpoint of `actual` and its neighbour `other`, in rationals."""
    return abs(Fraction(truth) - (Fraction(actual) + Fraction(other)) / 2)


@given(
    dtype=HALF, significand=st.integers(129, 254), fraction=st.fractions(0, 1, max_denominator=997), sign=st.booleans()
)
def test_unexplained_is_what_exact_rationals_say(dtype, significand, fraction, sign) -> None:
    """The output is the neighbour on the wrong side of the truth; its error inside follows from the midpoint."""
    step = 1 if dtype is torch.bfloat16 else 8
    low, high = significand * 8, significand * 8 + (8 if step == 1 else 1)
    truth = float(low + fraction * (high - low))
    nearer_low = Fraction(truth) - low < Fraction(high) - Fraction(truth)
    wrong, right = (high, low) if nearer_low else (low, high)
    if Fraction(truth) * 2 == low + high:
        wrong = right = low if significand * step % 2 == 0 else high  # a tie: whatever nearest-even says is right
    factor = -1.0 if sign else 1.0
    actual, y = torch.tensor([factor * wrong]).to(dtype), torch.tensor([factor * truth], dtype=torch.float64)
    needed = exact_error_inside(wrong, right, truth) if wrong != right else Fraction(0)
    allowed = 2.0**-12
    found = misrounding(actual, y, bound(y, allowed))
    limit = Fraction(bound(y, allowed).worst_case.item()) - Fraction(bound(y, allowed).rounding.item())
    assert found.reading.misrounded == int(wrong != right) * found.reading.visible
    assert bool(found.unexplained[0]) == (found.reading.misrounded == 1 and needed > limit)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rounded_truth_is_never_misrounded(dtype: torch.dtype) -> None:
    truth = drawn("heavy", 4000, dtype=torch.float64)
    found = misrounding(truth.float().to(dtype), truth, bound(truth, 2.0**-23))
    assert found.reading.visible > 3000
    assert found.reading.unexplained == 0
    assert not found.reading.flagged


def layer_norm(eps: float = 1e-5, correction: int = 0) -> Callable[[torch.Tensor], torch.Tensor]:
    def function(x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        centred = wide - wide.mean(-1, keepdim=True)
        variance = wide.var(-1, keepdim=True, correction=correction)
        return (centred * torch.rsqrt(variance + eps)).to(x.dtype)

    return function


def reference_norm(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, (x.shape[-1],))


def twice_rounded(x: torch.Tensor) -> torch.Tensor:
    return F.silu(x) * x


def gate(x: torch.Tensor) -> torch.Tensor:
    return (F.silu(x.float()) * x.float()).to(x.dtype)


PLANTED = {
    "eps of 1e-6": (layer_norm(1e-6), reference_norm, Kind.NORM, (128, 128)),
    "divisor n - 1": (layer_norm(correction=1), reference_norm, Kind.NORM, (16, 4096)),
    "intermediate in half": (twice_rounded, gate, Kind.ELEMENTWISE, (64, 64)),
    "tanh for erf": (
        lambda x: F.gelu(x.float(), approximate="tanh").to(x.dtype),
        F.gelu,
        Kind.TRANSCENDENTAL,
        (64, 64),
    ),
}
"""Defects inside the tolerance of float16: operator, reference, kind, shape."""


@pytest.mark.parametrize("name", PLANTED)
def test_planted_defect_inside_one_rounding_is_rejected(name: str) -> None:
    operator, reference, kind, shape = PLANTED[name]
    x = drawn("normal", *shape, dtype=torch.float16)
    reading = judged(operator(x), reference, x, kind=kind)
    assert reading.misrounding is not None
    assert reading.misrounding.flagged
    assert not reading.misrounding.like_framework
    assert reading.rejected > 0
    assert reading.accuracy is not None
    assert reading.accuracy.zone is Zone.RED


def test_eps_moves_every_output_the_same_way() -> None:
    x = drawn("normal", 128, 128, dtype=torch.float16)
    reading = judged(layer_norm(1e-6)(x), reference_norm, x, kind=Kind.NORM).misrounding
    assert reading is not None
    assert reading.growing_share == pytest.approx(1.0, abs=0.02)
    assert reading.bias_z > 8


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("distribution", ["normal", "uniform", "shifted", "constant"])
def test_clean_twin_shows_nothing_unexplained(name: str, dtype: torch.dtype, distribution: str) -> None:
    _, reference, kind, shape = PLANTED[name]
    x = drawn(distribution, *shape, dtype=dtype)
    reading = judged(reference(x.float()).to(dtype), reference, x, kind=kind)
    assert reading.misrounding is not None
    assert reading.misrounding.unexplained == 0
    assert not reading.misrounding.flagged
    assert reading.rejected == 0


def test_an_open_kind_is_told_but_not_judged() -> None:
    operator, reference, _, shape = PLANTED["divisor n - 1"]
    x = drawn("normal", *shape, dtype=torch.bfloat16)
    reading = judged(operator(x), reference, x, kind=Kind.AUTO, contract=Contract())
    assert reading.misrounding is not None
    assert reading.misrounding.flagged


def test_an_operator_that_does_as_the_framework_does_is_not_judged_for_it() -> None:
    x = drawn("normal", 64, 64, dtype=torch.float16)
    reading = judged(twice_rounded(x), twice_rounded, x, kind=Kind.ELEMENTWISE)
    assert reading.misrounding is not None
    assert reading.misrounding.flagged
    assert reading.misrounding.like_framework


def test_a_tolerance_of_the_users_own_leaves_misrounding_out() -> None:
    x = drawn("normal", 64, 64, dtype=torch.float16)
    reading = judged(twice_rounded(x), gate, x, kind=Kind.ELEMENTWISE, contract=Contract(rtol=1e-2, atol=1e-3))
    assert reading.misrounding is None
    assert reading.rejected == 0


def test_a_reference_at_the_output_s_own_precision_says_nothing_about_rounding() -> None:
    x = drawn("normal", 64, 64, dtype=torch.float16)
    only = {ReferenceKind.TORCH: gate(x)}
    assert judged(twice_rounded(x), gate, x, kind=Kind.ELEMENTWISE, references=only).misrounding is None


def test_naive_reference_that_accepts_pardons_a_misrounding() -> None:
    x = drawn("normal", 64, 64, dtype=torch.float16)
    wide = x.double()
    low = F.silu(x).double() * wide
    references = {ReferenceKind.PRECISE: F.silu(wide) * wide, ReferenceKind.NAIVE: low}
    reading = judged(twice_rounded(x), gate, x, kind=Kind.ELEMENTWISE, references=references)
    assert reading.rejected == 0
    assert reading.disputed > 0


def test_float32_errors_that_lean_are_told() -> None:
    x = drawn("uniform", 64, 64) + 0.5
    reading = judged(torch.exp(x) * (1 + 12 * 2.0**-24), torch.exp, x, kind=Kind.TRANSCENDENTAL)
    assert reading.bias == pytest.approx(12, abs=1.0)
    assert judged(torch.exp(x), torch.exp, x, kind=Kind.TRANSCENDENTAL).bias is None


def test_mean_bias_is_the_mean() -> None:
    truth = drawn("uniform", 200, dtype=torch.float64) + 1.0
    actual = (truth * (1 + 2.0**-20)).float()
    expected = ((actual.double() - truth) / truth).mean().item() * 2.0**24
    nothing = truth * 2.0**-24
    granted = Bound(rounding=nothing, tolerance=nothing, worst_case=nothing, exact=False, text="planted")
    assert mean_bias(actual, truth, granted) == pytest.approx(expected)
    assert (
        mean_bias(
            actual[:10],
            truth[:10],
            Bound(rounding=nothing[:10], tolerance=nothing[:10], worst_case=nothing[:10], exact=False, text="planted"),
        )
        is None
    )


def test_a_large_output_is_looked_at_in_evenly_spaced_blocks() -> None:
    size = BLOCK * MOST_BLOCKS
    truth = (drawn("uniform", 1000, dtype=torch.float64) + 1.0).repeat(3 * size // 1000)
    found = misrounding(truth.to(torch.bfloat16), truth * (1 + 2.0**-11), bound(truth, 2.0**-16))
    assert found.reading.visible == size
    assert found.reading.flagged
    where = found.unexplained.nonzero().flatten()
    assert int(where[0]) < BLOCK
    assert int(where[-1]) > truth.numel() * (MOST_BLOCKS - 1) // MOST_BLOCKS
