"""What is accepted besides the reference's own answer, and what is not: each with a wrong twin."""

from __future__ import annotations

import math

import pytest
import torch
from bounds_notation import judged, reference_run, wide

from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Kind, Zone
from opsdebug_ci.numerics.spread import Arithmetic, Evaluations

SINGLE = Arithmetic(compute=FLOAT_FORMATS["float32"], accumulate=FLOAT_FORMATS["float32"], operand=None, seed=0)


def floats(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# Decisions


def bins(x: torch.Tensor) -> torch.Tensor:
    return torch.floor(x / 0.125)


@pytest.mark.parametrize("kind", [Kind.AUTO, Kind.ELEMENTWISE])
def test_an_exact_quotient_decides_which_whole_number_it_is(kind: Kind) -> None:
    x = torch.arange(1, 200) * 0.125
    assert judged(bins(x), bins, x, kind=kind).rejected == 0
    one_less = bins(x)
    one_less[::50] -= 1
    assert judged(one_less, bins, x, kind=kind).rejected == 4


def test_a_quotient_that_rounds_may_fall_on_either_side_of_its_border() -> None:
    step = 0.07
    x = (torch.arange(1, 4000) + 0.5) * torch.tensor(step)

    def codes(x: torch.Tensor) -> torch.Tensor:
        return torch.round(x / step)

    other = torch.round(x * torch.tensor(1 / step))
    assert bool((other != codes(x)).any())
    reading = judged(other, codes, x)
    assert reading.rejected == 0 and reading.unspecified > 0
    assert judged(codes(x) + 1.0, codes, x).rejected > 0  # the other side of a border that is far away


@pytest.mark.parametrize("multiply", [torch.matmul, lambda a, b: torch.addmm(torch.ones(8), a, b)], ids=["mm", "addmm"])
def test_a_product_of_whole_numbers_is_exact_and_decides(multiply) -> None:  # type: ignore[no-untyped-def]
    def halved(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.floor(multiply(a, b) / 2)

    a, b = (torch.round(10 * floats(*shape, seed=2)) for shape in ((6, 40), (40, 8)))
    assert judged(halved(a, b), halved, a, b).rejected == 0
    even = multiply(a, b) % 2 == 0
    assert 0 < int(even.sum()) == judged(halved(a, b) - even.float(), halved, a, b).rejected


def packed_linear(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    scale = w.abs().amax(1, keepdim=True) / 7
    codes = (torch.round(w / scale) + 8).to(torch.uint8)
    return x @ ((codes.float() - 8) * scale).T


def test_whole_numbers_inside_a_reference_leave_no_room_for_a_wrong_scale() -> None:
    x, w = floats(8, 64), floats(16, 64, seed=1)
    right = packed_linear(x, w)
    assert judged(right.clone(), packed_linear, x, w).rejected == 0
    assert judged(right * 1.005, packed_linear, x, w).rejected > 0


def scores(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = torch.topk(torch.softmax(x, -1), 2)
    return values, indices


def chosen(x: torch.Tensor) -> torch.Tensor:
    return scores(x)[1]


def test_equal_computed_scores_may_be_chosen_in_any_order_but_none_twice() -> None:
    x = floats(6, 8)
    x[:, 1:] = x[:, 1:2]
    indices = chosen(x)
    other = torch.where(indices == 0, 0, 7 - indices + 1).clamp(0, 7)
    other[:, 1] = torch.where(other[:, 1] == other[:, 0], (other[:, 0] % 7) + 1, other[:, 1])
    assert not torch.equal(other, indices)
    assert judged(other, chosen, x).rejected == 0
    twice = other.clone()
    twice[:, 1] = twice[:, 0]
    assert judged(twice, chosen, x).rejected > 0


def test_scores_that_are_near_but_apart_are_not_a_tie() -> None:
    x = torch.zeros(4, 8)
    x[:, 3], x[:, 5] = 1.0, 1.0001
    swapped = chosen(x).flip(-1)
    assert judged(chosen(x), chosen, x).rejected == 0
    assert judged(swapped, chosen, x).rejected == swapped.numel()


def ordered(x: torch.Tensor) -> torch.Tensor:
    return torch.sort(x, dim=-1, stable=True).indices


def test_a_stable_order_specifies_its_ties() -> None:
    x = torch.zeros(2, 5)
    assert judged(ordered(x), ordered, x).rejected == 0
    assert judged(ordered(x).flip(-1), ordered, x).rejected > 0


def routed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    index = torch.topk(x.sum(-1), 2).indices
    return index, x[index]


def test_what_follows_from_a_choice_follows_from_the_operator_s() -> None:
    x = torch.ones(5, 3)
    x[:, 0] += torch.arange(5)
    x[:, 1] -= torch.arange(5)  # five equal sums of different rows
    source = Evaluations(reference_run(routed, x), SINGLE)
    index = source.centre[0]
    mine = torch.tensor([value for value in range(5) if value not in index.tolist()][:2])
    assert source.conditioned(1) is None
    source.given(0, mine)
    follows = source.conditioned(1)
    assert follows is not None and torch.equal(follows, x[mine].double())


# What is not finite


def masked(x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    hidden = torch.ones(x.shape[0], x.shape[1], dtype=torch.bool).triu(1)
    return torch.softmax(x.masked_fill(hidden, -math.inf), -1) @ v


def test_what_is_masked_need_not_reach_the_output() -> None:
    x, v = floats(6, 6), floats(6, 3, seed=1)
    v[4, 1] = math.nan
    skipping = torch.stack([torch.softmax(x[i, : i + 1], -1) @ v[: i + 1] for i in range(6)])
    assert not torch.equal(torch.isnan(skipping), torch.isnan(masked(x, v)))
    reading = judged(skipping, masked, x, v)
    assert reading.rejected == 0 and reading.unspecified > 0
    dropped = torch.stack([torch.softmax(x[i, : i + 1], -1) @ torch.nan_to_num(v[: i + 1]) for i in range(6)])
    assert judged(dropped, masked, x, v).rejected == 2  # rows 4 and 5 see the NaN


@pytest.mark.parametrize(
    ("right", "drops_nan"),
    [
        (lambda x: x.amax(-1), lambda x: torch.nan_to_num(x, nan=-1e30).amax(-1)),
        (torch.relu, lambda x: torch.where(x > 0, x, 0.0)),
        (lambda x: x.clamp(-1, 1), lambda x: torch.fmin(torch.fmax(x, torch.tensor(-1.0)), torch.tensor(1.0))),
        (lambda x: x.sum(-1), lambda x: x.nansum(-1)),
        (lambda x: x * 2 + 1, lambda x: torch.nan_to_num(x * 2 + 1)),
    ],
    ids=["max", "relu", "clip", "sum", "elementwise"],
)
def test_a_nan_that_reaches_an_output_is_kept(right, drops_nan) -> None:  # type: ignore[no-untyped-def]
    x = floats(8, 33)
    x[2, 5] = x[4, 0] = math.nan
    assert judged(right(x), right, x).rejected == 0
    assert judged(drops_nan(x), right, x).rejected > 0


def test_the_limit_of_a_formula_that_overflows_to_nan_is_right() -> None:
    x = torch.tensor([[1.0, math.inf, 2.0, -3.0]])
    limit = torch.tensor([[0.0, 1.0, 0.0, 0.0]])
    assert bool(torch.isnan(torch.softmax(x, -1)).any())

    def softmax(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)

    assert judged(limit, softmax, x).rejected == 0
    assert judged(limit.flip(-1), softmax, x).rejected > 0


# Zeros


def pooled(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.max_pool1d(x, 3, 1, 1)


@pytest.mark.parametrize("kind", [Kind.EXACT, Kind.AUTO])
@pytest.mark.parametrize("function", [pooled, lambda x: x.cummax(1)[0], lambda x: x.clamp(min=0.0).amax(1)])
def test_which_zero_is_the_largest_is_not_specified(kind: Kind, function) -> None:  # type: ignore[no-untyped-def]
    x = torch.tensor([[-0.0, 0.0, -1.0, 0.0, -0.0, -2.0, -0.0]])
    right = function(x)
    assert judged(torch.where(right == 0, -right, right), function, x, kind=kind).rejected == 0
    assert judged(right - 1.0, function, x, kind=kind).rejected > 0


def test_a_zero_that_nobody_chose_keeps_its_sign() -> None:
    x = torch.tensor([-0.0, 0.0, 2.0])
    assert judged(x.abs(), torch.neg, x.abs(), kind=Kind.EXACT).rejected > 0


# The range of the working precision


def test_a_step_beyond_the_range_specifies_nothing() -> None:
    x = torch.full((4,), 1e25)

    def root_of_square(x: torch.Tensor) -> torch.Tensor:
        return (x * x).sqrt()

    reading = judged(torch.full((4,), 3e24), root_of_square, x)
    assert reading.rejected == 0 and reading.unspecified == 4
    assert judged(torch.full((4,), 3e10), root_of_square, x / 1e15).rejected == 4


def test_a_flushed_step_is_forgiven_and_a_flushed_move_is_not() -> None:
    x, zero = torch.tensor([1e-40, 1.0]), torch.tensor([0.0, 1.0])
    assert judged(zero * 0.5, lambda x: x * 0.5, x).rejected == 0
    assert judged(zero, torch.abs, x).rejected == 1


def test_flushed_weights_are_forgiven_times_what_they_meet() -> None:
    x, v = torch.tensor([[0.0, -88.0]]), torch.tensor([[0.0], [1e30]])

    def weighed(x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return (torch.exp(x) * 1e-2) @ v

    assert judged(torch.zeros(1, 1), weighed, x, v).rejected == 0
    assert judged(torch.zeros(1, 1), weighed, x / 4, v).rejected == 1


def test_on_values_that_somebody_chose_only_a_flush_before_the_last_step_is_forgiven() -> None:
    x = torch.tensor([-95.0, -50.0, 1.0])
    flushed = torch.exp(x) * torch.tensor([0.0, 1.0, 1.0])
    assert judged(flushed, torch.exp, x).rejected == 0
    assert judged(flushed, torch.exp, x, own_values=True).rejected == 1
    assert judged(flushed * 0.5, lambda x: torch.exp(x) * 0.5, x, own_values=True).rejected == 0


# The framework


def test_an_operator_that_answers_as_the_framework_is_right() -> None:
    x = floats(64).to(torch.bfloat16)

    def rounds_inside(x: torch.Tensor) -> torch.Tensor:
        return ((x * 3) / 7 + 0.1) * 5  # each step in bfloat16

    assert judged(rounds_inside(x), rounds_inside, x, kind=Kind.ELEMENTWISE).rejected == 0
    assert judged(rounds_inside(x) * 1.1, rounds_inside, x, kind=Kind.ELEMENTWISE).rejected > 0


def test_amber_ends_at_a_small_multiple_of_the_tolerance() -> None:
    """One accumulator for millions of terms of one sign loses per cents that no framework's sum loses."""
    x = torch.rand(1 << 20, generator=torch.Generator().manual_seed(0)) + 0.5

    def mean(x: torch.Tensor) -> torch.Tensor:
        return x.mean()

    assert judged(mean(x), mean, x).rejected == 0
    assert judged(mean(x) * (1 - 0.007), mean, x, kind=Kind.REDUCTION).rejected == 1


def test_equal_terms_added_one_by_one_stay_amber() -> None:
    x = torch.full((1, 8192), 0.1)
    serial = torch.tensor(0.0)
    for value in x[0]:
        serial = serial + value

    def total(x: torch.Tensor) -> torch.Tensor:
        return x.sum(-1)

    reading = judged(serial.reshape(1), total, x, kind=Kind.REDUCTION)
    assert reading.accuracy is not None and reading.accuracy.zone is Zone.AMBER


# How much is run


def test_a_right_output_is_settled_by_one_noisy_run() -> None:
    x, runs = floats(64, 64), []

    def counted(change, observer):  # type: ignore[no-untyped-def]
        runs.append(1)
        return reference_run(lambda x: torch.softmax(x, -1), x)(change, observer)

    source = Evaluations(counted, SINGLE)
    source.spread(0, 1)
    assert len(runs) == 2
    source.spread(0, 4)
    assert len(runs) == 5


def test_running_statistics_have_an_error_of_their_own() -> None:
    x, mean, variance = floats(32, 4), torch.zeros(4), torch.ones(4)

    def updated(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
        torch.nn.functional.batch_norm(x, mean, variance, training=True)
        return variance

    source = Evaluations(reference_run(updated, x, mean, variance), SINGLE)
    deviation = source.spread(0).deviation
    assert bool((deviation > 1e-9).all()) and bool((deviation < 1e-6).all())
    assert source.centre[0].tolist() == pytest.approx((0.9 + 0.1 * x.double().var(0)).tolist(), rel=1e-7)


def test_an_order_s_indices_are_told_with_the_values_they_order() -> None:
    source = Evaluations(reference_run(chosen, floats(3, 5)), SINGLE)
    found = source.order_behind(0)
    assert found is not None
    values, axis, deviation = found
    assert axis == 1 and values.shape == deviation.shape == (3, 5)
    assert float(deviation.max()) < 1e-6
    assert wide(1.0).equal(values.sum(-1)[:1].round())
