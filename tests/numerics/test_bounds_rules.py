"""Every noise rule: exact in expectation, spread as in the closed forms of the tolerance table, classes kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from bounds_notation import DISTRIBUTIONS, U, deviation, drawn, noise, noisy_errors, wide
from torch.nn import functional as F  # noqa: N812 - what torch users call it

from opsdebug_ci.numerics.lifting import call_lifted
from opsdebug_ci.numerics.noise import WORST_ROUNDINGS
from opsdebug_ci.numerics.noise_rules import ARITHMETIC, DECOMPOSITIONS, EXACT, FUNCTIONS, RULES, noisy_result

LAMBDA, K = 6.0, 4.0
"""Multiples of the tolerance table: statistical parts times 6, elementwise parts times 4."""

Array = np.ndarray[Any, np.dtype[np.float64]]
aten = torch.ops.aten


def x(*shape: int, distribution: str = "normal", seed: int = 0) -> torch.Tensor:
    return drawn(distribution, *shape, seed=seed).double()


def v(terms: Array, axis: int = -1) -> Array:
    """V of the table, from the terms themselves."""
    n, y, q = terms.shape[axis], terms.sum(axis), (terms**2).sum(axis)
    return n * y**2 / 3 + np.maximum(0.0, n * q - y**2) / 2


def worst_case(terms: Array, axis: int = -1) -> Array:
    n, absolute = terms.shape[axis], np.abs(terms).sum(axis)
    return np.minimum(n * U / (1 - n * U) * absolute, U * (absolute + np.sqrt(n * v(terms, axis))))


def products(a: torch.Tensor, b: torch.Tensor) -> Array:
    """Terms of a matrix product, last axis."""
    return np.einsum("...ik,...kj->...ijk", a.numpy(), b.numpy())


def windows(image: torch.Tensor, size: int) -> Array:
    """Terms of a convolution or pool over one channel, stride 1."""
    return np.lib.stride_tricks.sliding_window_view(image.numpy(), (size, size), axis=(-2, -1)).reshape(
        *image.shape[:-2], image.shape[-2] - size + 1, image.shape[-1] - size + 1, size * size
    )


A, B, C = x(4, 50), x(50, 3, seed=1), x(4, 3, seed=2)
IMAGE, KERNEL = x(1, 1, 6, 6), x(1, 1, 3, 3, seed=1)
LINE, LANDING = x(60), torch.arange(60) % 4

SUMS: dict[str, tuple[Callable[[], torch.Tensor], Array]] = {
    "sum": (lambda: A.sum(1), A.numpy()),
    "nansum": (lambda: A.nansum(1), A.numpy()),
    "mm": (lambda: torch.mm(A, B), products(A, B)),
    "bmm": (lambda: torch.bmm(A[None], B[None]), products(A[None], B[None])),
    "mv": (lambda: torch.mv(A, B[:, 0]), products(A, B[:, :1])[:, 0]),
    "dot": (lambda: torch.dot(A[0], B[:, 0]), products(A[:1], B[:, :1])[0, 0]),
    "addmm": (
        lambda: torch.addmm(C, A, B, beta=2.0, alpha=-0.5),
        np.concatenate([-0.5 * products(A, B), 2 * C.numpy()[..., None]], -1),
    ),
    "baddbmm": (
        lambda: torch.baddbmm(C[None], A[None], B[None]),
        np.concatenate([products(A, B), C.numpy()[..., None]], -1)[None],
    ),
    "addmv": (
        lambda: torch.addmv(C[:, 0], A, B[:, 0]),
        np.concatenate([products(A, B[:, :1])[:, 0], C.numpy()[:, :1]], -1),
    ),
    "convolution": (
        lambda: F.conv2d(IMAGE, KERNEL),
        np.concatenate([windows(IMAGE, 3) * KERNEL.numpy().reshape(9), np.zeros((1, 1, 4, 4, 1))], -1),
    ),
    "scatter_add": (
        lambda: torch.zeros(4, dtype=torch.float64).scatter_add(0, LANDING, LINE),
        np.concatenate([LINE.view(15, 4).numpy().T, np.zeros((4, 1))], -1),
    ),
    "index_add": (
        lambda: torch.zeros(4, dtype=torch.float64).index_add(0, LANDING, LINE, alpha=2.0),
        np.concatenate([2 * LINE.view(15, 4).numpy().T, np.zeros((4, 1))], -1),
    ),
    "in-place addmm": (
        lambda: C.clone().addmm_(A, B),
        np.concatenate([products(A, B), C.numpy()[..., None]], -1),
    ),
    "linear layer": (
        lambda: F.linear(A, B.t(), C[0]),
        np.concatenate([products(A, B), np.broadcast_to(C[0].numpy()[None, :, None], (4, 3, 1))], -1),
    ),
    "1-norm": (lambda: torch.linalg.vector_norm(A, 1, dim=1), np.abs(A.numpy())),
}
"""Call, and its terms along the last axis."""


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_spreads_by_u_root_v(name: str) -> None:
    function, terms = SUMS[name]
    measured, closed = deviation(function, runs=100).numpy(), U * np.sqrt(v(terms))
    assert measured == pytest.approx(closed.reshape(measured.shape), rel=0.3)


@pytest.mark.parametrize("name", SUMS)
def test_no_order_of_a_sum_exceeds_worst_case(name: str) -> None:
    function, terms = SUMS[name]
    measured, closed = noisy_errors(function, worst=True)[0].abs().numpy(), worst_case(terms)
    assert measured == pytest.approx(closed.reshape(measured.shape), rel=1e-4)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_prefix_sums_spread_by_their_own_length(distribution: str) -> None:
    row = x(40, distribution=distribution)
    closed = [U * math.sqrt(v(row[: n + 1].numpy())) for n in range(40)]
    assert deviation(lambda: row.cumsum(0), runs=300).tolist() == pytest.approx(closed, rel=0.3)
    worst = noisy_errors(lambda: row.cumsum(-1), worst=True)[0].abs()
    assert worst.tolist() == pytest.approx([float(worst_case(row[: n + 1].numpy())) for n in range(40)], rel=1e-4)


def test_operands_cast_first_add_their_own_share() -> None:
    """lambda * 2**-p * sqrt(2Q/3) of the table."""
    terms, p = products(A, B), 2.0**-8
    measured = noisy_errors(torch.mm, A, B, runs=100, operand=p).square().mean(0).sqrt().numpy()
    assert measured == pytest.approx(p * np.sqrt(2 * (terms**2).sum(-1) / 3), rel=0.3)
    plus = noisy_errors(lambda: torch.addmm(C, A, B), runs=100, operand=p).square().mean(0).sqrt().numpy()
    assert plus == pytest.approx(p * np.sqrt(2 * (terms**2).sum(-1) / 3), rel=0.3)
    filtered = noisy_errors(lambda: F.conv2d(IMAGE, KERNEL), runs=100, operand=p).square().mean(0).sqrt().numpy()
    taps = windows(IMAGE, 3) * KERNEL.numpy().reshape(9)
    assert filtered == pytest.approx(p * np.sqrt(2 * (taps**2).sum(-1) / 3), rel=0.3)


# --- elementwise and fused calls: 6 standard deviations against the table's own share -----------------------------


def softmax_share(rows: Array) -> Array:
    shifted = rows - rows.max(-1, keepdims=True)
    e = np.exp(shifted)
    total = e.sum(-1, keepdims=True)
    return U * e / total * (K + 2 * np.abs(shifted) + LAMBDA * np.sqrt(v(e))[:, None] / total)


def log_softmax_share(rows: Array) -> Array:
    peak = rows.max(-1, keepdims=True)
    shifted = rows - peak
    e = np.exp(shifted)
    total = e.sum(-1, keepdims=True)
    y = shifted - np.log(total)
    return U * (
        K * (np.abs(shifted) + np.abs(np.log(total)) + np.abs(y) + np.abs(peak) + 1)
        + LAMBDA * np.sqrt(v(e))[:, None] / total
    )


def norm_share(rows: Array, eps: float) -> Array:
    n, mean = rows.shape[-1], rows.mean(-1, keepdims=True)
    centred = rows - mean
    r = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y = centred * r
    spread = np.sqrt(v(centred**2))[:, None] * r**2 / n
    mean_spread = np.sqrt(v(rows))[:, None] / n
    return (
        K * U * (np.abs(y) + r * (np.abs(rows) + np.abs(mean)))
        + LAMBDA * U * r * mean_spread
        + np.abs(y) * LAMBDA * U * spread / 2
    )


def rms_share(rows: Array, eps: float) -> Array:
    n = rows.shape[-1]
    r = 1 / np.sqrt((rows**2).mean(-1, keepdims=True) + eps)
    return K * U * np.abs(rows * r) + np.abs(rows * r) * LAMBDA / 2 * U * np.sqrt(v(rows**2))[:, None] * r**2 / n


def gelu_share(rows: Array) -> Array:
    cdf = 0.5 * (1 + np.vectorize(math.erf)(rows / math.sqrt(2)))
    slope = cdf + rows * np.exp(-(rows**2) / 2) / math.sqrt(2 * math.pi)
    return K * U * (0.5 * np.abs(rows) * (1 + np.abs(2 * cdf - 1)) + np.abs(rows * slope))


def moment_share(rows: Array) -> Array:
    n = rows.shape[-1]
    squares = (rows - rows.mean(-1, keepdims=True)) ** 2
    return LAMBDA * U * np.sqrt(v(squares)) / (n - 1) + K * U * squares.sum(-1) / (n - 1)


def rms_norm(rows: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(rows, (rows.shape[-1],), eps=1e-5)


SHARES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], Callable[[Array], Array]]] = {
    "mean": (lambda r: r.mean(1), lambda r: LAMBDA * U * np.sqrt(v(r)) / r.shape[1] + K * U * np.abs(r.mean(1))),
    "softmax": (lambda r: torch.softmax(r, 1), softmax_share),
    "log_softmax": (lambda r: torch.log_softmax(r, 1), log_softmax_share),
    "layer_norm": (lambda r: F.layer_norm(r, (r.shape[1],), eps=1e-5), lambda r: norm_share(r, 1e-5)),
    "group_norm": (
        lambda r: F.group_norm(r[:, None], 1, eps=1e-5)[:, 0],
        lambda r: norm_share(r, 1e-5),
    ),
    "rms_norm": (rms_norm, lambda r: rms_share(r, 1e-5)),
    "var": (lambda r: r.var(1), moment_share),
    "std": (lambda r: r.std(1), lambda r: moment_share(r) / 2 / r.std(1, ddof=1) + K * U * r.std(1, ddof=1)),
    "vector_norm": (
        lambda r: torch.linalg.vector_norm(r, dim=1),
        lambda r: LAMBDA * U * np.sqrt(v(r**2)) / 2 / np.sqrt((r**2).sum(1)) + K * U * np.sqrt((r**2).sum(1)),
    ),
    "gelu": (F.gelu, gelu_share),
    "exp": (torch.exp, lambda r: K * U * np.exp(r) * (1 + np.abs(r))),
    "tanh": (torch.tanh, lambda r: K * U * (np.abs(np.tanh(r)) + np.abs(r) / np.cosh(r) ** 2)),
    "avg_pool": (
        lambda r: F.avg_pool2d(r[None, None], 2, 1)[0, 0],
        lambda r: (
            LAMBDA * U * np.sqrt(v(windows(torch.tensor(r), 2))) / 4
            + K * U * np.abs(windows(torch.tensor(r), 2).mean(-1))
        ),
    ),
}
"""Call over rows, and the table's `int` of it, derived again from the rows."""

FACTOR = 4.0
"""Between six standard deviations and the table: it adds magnitudes where errors add as squares, and grants exp's
argument 2 roundings where we grant the subtraction one and the function two."""


@pytest.mark.parametrize("distribution", ["normal", "uniform", "shifted", "heavy"])
@pytest.mark.parametrize("name", SHARES)
def test_six_deviations_are_the_table_s_share(name: str, distribution: str) -> None:
    function, share = SHARES[name]
    rows = x(4, 30, distribution=distribution)
    six, table = LAMBDA * deviation(function, rows, runs=40).numpy(), share(rows.numpy())
    ratio = six / table
    assert float(ratio.min()) > 1 / FACTOR
    assert float(ratio.max()) < FACTOR


def test_an_interpolated_weight_is_as_wrong_as_its_coordinate() -> None:
    """A coordinate up to n is wrong by u*n, and moves the result by as much of the neighbours' size."""
    image = torch.ones(1, 1, 8, 8, dtype=torch.float64)
    for n in (16, 64):
        worst = noisy_errors(lambda n=n: F.interpolate(image, size=(n, n), mode="bilinear"), worst=True)[0]
        assert float(worst.abs().max()) == pytest.approx(WORST_ROUNDINGS * U * (n + 4), rel=1e-6)


@pytest.mark.parametrize(
    ("base", "exponent", "lost"), [(3.0, 2.0, 1.0), (3.0, 20.5, 2 * (1 + 20.5 * math.log(3))), (1.0, 50.0, 2.0)]
)
def test_a_power_multiplies_the_logarithm_s_error(base: float, exponent: float, lost: float) -> None:
    worst = noisy_errors(lambda: torch.pow(wide(base), exponent), worst=True)[0]
    assert float(worst.abs()) == pytest.approx(WORST_ROUNDINGS * U * lost * base**exponent, rel=1e-5)


def test_factors_round_one_by_one() -> None:
    ones = torch.ones(2000, 16, dtype=torch.float64)
    assert float(deviation(lambda: ones.prod(1), runs=5).mean()) == pytest.approx(U * 4 / math.sqrt(3), rel=0.1)
    prefix = deviation(lambda: ones.cumprod(1), runs=5).mean(0)
    assert prefix.tolist() == pytest.approx([U * math.sqrt((n + 1) / 3) for n in range(16)], rel=0.1)


def test_a_product_that_cancels_against_what_it_is_added_to_keeps_its_rounding() -> None:
    one, other = wide(1.0), wide(-1.0 + 1e-9)
    third = other / 3
    for function in (
        lambda: torch.addcmul(one, one, other),
        lambda: torch.add(one, third, alpha=3),
        lambda: torch.addcdiv(one, other, one),
    ):
        assert float(noisy_errors(function, worst=True).abs()) == pytest.approx(WORST_ROUNDINGS * U, rel=1e-5)


def test_a_mean_of_losses_is_a_sum() -> None:
    logits, target = x(500, 3), torch.arange(500) % 3
    for function in (
        lambda: F.mse_loss(logits, logits + 1),
        lambda: F.nll_loss(-logits.abs() - 1, target),
    ):
        value = float(call_lifted(function))
        terms = logits.numel()
        measured = float(deviation(function, runs=300))
        assert measured == pytest.approx(U * value * math.sqrt(terms / 3), rel=0.15)


def test_a_call_nobody_knows_shows_its_condition() -> None:
    """solve(A, b) with A = diag(1, d): b/d is off by what A and b are, whatever d is; an inverse of [[1, 1], [1, 1+d]]
    by 1/d times as much."""
    close = wide([1.0, 1.0], [1.0, 1.0 + 1e-3])
    relative = deviation(lambda: torch.linalg.inv(close), runs=300) / torch.linalg.inv(close).abs()
    assert float(relative.min()) > 100 * U
    assert float(relative.max()) < 1e4 * U


def test_a_fourier_transform_is_wrong_by_the_norm_of_its_input() -> None:
    row = x(64)
    measured = deviation(lambda: torch.view_as_real(torch.fft.rfft(row)), runs=300)[1:-1]
    norm = float(torch.linalg.vector_norm(row))
    assert 0.5 * U * norm < float(measured.min())
    assert float(measured.max()) < 4 * U * norm


# --- shapes, classes and meaning ------------------------------------------------------------------------------------

EDGES: dict[str, Callable[[], Any]] = {
    "sum of nothing": lambda: torch.empty(2, 0).sum(1),
    "sum of all": lambda: x(2, 3).sum(),
    "sum kept": lambda: x(2, 3, 4).sum((-1, 0), keepdim=True),
    "sum of integers": lambda: torch.arange(5).sum(),
    "sum of integers as floats": lambda: torch.arange(5).sum(dtype=torch.float32),
    "sum 0-d": wide(3.0)[0].sum,
    "mean of nothing": lambda: torch.empty(2, 0).mean(1),
    "mean kept": lambda: x(2, 3).mean(-1, keepdim=True),
    "mean with NaN": lambda: wide(1.0, math.nan).mean(),
    "nansum": lambda: wide([1.0, math.nan], [math.nan, math.nan]).nansum(1),
    "sum to infinity": lambda: wide(1.0, math.inf).sum(),
    "sum of opposite infinities": lambda: wide(-math.inf, math.inf).sum(),
    "product with NaN": lambda: wide([1.0, math.nan], [0.0, 1.0]) @ wide([1.0, math.inf], [2.0, 3.0]),
    "product over nothing": lambda: torch.empty(2, 0) @ torch.empty(0, 3),
    "batched product of nothing": lambda: torch.empty(0, 2, 3) @ torch.empty(0, 3, 2),
    "beta 0 ignores NaN": lambda: torch.addmm(wide([math.nan]), wide([2.0]), wide([3.0]), beta=0),
    "convolution, strided": lambda: F.conv2d(x(2, 4, 7, 7), x(6, 2, 3, 3), x(6), stride=2, padding=1, groups=2),
    "convolution, transposed": lambda: F.conv_transpose2d(x(2, 4, 5, 5), x(4, 3, 3, 3), stride=2),
    "convolution of nothing": lambda: F.conv2d(x(0, 4, 5, 5), x(3, 4, 3, 3)),
    "cumsum": lambda: x(2, 3).cumsum(-2),
    "cumsum 0-d": lambda: wide(2.0)[0].cumsum(0),
    "cumsum of nothing": lambda: torch.empty(0, 3).cumsum(0),
    "cumsum of integers": lambda: torch.arange(3).cumsum(0),
    "cumprod": lambda: x(2, 3).cumprod(1),
    "prod of nothing": lambda: torch.empty(0).prod(),
    "prod of integers": lambda: torch.arange(1, 4).prod(),
    "var": lambda: x(2, 3, 4).var((0, -1), keepdim=True),
    "var of two": lambda: x(2, 2).var(1),
    "var uncorrected": lambda: x(2, 3).var(1, unbiased=False),
    "var and mean": lambda: torch.var_mean(x(2, 3), 1, keepdim=True),
    "std and mean": lambda: torch.std_mean(x(2, 3)),
    "std of all": lambda: x(2, 3).std(),
    "norm": lambda: x(2, 3).norm(),
    "norm kept": lambda: torch.linalg.vector_norm(x(2, 3), dim=-1, keepdim=True),
    "largest norm": lambda: torch.linalg.vector_norm(x(2, 3), math.inf, dim=1),
    "count norm": lambda: torch.linalg.vector_norm(x(2, 3), 0),
    "cubic norm": lambda: torch.linalg.vector_norm(x(2, 3), 3.0, dim=1),
    "layer norm": lambda: F.layer_norm(x(2, 3, 4), (3, 4), x(3, 4), x(3, 4)),
    "layer norm of nothing": lambda: F.layer_norm(torch.empty(0, 4), (4,)),
    "layer norm of infinity": lambda: F.layer_norm(wide([1.0, math.inf]), (2,)),
    "group norm": lambda: F.group_norm(x(2, 6, 5), 3, x(6), x(6)),
    "group norm of nothing": lambda: F.group_norm(torch.empty(0, 6, 5), 3),
    "batch norm": lambda: F.batch_norm(x(4, 3), x(3), x(3).abs() + 1, x(3), x(3)),
    "softmax, negative axis": lambda: torch.softmax(x(2, 3, 4), -2),
    "softmax 0-d": lambda: torch.softmax(wide(1.0)[0], 0),
    "softmax of nothing": lambda: torch.softmax(torch.empty(2, 0), 1),
    "softmax, masked row": lambda: torch.softmax(wide([-math.inf, -math.inf], [0.0, -math.inf]), 1),
    "softmax with NaN": lambda: torch.softmax(wide([math.nan, 1.0], [math.inf, 1.0]), 1),
    "safe softmax, masked row": lambda: aten._safe_softmax(wide([-math.inf, -math.inf], [0.0, -math.inf]), 1),
    "log softmax, masked": lambda: torch.log_softmax(wide([-math.inf, 0.0, 1.0], [-math.inf] * 3), 1),
    "log softmax 0-d": lambda: torch.log_softmax(wide(1.0)[0], 0),
    "logsumexp": lambda: torch.logsumexp(x(2, 3, 4), (-1, 0)),
    "logsumexp, masked": lambda: torch.logsumexp(wide([-math.inf, -math.inf], [math.inf, 0.0]), 1),
    "logsumexp of nothing": lambda: torch.logsumexp(torch.empty(2, 0), 1),
    "gelu of infinities": lambda: F.gelu(wide(-math.inf, math.inf, math.nan, 0.0)),
    "gelu tanh": lambda: F.gelu(x(5), approximate="tanh"),
    "function at its edge": lambda: torch.acos(wide(1.0, -1.0, 2.0)),
    "function to infinity": lambda: torch.log(wide(0.0, -1.0, math.inf)),
    "log sigmoid": lambda: F.logsigmoid(x(5)),
    "power of NaN": lambda: torch.pow(wide(-2.0, 0.0, math.inf), 0.3),
    "power of tensors": lambda: torch.pow(2.0, x(4)),
    "interpolation": lambda: F.interpolate(x(1, 2, 3, 5), scale_factor=1.7, mode="bilinear", align_corners=True),
    "cubic interpolation": lambda: F.interpolate(x(1, 2, 4, 4), size=7, mode="bicubic"),
    "average pool": lambda: F.avg_pool2d(x(1, 2, 5, 5), (2, 3), padding=1, count_include_pad=False),
    "adaptive pool": lambda: F.adaptive_avg_pool2d(x(1, 2, 5, 5), (2, 3)),
    "attention": lambda: F.scaled_dot_product_attention(x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4), is_causal=True),
    "complex": lambda: torch.view_as_real(torch.view_as_complex(x(3, 2)) * torch.view_as_complex(x(3, 2))),
    "two outputs": lambda: torch.linalg.qr(x(3, 3)),
    "nothing at all": lambda: torch.empty(0).exp(),
    "transposed": lambda: F.layer_norm(x(3, 4).t(), (3,)).view(-1),
}


def flattened(result: Any) -> list[torch.Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def class_of(value: torch.Tensor) -> list[int]:
    double = value.double()
    return (torch.isnan(double) + 2 * torch.isposinf(double) + 4 * torch.isneginf(double)).flatten().int().tolist()


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("name", EDGES)
def test_shape_layout_dtype_and_classes_are_those_of_the_exact_result(name: str, worst: bool) -> None:
    source = noise(worst=worst)
    exact = flattened(call_lifted(EDGES[name]))
    noisy = flattened(call_lifted(EDGES[name], lambda *call: noisy_result(source, *call)))
    assert len(noisy) == len(exact)
    for got, wanted in zip(noisy, exact, strict=True):
        assert (got.shape, got.dtype, got.stride()) == (wanted.shape, wanted.dtype, wanted.stride())
        assert class_of(got) == class_of(wanted)
        close = torch.isclose(got.double(), wanted.double(), rtol=1e-3, atol=1e-3, equal_nan=True)
        assert bool(close.all())


UNBIASED = {name: entry[0] for name, entry in SUMS.items()} | {
    name: (lambda function=function: function(x(4, 30))) for name, (function, _) in SHARES.items()
}


@pytest.mark.parametrize("name", UNBIASED)
def test_the_noise_has_no_bias(name: str) -> None:
    errors = noisy_errors(UNBIASED[name], runs=100)
    z = errors.mean(0) / (errors.std(0) / math.sqrt(100)).clamp_min(1e-300)
    assert float(z.abs().max()) < 5.5


EXACT_CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "views": lambda t: t.t().reshape(-1)[::2],
    "selection": lambda t: torch.where(t > 0, t, -t).clamp(0.1, 1.0).relu(),
    "in place": lambda t: t.clone().clamp_(0.0).neg_().relu_().floor_(),
    "rounding to integers": lambda t: torch.div(t, 0.3, rounding_mode="floor"),
    "floor division": lambda t: t // 0.3,
    "positions": lambda t: torch.arange(0, 30, dtype=torch.float32),
    "sorting": lambda t: t.sort(1).values.flip(0),
    "prefix maximum": lambda t: t.cummax(1).values,
    "integers": lambda t: t.to(torch.int32) * 3,
}


@pytest.mark.parametrize("name", EXACT_CALLS)
@pytest.mark.parametrize("worst", [False, True])
def test_calls_that_round_nothing_are_given_nothing(name: str, worst: bool) -> None:
    assert float(noisy_errors(EXACT_CALLS[name], x(4, 5), worst=worst).abs().max()) == 0.0


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize(
    "grid", [lambda: torch.linspace(-1, 1, 1000), lambda: torch.arange(-1, 1, 0.002)], ids=["linspace", "arange"]
)
def test_points_of_a_grid_err_by_roundings_of_its_ends(grid: Callable[[], torch.Tensor], worst: bool) -> None:
    """start + i*step: the number of lanes decides what is rounded on the way, and near zero all of it stays."""
    errors = noisy_errors(lambda _: grid(), x(4, 5), worst=worst).abs()
    roundings = 3 * (WORST_ROUNDINGS if worst else 1.0)
    assert 2 * U < float(errors[:, 400:600].max()) <= roundings * U * 1.001


def test_positions_computed_in_floats_still_index() -> None:
    """floor_divide(7, 7) one rounding low would be 0."""
    table = x(40)
    exact = call_lifted(lambda: table[(torch.arange(40.0) // 7).long()])
    source = noise(worst=True)
    noisy = call_lifted(lambda: table[(torch.arange(40.0) // 7).long()], lambda *call: noisy_result(source, *call))
    assert torch.equal(noisy, exact)


def test_random_calls_are_left_alone() -> None:
    def function() -> torch.Tensor:
        return torch.rand(5, generator=torch.Generator().manual_seed(1))

    assert float(noisy_errors(function).abs().max()) == 0.0


def test_every_name_has_one_meaning() -> None:
    tables = [EXACT, ARITHMETIC, FUNCTIONS, DECOMPOSITIONS, frozenset(RULES)]
    assert sum(map(len, tables)) == len(frozenset().union(*tables))


@pytest.mark.parametrize("name", sorted(EXACT | ARITHMETIC | FUNCTIONS | DECOMPOSITIONS | frozenset(RULES)))
def test_every_name_is_an_aten_call(name: str) -> None:
    """A misspelt name would be a rule that never applies."""
    assert hasattr(aten, name) or hasattr(aten, f"{name}_")


Function = Callable[[torch.Tensor], torch.Tensor]
LINEAR_ALGEBRA: dict[str, tuple[Function, Function]] = {
    "inverse by columns": (torch.linalg.inv, lambda a: torch.linalg.solve(a, torch.eye(len(a), dtype=a.dtype))),
    "inverse by QR": (torch.linalg.inv, lambda a: torch.linalg.inv(torch.linalg.qr(a)[1]) @ torch.linalg.qr(a)[0].mT),
    "exponential by squaring": (torch.linalg.matrix_exp, lambda a: _squared(a, 3)),
    "symmetric eigenvalues": (
        lambda a: torch.linalg.eigvalsh(a + a.mT),
        lambda a: torch.linalg.eigvalsh((a + a.mT).flip(0, 1)),
    ),
    "determinant": (torch.linalg.det, lambda a: torch.linalg.qr(a)[1].diagonal().abs().prod()),
    "singular values": (torch.linalg.svdvals, lambda a: torch.linalg.svdvals(torch.linalg.qr(a)[1].mT)),
}
"""What a reference calls, and another right algorithm for it."""


def _squared(a: torch.Tensor, times: int) -> torch.Tensor:
    """exp(a) as exp(a / 2**times) squared so often: a Taylor series of 12 terms."""
    small, term = a / 2**times, torch.eye(len(a), dtype=a.dtype)
    total = term.clone()
    for n in range(1, 12):
        term = term @ small / n
        total = total + term
    for _ in range(times):
        total = total @ total
    return total


@pytest.mark.parametrize("name", LINEAR_ALGEBRA)
@pytest.mark.parametrize("graded", [False, True])
def test_algorithms_of_linear_algebra_lie_within_each_others_spread(name: str, graded: bool) -> None:
    """Also where rows are of very different size: small elements of the result are off by as much as large ones."""
    reference, other = LINEAR_ALGEBRA[name]
    a = x(12, 12, seed=5).float().double() / 2
    a = a * torch.logspace(0, -2, 12, dtype=torch.float64)[:, None] if graded else a
    if name == "determinant":
        a = a if torch.linalg.det(a) > 0 else a.flip(0)
    exact = call_lifted(lambda: reference(a))
    spread = deviation(reference, a, runs=40)
    error = (other(a.float()).double() - exact).abs()
    assert bool((error <= LAMBDA * spread + U * exact.abs()).all())
    assert float(spread.max()) <= 1e4 * U * float(exact.abs().max())


COMPLEX: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mm": torch.mm,
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "addmm": lambda a, b: torch.addmm(a[:, :3], a, b),
    "sum": lambda a, b: a.sum(1),
    "mean": lambda a, b: a.mean(1),
    "cumsum": lambda a, b: b.cumsum(0),
    "norm": lambda a, b: torch.linalg.vector_norm(a, dim=1),
    "index_add": lambda a, b: torch.zeros(4, 3, dtype=b.dtype).index_add(0, torch.arange(len(b)) % 4, b),
    "prod": lambda a, b: b.prod(0),
    "pow": lambda a, b: a**1.5,
    "conjugate": lambda a, b: a @ b.conj() + a.conj() @ b,
    "elementwise": lambda a, b: a * a.exp() / (a + 3),
}
"""Functions of a 4 x 50 and a 50 x 3 complex matrix."""


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_err_in_either_part(name: str) -> None:
    a, b = (torch.complex(x(*shape, seed=3), x(*shape, seed=4)).to(torch.complex64) for shape in ((4, 50), (50, 3)))

    def parts(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        out = COMPLEX[name](a, b)
        return torch.view_as_real(out) if out.is_complex() else out

    spread = deviation(parts, a.to(torch.complex128), b.to(torch.complex128), runs=50)
    error = (parts(a, b).double() - parts(a.to(torch.complex128), b.to(torch.complex128))).abs()
    assert bool((error <= LAMBDA * spread + U * parts(a, b).abs().double()).all())
    assert float(spread.max()) <= 60 * U * float(parts(a.abs(), b.abs()).abs().max()) + U
