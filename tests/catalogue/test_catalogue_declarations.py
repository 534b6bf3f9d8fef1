"""What the catalogue declares: names, references, cost; and truths the references must know by another path."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch

from opsdebug_ci import Operator
from opsdebug_ci.catalogue import OPERATORS, activations, indexing, normal_tail, normalisation, reductions, spatial
from opsdebug_ci.catalogue.arithmetic import row_max, row_sum
from opsdebug_ci.model.vocabulary import ReferenceKind

ASKED_FOR = (  # noqa: SIM905 - reads better as words
    "add mul_add gelu gelu_tanh silu swiglu gelu_add_residual softmax log_softmax layer_norm layer_norm_bias rms_norm "
    "sum mean logsumexp cumsum matmul matmul_add_bias attention conv2d transpose upsample_bilinear "
    "upsample_bilinear_aligned gather topk"
).split()

NAN, INF = float("nan"), float("inf")


def test_every_promised_operator_is_there_once() -> None:
    names = [operator.name for operator in OPERATORS]
    assert set(ASKED_FOR) <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_declares_all_references_and_a_cost(operator: Operator) -> None:
    assert set(operator.references) == set(ReferenceKind)
    assert operator.cost_function is not None
    cost = operator.cost_function(operator.dims, "float32")
    moves_only = operator.name in ("transpose", "gather")
    assert (cost.flops == 0) == moves_only
    assert cost.bytes is None


def test_flops_of_a_matrix_product_are_two_per_term() -> None:
    matmul = next(operator for operator in OPERATORS if operator.name == "matmul")
    assert matmul.cost_function is not None
    assert matmul.cost_function({"M": 3, "K": 5, "N": 7}, "float32").flops == 2 * 3 * 5 * 7


@pytest.mark.parametrize("z", [-INF, -6.0, -1.5, -0.0, 1e-300, 0.1, 0.5, 1.9999, 2.0, 2.5, 5.0, 9.7, 20.0, 26.5, INF])
def test_erfc_against_mpmath(z: float) -> None:
    truth = float(mpmath.erfc(mpmath.mpf(z)))
    assert normal_tail.erfc(np.array([z]))[0] == pytest.approx(truth, rel=2e-13, abs=0.0)


def test_erfc_of_nan_is_nan() -> None:
    assert np.isnan(normal_tail.erfc(np.array([NAN]))).all()


def test_precise_gelu_is_right_where_the_frameworks_float64_is_not() -> None:
    x = torch.tensor([[[-8.0, -12.0]]], dtype=torch.float64)
    precise = activations.gelu.references[ReferenceKind.PRECISE](x)[0, 0]
    with mpmath.workdps(40):
        truth = [float(v * mpmath.ncdf(v)) for v in (-8, -12)]
    np.testing.assert_allclose(precise, truth, rtol=1e-12)
    framework = torch.nn.functional.gelu(x)[0, 0]
    assert abs(framework[0].item() / truth[0] - 1.0) > 0.01
    assert framework[1].item() == 0.0


def test_gelu_kernel_keeps_relative_accuracy_far_into_the_tail() -> None:
    x = torch.linspace(-12.5, -1.0, 400).reshape(1, 1, -1)
    wide = x.double().numpy().ravel()
    truth = np.array([float(v * mpmath.ncdf(v)) for v in wide.tolist()])
    error = np.abs(activations.gelu(x).double().numpy().ravel() / truth - 1.0)
    assert (error <= (10.0 + 2.0 * wide * wide) * 2.0**-24).all()


@pytest.mark.parametrize("x", [-200.0, -104.0, -95.0, -89.0, -20.0, 0.5, 89.0, 1e38])
def test_silu_kernel_neither_overflows_nor_flushes(x: float) -> None:
    got = activations.silu(torch.full((1, 1, 1), x)).item()
    exact = torch.tensor(x).double().item()
    with mpmath.workdps(60):
        truth = float(mpmath.mpf(exact) / (1 + mpmath.exp(-mpmath.mpf(exact))))
    assert got == pytest.approx(truth, rel=(8 + abs(exact)) * 2.0**-24 if abs(x) < 200 else 1e-6, abs=2.0**-149)


@pytest.mark.parametrize(
    ("row", "total", "mean", "logsumexp"),
    [
        ([], 0.0, NAN, -INF),
        ([INF, 1.0], INF, INF, INF),
        ([INF, -INF], NAN, NAN, INF),
        ([-INF, -INF], -INF, -INF, -INF),
        ([NAN, INF], NAN, NAN, NAN),
        ([-0.0, -0.0], 0.0, 0.0, float(np.log(2.0))),
    ],
)
def test_reductions_of_special_rows(row: list[float], total: float, mean: float, logsumexp: float) -> None:
    x = torch.tensor(row, dtype=torch.float32).reshape(1, 1, -1)
    for operator, truth in ((reductions.total, total), (reductions.mean, mean), (reductions.logsumexp, logsumexp)):
        functions = [operator.function, *operator.references.values()]
        for answer in (float(np.asarray(function(x))[0, 0]) for function in functions):
            assert answer == pytest.approx(truth, rel=2.0**-22, nan_ok=True), operator.name
            assert np.signbit(answer) == np.signbit(truth) or np.isnan(truth)


def test_exact_sum_rounds_once() -> None:
    assert reductions.exact_sum(np.array([[1e16, 1.0, -1e16, 1.0]])).tolist() == [2.0]


def test_halving_equals_the_exact_sum_of_whole_numbers_at_every_length() -> None:
    for n in range(0, 70):
        x = torch.arange(n, dtype=torch.float32)
        assert row_sum(x).item() == n * (n - 1) / 2
        assert n == 0 or row_max(x).item() == n - 1


def test_topk_ranks_nan_first_and_keeps_the_order_of_ties() -> None:
    x = torch.tensor([[[0.0, -0.0, NAN, 1.0, INF, NAN, -1.0, -INF]]])
    for function in (indexing.topk.function, *indexing.topk.references.values()):
        values, indices = (np.asarray(item)[0, 0] for item in function(x, 8))
        assert indices.tolist() == [2, 5, 4, 3, 0, 1, 6, 7]
        assert np.signbit(values[4:6]).tolist() == [False, True]


def test_layer_norm_of_a_constant_row_is_zero_up_to_one_rounding_of_the_mean() -> None:
    y = normalisation.layer_norm(torch.full((1, 1, 100), 0.1))
    # One rounding of 0.1, magnified by 1/sqrt(eps) = 316.
    assert y.abs().max().item() <= 0.1 * 2.0**-23 * 317.0


@pytest.mark.parametrize(
    ("aligned", "expected"),
    [(False, [0.0, 2.5, 7.5, 10.0]), (True, [0.0, 10.0 / 3.0, 20.0 / 3.0, 10.0])],
)
def test_both_conventions_of_doubling_two_pixels(aligned: bool, expected: list[float]) -> None:
    operator = spatial.upsample_bilinear_aligned if aligned else spatial.upsample_bilinear
    x = torch.tensor([0.0, 10.0]).reshape(1, 1, 1, 2)
    for function in (operator.function, *operator.references.values()):
        assert np.asarray(function(x))[0, 0, 0].tolist() == pytest.approx(expected, rel=1e-6)
