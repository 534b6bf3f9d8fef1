"""Spread of whole references against closed forms, and what it must not depend on."""

from __future__ import annotations

import math

import pytest
import torch
from bounds_notation import U, arithmetic, drawn, reference_run, spread_of
from torch.nn import functional as F  # noqa: N812 - what torch users call it

from opsdebug_ci.numerics.noise import WORST_ROUNDINGS
from opsdebug_ci.numerics.spread import LARGE_ELEMENTS, POOLED_SHARE, measure_spread


def quadratic_mean(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())


@pytest.mark.parametrize("elements", [4096, LARGE_ELEMENTS + 1])
def test_one_step_spreads_by_one_rounding(elements: int) -> None:
    x = drawn("normal", elements)
    spread, y = spread_of(lambda t: t * t, x), x.double().square()
    relative = spread.deviation / y
    assert quadratic_mean(relative) == pytest.approx(U / math.sqrt(3), rel=0.03)
    assert float(relative.min()) >= POOLED_SHARE * float(relative.median()) * (1 - 0.05)
    assert torch.allclose(spread.worst, WORST_ROUNDINGS * U * y, rtol=1e-5, atol=0)


def test_steps_add_up_as_squares_and_at_worst_as_sizes() -> None:
    x = drawn("uniform", 4096) + 1.0
    spread, y = spread_of(lambda t: t * 3.0 * 5.0 * 7.0, x), x.double() * 105
    assert quadratic_mean(spread.deviation / y) == pytest.approx(U, rel=0.03)
    assert float((spread.worst / y).max()) == pytest.approx(3 * WORST_ROUNDINGS * U, rel=1e-4)


def test_a_product_spreads_by_u_root_v() -> None:
    a, b = drawn("normal", 32, 256), drawn("normal", 256, 32, seed=1)
    terms = a.double()[:, :, None] * b.double()[None]
    y, q, s = terms.sum(1), terms.square().sum(1), terms.abs().sum(1)
    v = 256 * y.square() / 3 + (256 * q - y.square()) / 2
    spread = spread_of(torch.mm, a, b)
    assert quadratic_mean(spread.deviation / (U * v.sqrt())) == pytest.approx(1.0, rel=0.05)
    # Pooling may raise it where |y| is large, never lower it.
    ratio = spread.worst / torch.minimum(256 * U / (1 - 256 * U) * s, U * (s + (256 * v).sqrt()))
    assert float(ratio.min()) > 1 - 1e-4
    assert float(ratio.median()) == pytest.approx(1.0, rel=1e-4)


def test_in_place_steps_spread_like_any_other() -> None:
    x, other = drawn("normal", 4096), drawn("normal", 4096, seed=1)

    def in_place(t: torch.Tensor, o: torch.Tensor) -> torch.Tensor:
        return t.clone().exp_().mul_(o)

    fresh = spread_of(lambda t, o: t.exp() * o, x, other)
    written = spread_of(in_place, x, other)
    assert quadratic_mean(written.deviation) == pytest.approx(quadratic_mean(fresh.deviation), rel=0.1)
    assert quadratic_mean(written.worst) == pytest.approx(quadratic_mean(fresh.worst), rel=0.1)


def test_a_view_taken_after_a_fused_call_still_holds() -> None:
    """layer_norm of a transposed view is contiguous; the noisy one, written out, must be as well."""
    x = drawn("normal", 8, 16).t()
    spread = spread_of(lambda t: F.layer_norm(t, (8,)).view(-1), x)
    assert spread.deviation.shape == (128,)
    assert float(spread.deviation.min()) > 0


def test_a_masked_row_does_not_hide_the_others() -> None:
    scores = drawn("normal", 4, 8)
    scores[1] = -math.inf
    spread = spread_of(lambda t: torch.softmax(t, 1), scores)
    assert float(spread.deviation[1].abs().max()) == 0.0
    assert float(spread.deviation[[0, 2, 3]].min()) > 0


def test_steps_in_numpy_are_noised_at_the_arguments() -> None:
    """Mean of 100: each argument off by u/sqrt(3), their mean off by u*rms/sqrt(300), times sqrt(100) terms."""
    x = drawn("uniform", 64, 100)

    def invisible(t: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(t.numpy().mean(1))

    spread = spread_of(invisible, x)
    expected = U * x.double().square().mean(1).sqrt() / math.sqrt(3)
    assert quadratic_mean(spread.deviation / expected) == pytest.approx(1.0, rel=0.2)


def test_integers_and_nothing_have_no_spread() -> None:
    x = drawn("normal", 4, 5)
    values, indices = measure_spread(reference_run(lambda t: tuple(t.exp().topk(2)), x), arithmetic())
    assert values.deviation.shape == (4, 2) and float(values.deviation.min()) > 0
    assert float(indices.deviation.abs().max()) == 0.0
    empty = spread_of(torch.exp, torch.empty(0, 3))
    assert empty.deviation.shape == (0, 3)


def test_operand_casts_are_measured_only_when_forgiven() -> None:
    a, b = drawn("normal", 32, 256), drawn("normal", 256, 32, seed=1)
    assert spread_of(torch.mm, a, b).operand is None
    q = a.double().square() @ b.double().square()
    cast = spread_of(torch.mm, a, b, operand="bfloat16").operand
    assert cast is not None
    assert quadratic_mean(cast / (2.0**-8 * (2 * q / 3).sqrt())) == pytest.approx(1.0, rel=0.1)


def test_the_seed_decides() -> None:
    x = drawn("normal", 16, 32)
    first, again, other = (spread_of(lambda t: torch.softmax(t, 1), x, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.deviation, again.deviation)
    assert torch.equal(first.worst, again.worst)
    assert not torch.equal(first.deviation, other.deviation)
    assert quadratic_mean(first.deviation) == pytest.approx(quadratic_mean(other.deviation), rel=0.15)


def test_measuring_leaves_the_arguments_and_the_generator_alone() -> None:
    x = drawn("normal", 16, 32)
    before, state = x.clone(), torch.get_rng_state()
    spread_of(lambda t: t.exp_().add_(1.0), x)
    assert torch.equal(x, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_reference_that_breaks_says_so() -> None:
    def broken(t: torch.Tensor) -> torch.Tensor:
        raise ValueError("broken reference")

    with pytest.raises(ValueError, match="broken reference"):
        spread_of(broken, drawn("normal", 3))


def test_low_is_the_spread_of_half_precision_steps() -> None:
    x = drawn("uniform", 400, dtype=torch.float16) + 1
    run = reference_run(lambda value: torch.exp(value) * value, x)
    narrow = measure_spread(run, arithmetic(torch.float16, operand="float16"))[0]
    assert narrow.low is not None
    ratio = (narrow.low / narrow.deviation).median().item()
    assert 2.0**12 < ratio < 2.0**14  # unit roundoffs 2**-11 against 2**-24


@pytest.mark.parametrize(("dtype", "operand"), [(torch.float32, "float32"), (torch.float16, None)])
def test_low_is_left_out_where_nothing_is_narrower_or_the_kind_is_declared(dtype, operand) -> None:
    run = reference_run(torch.exp, drawn("uniform", 40, dtype=dtype))
    assert measure_spread(run, arithmetic(dtype, operand=operand))[0].low is None
