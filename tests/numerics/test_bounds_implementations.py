"""Right implementations that differ stay below red; planted mutants land in it.

Right ones are written with numpy's or torch's float32 steps, one rounding at a time, and never with the code that makes
the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from bounds_notation import DISTRIBUTIONS, drawn, judged
from torch.nn import functional as F  # noqa: N812 - what torch users call it

from opsdebug_ci.model.vocabulary import Kind, Zone

SIZES = (1, 7, 250)
Rows = Callable[[torch.Tensor], torch.Tensor]


def columns(x: torch.Tensor) -> list[torch.Tensor]:
    return list(x.unbind(1))


def serial_sum(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros_like(x[:, 0])
    for column in columns(x):
        total = total + column
    return total


def pairwise_sum(x: torch.Tensor) -> torch.Tensor:
    while x.shape[1] > 1:
        even = x.shape[1] // 2 * 2
        x = torch.cat([x[:, 0:even:2] + x[:, 1:even:2], x[:, even:]], 1)
    return x[:, 0]


def blocked_sum(x: torch.Tensor) -> torch.Tensor:
    return serial_sum(torch.stack([serial_sum(block) for block in x.split(32, 1)], 1))


def kahan_sum(x: torch.Tensor) -> torch.Tensor:
    total, lost = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
    for column in columns(x):
        term = column - lost
        grown = total + term
        lost = (grown - total) - term
        total = grown
    return total


def reversed_sum(x: torch.Tensor) -> torch.Tensor:
    return serial_sum(x.flip(1))


SUMS: dict[str, Rows] = {
    "serial": serial_sum,
    "reversed": reversed_sum,
    "pairwise": pairwise_sum,
    "blocked": blocked_sum,
    "Kahan": kahan_sum,
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("name", SUMS)
def test_sums_in_any_order_are_right(name: str, distribution: str, n: int) -> None:
    x = drawn(distribution, 16, n)
    zone = zone_of(SUMS[name](x), lambda t: t.sum(1), x, kind=Kind.REDUCTION)
    assert zone is not Zone.RED


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("name", ["pairwise", "blocked", "Kahan"])
def test_careful_sums_are_explained_without_the_worst_case(name: str, distribution: str) -> None:
    x = drawn(distribution, 16, 1024)
    assert zone_of(SUMS[name](x), lambda t: t.sum(1), x, kind=Kind.REDUCTION) is Zone.GREEN


def zone_of(
    actual: torch.Tensor, function: Callable[..., torch.Tensor], *args: torch.Tensor, kind: Kind = Kind.AUTO
) -> Zone:
    reading = judged(actual, function, *args, kind=kind)
    assert reading.accuracy is not None
    assert reading.accuracy.compared == actual.numel() > 0
    return reading.accuracy.zone


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    parts = [x @ y for x, y in zip(a.split(32, 1), b.split(32, 0), strict=True)]
    return serial_sum(torch.stack([part.flatten() for part in parts], 1)).reshape(parts[0].shape)


def reversed_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.flip(1) @ b.flip(0)


def outer_products(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(a.shape[0], b.shape[1])
    for k in range(a.shape[1]):
        total = total + a[:, k, None] * b[None, k]
    return total


def fused_multiply_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Products are exact in float64 and the sum is rounded once to float32 (but for double rounding)."""
    total = torch.zeros(a.shape[0], b.shape[1])
    for k in range(a.shape[1]):
        total = (total.double() + a[:, k, None].double() * b[None, k].double()).float()
    return total


PRODUCTS = {"split k": split_k, "reversed k": reversed_k, "outer": outer_products, "fma": fused_multiply_add}


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_in_any_order_are_right(name: str, distribution: str, k: int) -> None:
    a, b = drawn(distribution, 8, k), drawn(distribution, k, 8, seed=1)
    assert zone_of(PRODUCTS[name](a, b), torch.mm, a, b, kind=Kind.MATMUL) is not Zone.RED


def plain_softmax(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(x - x.amax(1, keepdim=True))
    return e / serial_sum(e)[:, None]


def softmax_by_exp2(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp2((x - x.amax(1, keepdim=True)) * math.log2(math.e))
    return e * (1.0 / pairwise_sum(e))[:, None]


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    peak = torch.full_like(x[:, 0], -math.inf)
    total = torch.zeros_like(peak)
    for column in columns(x):
        raised = torch.maximum(peak, column)
        total = total * torch.exp(peak - raised) + torch.exp(column - raised)
        peak = raised
    return torch.exp(x - peak[:, None]) / total[:, None]


def two_pass_norm(x: torch.Tensor) -> torch.Tensor:
    n = x.shape[1]
    centred = x - (pairwise_sum(x) / n)[:, None]
    return centred * torch.rsqrt(pairwise_sum(centred * centred) / n + 1e-5)[:, None]


def welford_norm(x: torch.Tensor) -> torch.Tensor:
    mean, squares = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
    for count, column in enumerate(columns(x), 1):
        step = column - mean
        mean = mean + step / count
        squares = squares + step * (column - mean)
    return (x - mean[:, None]) * torch.rsqrt(squares / x.shape[1] + 1e-5)[:, None]


def rms_norm_by_hand(x: torch.Tensor) -> torch.Tensor:
    return x * (1.0 / torch.sqrt(pairwise_sum(x * x) / x.shape[1] + 1e-5))[:, None]


def gelu_by_erfc(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * torch.erfc(-x / math.sqrt(2.0))


def tanh_gelu_as_sigmoid(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x))


def log_softmax_by_parts(x: torch.Tensor) -> torch.Tensor:
    peak = x.amax(1, keepdim=True)
    return x - (peak + torch.log(serial_sum(torch.exp(x - peak)))[:, None])


def layer_norm(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, (x.shape[1],), eps=1e-5)


ROWS: dict[str, tuple[Rows, Rows, Kind]] = {
    "softmax": (plain_softmax, lambda x: torch.softmax(x, 1), Kind.SOFTMAX),
    "softmax by exp2": (softmax_by_exp2, lambda x: torch.softmax(x, 1), Kind.SOFTMAX),
    "online softmax": (online_softmax, lambda x: torch.softmax(x, 1), Kind.SOFTMAX),
    "log softmax by parts": (log_softmax_by_parts, lambda x: torch.log_softmax(x, 1), Kind.LOG_SOFTMAX),
    "two-pass layer norm": (two_pass_norm, layer_norm, Kind.NORM),
    "Welford layer norm": (welford_norm, layer_norm, Kind.NORM),
    "rms norm": (rms_norm_by_hand, lambda x: F.rms_norm(x, (x.shape[1],), eps=1e-5), Kind.NORM),
    "gelu by erfc": (gelu_by_erfc, F.gelu, Kind.TRANSCENDENTAL),
    "tanh gelu as sigmoid": (tanh_gelu_as_sigmoid, lambda x: F.gelu(x, approximate="tanh"), Kind.TRANSCENDENTAL),
}
"""Right implementation in float32, the reference, and the kind."""


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("name", ROWS)
def test_other_formulas_of_the_same_function_are_right(name: str, distribution: str, n: int) -> None:
    implementation, reference, kind = ROWS[name]
    x = drawn(distribution, 16, n)
    assert zone_of(implementation(x), reference, x, kind=kind) is not Zone.RED


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("name", ROWS)
def test_half_precision_kernels_that_work_in_float32_are_right(
    name: str, distribution: str, dtype: torch.dtype
) -> None:
    implementation, reference, kind = ROWS[name]
    x = drawn(distribution, 16, 250, dtype=dtype)
    assert zone_of(implementation(x.float()).to(dtype), reference, x, kind=kind) is Zone.GREEN


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_half_precision_products_accumulated_in_float32_are_right(distribution: str, dtype: torch.dtype) -> None:
    a, b = drawn(distribution, 8, 512, dtype=dtype), drawn(distribution, 512, 8, dtype=dtype, seed=1)
    assert zone_of(split_k(a.float(), b.float()).to(dtype), torch.mm, a, b, kind=Kind.MATMUL) is Zone.GREEN


# --- planted mutants -------------------------------------------------------------------------------------------------


def mantissa(x: torch.Tensor, bits: int) -> torch.Tensor:
    """float32 rounded to nearest with `bits` stored mantissa bits, by adding half a step and masking."""
    dropped = 23 - bits
    return ((x.view(torch.int32) + (1 << (dropped - 1))) & ~((1 << dropped) - 1)).view(torch.float32)


def low_precision_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
    for k in range(a.shape[1]):
        total = (total.float() + a[:, k, None].float() * b[None, k].float()).to(a.dtype)
    return total


def padded_variance_norm(x: torch.Tensor) -> torch.Tensor:
    """Lanes up to 256 hold zero, and (0 - mean)**2 is added for each."""
    n, mean = x.shape[1], x.mean(1, keepdim=True)
    squares = ((x - mean) ** 2).sum(1, keepdim=True) + (256 - n) * mean**2
    return (x - mean) * torch.rsqrt(squares / n + 1e-5)


def padded_softmax(x: torch.Tensor) -> torch.Tensor:
    """Lanes up to 256 hold 0 instead of -inf."""
    padded = F.pad(x.float(), (0, 256 - x.shape[1]))
    return torch.softmax(padded, 1)[:, : x.shape[1]].to(x.dtype)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offset: int = 0) -> torch.Tensor:
    scores = q @ k.t() / math.sqrt(q.shape[1])
    mask = torch.ones(scores.shape, dtype=torch.bool).tril(offset)
    return torch.softmax(scores.masked_fill(~mask, -math.inf), 1) @ v


def halved(x: torch.Tensor) -> torch.Tensor:
    """Softmax with every step in the input's own half precision."""
    e = torch.exp(x - x.amax(1, keepdim=True))
    total = torch.zeros_like(e[:, 0])
    for column in columns(e):
        total = total + column
    return e / total[:, None]


HALF = drawn("normal", 8, 1024, dtype=torch.float16), drawn("normal", 1024, 8, dtype=torch.float16, seed=1)
LONG = drawn("normal", 4, 40999)
ROW250 = drawn("normal", 16, 250) + 0.5
BF16 = drawn("normal", 16, 250, dtype=torch.bfloat16)
SMALL = drawn("normal", 16, 250) * 1e-3
QKV = tuple(drawn("normal", 16, 16, seed=seed) for seed in range(3))
WITH_NAN = torch.cat([drawn("normal", 4, 8), torch.full((1, 8), math.nan)])


LN_ROWS = drawn("normal", 16, 4096, dtype=torch.float16)


def ddof_one(x: torch.Tensor) -> torch.Tensor:
    wide = x.float()
    return ((wide - wide.mean(1, keepdim=True)) * torch.rsqrt(wide.var(1, keepdim=True) + 1e-5)).to(x.dtype)


def smaller_eps(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x.float(), (x.shape[1],), eps=1e-6).to(x.dtype)


def tf32_product(k: int) -> tuple[torch.Tensor, Rows, tuple[torch.Tensor, ...]]:
    a, b = drawn("normal", 8, k), drawn("normal", k, 8, seed=1)
    return mantissa(a, 10) @ mantissa(b, 10), torch.mm, (a, b)


MUTANTS = {
    "fp16 accumulation": lambda: (low_precision_product(*HALF), torch.mm, HALF),
    "TF32, k = 64": lambda: tf32_product(64),
    "TF32, k = 1024": lambda: tf32_product(1024),
    "TF32, k = 8192": lambda: tf32_product(8192),
    "last k dropped, fp16": lambda: ((HALF[0][:, :-1].float() @ HALF[1][:-1].float()).half(), torch.mm, HALF),
    "result stored in bf16": lambda: (ROW250.exp().bfloat16().float(), torch.exp, (ROW250,)),
    "product stored in bf16": lambda: ((QKV[0] @ QKV[1]).bfloat16().float(), torch.mm, QKV[:2]),
    "sum drops the last of 40999": lambda: (LONG[:, :-1].sum(1), lambda x: x.sum(1), (LONG,)),
    "layer norm, padded variance": lambda: (padded_variance_norm(ROW250), layer_norm, (ROW250,)),
    "softmax, padded lanes": lambda: (padded_softmax(BF16), lambda x: torch.softmax(x, 1), (BF16,)),
    "softmax in half precision": lambda: (halved(BF16.half()), lambda x: torch.softmax(x, 1), (BF16.half(),)),
    "causal mask off by one": lambda: (attention(*QKV, offset=1), attention, QKV),
    "tanh for erf": lambda: (F.gelu(ROW250, approximate="tanh"), F.gelu, (ROW250,)),
    "tanh for erf, fp16": lambda: (
        F.gelu(ROW250.half().float(), approximate="tanh").half(),
        F.gelu,
        (ROW250.half(),),
    ),
    "eps 1e-6, x about 1e-3": lambda: (F.layer_norm(SMALL, (250,), eps=1e-6), layer_norm, (SMALL,)),
    "ddof 1, n = 250": lambda: (
        (ROW250 - ROW250.mean(1, keepdim=True)) / torch.sqrt(ROW250.var(1, keepdim=True) + 1e-5),
        layer_norm,
        (ROW250,),
    ),
    "ddof 1, n = 4096, fp16": lambda: (ddof_one(LN_ROWS), layer_norm, (LN_ROWS,)),
    "NaN dropped": lambda: (torch.nan_to_num(WITH_NAN).amax(1), lambda x: x.amax(1), (WITH_NAN,)),
    "infinity for a finite result": lambda: (
        torch.exp(drawn("normal", 4, 8)).masked_fill(torch.eye(4, 8).bool(), math.inf),
        torch.exp,
        (drawn("normal", 4, 8),),
    ),
    "sign flipped": lambda: (-ROW250, lambda x: x * 1.0, (ROW250,)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_mutant_is_red(name: str) -> None:
    actual, reference, args = MUTANTS[name]()
    assert zone_of(actual, reference, *args) is Zone.RED


@pytest.mark.parametrize("name", MUTANTS)
def test_its_clean_twin_is_not(name: str) -> None:
    _, reference, args = MUTANTS[name]()
    right = reference(*(arg.float() for arg in args)).to(args[0].dtype)
    assert zone_of(right, reference, *args) is not Zone.RED


@pytest.mark.parametrize("planted", [True, False])
def test_a_zero_of_the_wrong_sign_is_red_where_bits_count(planted: bool) -> None:
    x = torch.tensor([0.0, -0.0, 1.0])
    actual = torch.tensor([0.0, 0.0, 1.0]) if planted else x.clone()
    assert (zone_of(actual, torch.clone, x, kind=Kind.EXACT) is Zone.RED) is planted


def test_what_only_the_misrounding_rate_would_catch() -> None:
    """NOTE: wrong, and not red. The bound includes one rounding of the output, and in float16 that alone hides eps 1e-6
    for 1e-5, a relative error of 5e-6. Only the share of misrounded elements tells."""
    reading = judged(smaller_eps(LN_ROWS), layer_norm, LN_ROWS, kind=Kind.NORM)
    good = judged(layer_norm(LN_ROWS.float()).half(), layer_norm, LN_ROWS, kind=Kind.NORM)
    assert reading.accuracy is not None and good.accuracy is not None
    assert reading.accuracy.zone is not Zone.RED
    rate, background = reading.accuracy.misrounding_rate, good.accuracy.misrounding_rate
    assert rate is not None and background is not None
    assert rate > 0.004 > 2 * background


def test_split_k_partial_sums_in_bf16_hide_where_operand_casts_are_forgiven() -> None:
    """NOTE: wrong, and not red for `auto` kinds: two partial sums rounded to bf16 look like operands that were."""
    a, b = drawn("normal", 16, 256, dtype=torch.bfloat16), drawn("normal", 256, 16, dtype=torch.bfloat16, seed=1)
    halves = [(x.float() @ y.float()).bfloat16() for x, y in zip(a.split(128, 1), b.split(128, 0), strict=True)]
    partial = (halves[0].float() + halves[1].float()).bfloat16()
    strict = judged(partial, torch.mm, a, b, kind=Kind.MATMUL)
    forgiving = judged(partial, torch.mm, a, b, kind=Kind.AUTO, operand="bfloat16")
    assert strict.accuracy is not None and forgiving.accuracy is not None
    assert strict.accuracy.zone is Zone.RED
    assert forgiving.accuracy.zone is not Zone.RED


def test_naive_serial_sums_of_constants_are_amber() -> None:
    """Only worst-case order explains them: 0.1 added 16384 times stagnates."""
    x = torch.full((4, 16384), 0.1)
    assert zone_of(serial_sum(x), lambda t: t.sum(1), x, kind=Kind.REDUCTION) is Zone.AMBER
    assert zone_of(pairwise_sum(x), lambda t: t.sum(1), x, kind=Kind.REDUCTION) is Zone.GREEN


def test_float64_candidates_are_judged_in_float64() -> None:
    x = drawn("normal", 16, 250, dtype=torch.float64)
    assert zone_of(torch.from_numpy(np.sum(x.numpy(), 1)), lambda t: t.sum(1), x) is Zone.GREEN
    assert zone_of(serial_sum(x), lambda t: t.sum(1), x) is not Zone.RED
    assert zone_of(x.float().sum(1).double(), lambda t: t.sum(1), x) is Zone.RED
