"""Failures planted for the probes: small operators with one defect each, beside what they should compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from opsdebug_ci import Contract, Operator
from opsdebug_ci.model import Case, Cause, Clue, Family, Layout, Observation
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.worker.case_run import run_case

Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class PlantedFailure:
    """A right and a wrong implementation, and what should be said of the wrong one."""

    name: str
    rule: str
    """The rule of the library, or the probe, that should explain it."""
    cause: Cause
    inputs: Callable[[int, int], Tensors]
    right: Callable[..., Any]
    wrong: Callable[..., Any]
    size: int = 64
    kind: str = "auto"
    dtype: str = "float32"
    says: str = ""
    """A stretch of the statement."""

    def operator(self, function: Callable[..., Any]) -> Operator:
        return Operator(
            self.name,
            function,
            lambda seed, dims, dtype: self.inputs(seed, dims["size"]),
            {"torch": self.right},
            kind=self.kind,
            dtypes=(self.dtype,),
            dims={"size": self.size},
            contract=Contract(),
        )

    def observe(self, function: Callable[..., Any]) -> Observation:
        operator = self.operator(function)
        case = Case(
            operator=self.name,
            dims={"size": self.size},
            dtype=self.dtype,
            layout=Layout.OWN,
            inputs=Family.OWN,
            seed=0,
        )
        return run_case(operator, RunCase(case=case), lambda _: None)

    def clues(self) -> tuple[Clue, ...]:
        return self.observe(self.wrong).clues


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def whole(seed: int, low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def in_memory_order(x: torch.Tensor) -> torch.Tensor:
    return torch.as_strided(x, (x.numel(),), (1,), x.storage_offset()).view(x.shape)


def _padded_norm(x: torch.Tensor) -> torch.Tensor:
    rows = functional.pad(x, (0, -x.shape[1] % 32))
    variance = rows.var(-1, keepdim=True, unbiased=False)
    return (x - rows.mean(-1, keepdim=True)) * torch.rsqrt(variance + 1e-5)


def _row_norm(x: torch.Tensor, divisor: float) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred**2).sum(-1, keepdim=True) / divisor + 1e-5)


def _softmax_of_columns(x: torch.Tensor) -> torch.Tensor:
    e = (x - x.amax(1)).exp()
    return e / e.sum(1)


def _pair_sums_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    for place in range(1, len(y)):
        y[place] += y[place - 1]
    return y


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, reach: int) -> torch.Tensor:
    scores = q @ k.t() / math.sqrt(q.shape[-1])
    places = torch.arange(q.shape[0])
    keep = places[None, :] <= places[:, None] + reach
    return torch.softmax(scores.masked_fill(~keep, -math.inf), -1) @ v


def _masked_mean(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return (x * mask).sum(-1) / mask.sum(-1)


def _split_sum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
    for start in range(0, a.shape[1], 64):
        total = total + (a[:, start : start + 64].float() @ b[start : start + 64].float()).to(a.dtype)
    return total


def _beside(n: int, before: float, after: float, x: torch.Tensor) -> torch.Tensor:
    """`x` in a storage with other values around it."""
    return torch.cat([torch.full((4,), before), x, torch.full((4,), after)])[4 : 4 + n]


def _window_of_memory(x: torch.Tensor) -> torch.Tensor:
    return torch.as_strided(x, (len(x), 3), (1, 1), x.storage_offset() - 1).sum(-1)


def _afraid_of_nan(x: torch.Tensor) -> torch.Tensor:
    """Computes another function altogether when a NaN is anywhere."""
    return x.exp() - (0.3 * x.cos() if bool(torch.isnan(x).any()) else 0)


def _root_of_a_difference(x: torch.Tensor) -> torch.Tensor:
    right = x * x - 2.0 * x + 1.0
    return torch.where(torch.arange(x.numel()) % 3 == 1, (-right).sqrt(), right)


def _narrow_running_sum(x: torch.Tensor) -> torch.Tensor:
    """A running sum of 16 interleaved lanes in bfloat16: an order that no alteration of the reference has."""
    total = torch.zeros(x.shape[0], 16, dtype=torch.bfloat16)
    for start in range(0, x.shape[1], 16):
        total = total + x[:, start : start + 16].to(torch.bfloat16)
    return total.float().sum(-1)


def _vector_lanes(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[: len(x) // 8 * 8] ** 3 + 1, torch.full((len(x) % 8,), 0.125)])


PLANTED = (
    PlantedFailure(
        "gelu_sigmoid",
        "activations",
        Cause.APPROXIMATION,
        lambda seed, n: [2 * normal(seed, n)],
        functional.gelu,
        lambda x: x * torch.sigmoid(1.702 * x),
        kind="transcendental",
        says="1.702",
    ),
    PlantedFailure(
        "norm_ddof",
        "normalisation",
        Cause.WRONG_CONSTANT_EPS,
        lambda seed, n: [normal(seed, 6, n)],
        lambda x: functional.layer_norm(x, x.shape[-1:]),
        lambda x: _row_norm(x, x.shape[-1] - 1),
        kind="norm",
        says="the divisor of the variance is n-1 = 63, not n = 64 (outputs off by a ratio of 0.9922 = sqrt(63/64)): ",
    ),
    PlantedFailure(
        "norm_of_one_element",
        "normalisation",
        Cause.WRONG_CONSTANT_EPS,
        lambda seed, n: [normal(seed, 6, n)],
        lambda x: functional.layer_norm(x, x.shape[-1:]),
        lambda x: _row_norm(x, x.shape[-1] - 1),
        size=1,
        kind="norm",
        says="the divisor of the variance is n-1 = 0, not n = 1: reproduces every bad element",
    ),
    PlantedFailure(
        "batch_norm_ddof",
        "normalisation",
        Cause.WRONG_CONSTANT_EPS,
        lambda seed, n: [normal(seed, n, 6)],
        lambda x: functional.batch_norm(x, None, None, training=True),
        lambda x: (x - x.mean(0)) / torch.sqrt(x.var(0) + 1e-5),
        kind="norm",
        says="the divisor of the variance is n-1 = 63, not n = 64 (outputs off by a ratio of 0.9922 = sqrt(63/64)): ",
    ),
    PlantedFailure(
        "scale_of_heads_left_out",
        "constants",
        Cause.WRONG_SCALE,
        lambda seed, n: [normal(seed, 5, n), normal(seed + 1, n, 7)],
        lambda q, k: (q @ k) * 64**-0.5,
        torch.matmul,
        kind="matmul",
        says="the factor 0.125 = 1/sqrt(64) is left out (outputs off by a ratio of 8): reproduces",
    ),
    PlantedFailure(
        "norm_padded",
        "normalisation",
        Cause.TAIL_MASK,
        lambda seed, n: [normal(seed, 6, n)],
        lambda x: functional.layer_norm(x, x.shape[-1:]),
        _padded_norm,
        size=50,
        kind="norm",
    ),
    PlantedFailure(
        "batch_norm_training",
        "normalisation",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n, 6), normal(1, 6), normal(2, 6).abs() + 0.5],
        lambda x, m, v: functional.batch_norm(x, m, v, training=False),
        lambda x, m, v: functional.batch_norm(x, None, None, training=True),
    ),
    PlantedFailure(
        "softmax_spread",
        "softmaxes",
        Cause.BROADCASTING,
        lambda seed, n: [normal(seed, n, n)],
        lambda x: torch.softmax(x, 1),
        _softmax_of_columns,
        size=16,
        kind="softmax",
    ),
    PlantedFailure(
        "loss_sum",
        "losses",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 8, n), whole(seed, 0, n, 8)],
        functional.cross_entropy,
        lambda x, t: functional.cross_entropy(x, t, reduction="sum"),
        size=20,
        says="reduced by sum",
    ),
    PlantedFailure(
        "mean_axis",
        "reductions",
        Cause.WRONG_AXIS,
        lambda seed, n: [normal(seed, n, n)],
        lambda x: x.mean(0),
        lambda x: x.mean(1),
        size=12,
        kind="reduction",
    ),
    PlantedFailure(
        "sum_tail",
        "tails",
        Cause.TAIL_MASK,
        lambda seed, n: [normal(seed, 6, n)],
        lambda x: x.sum(-1),
        lambda x: x[:, : x.shape[1] // 8 * 8].sum(-1),
        size=69,
        kind="reduction",
        says="n % 8",
    ),
    PlantedFailure(
        "product_tail",
        "tails",
        Cause.TAIL_MASK,
        lambda seed, n: [normal(seed, 8, n), normal(seed + 1, n, 8)],
        lambda a, b: a @ b,
        lambda a, b: a[:, :64] @ b[:64],
        size=70,
        kind="matmul",
    ),
    PlantedFailure(
        "argmin_nan",
        "specials",
        Cause.NAN_INF_HANDLING,
        lambda seed, n: [torch.where(torch.arange(8 * n).view(8, n) % 11 == 3, math.nan, normal(seed, 8, n))],
        lambda x: x.argmin(-1),
        lambda x: torch.nan_to_num(x, nan=math.inf).argmin(-1),
        size=24,
    ),
    PlantedFailure(
        "round_away",
        "roundings",
        Cause.WRONG_ROUNDING,
        lambda seed, n: [whole(seed, -60, 60, n).float() / 2],
        lambda x: torch.round(x).to(torch.int8),
        lambda x: (torch.sign(x) * torch.floor(x.abs() + 0.5)).to(torch.int8),
        size=300,
        kind="quantize",
    ),
    PlantedFailure(
        "modulo_sign",
        "roundings",
        Cause.SIGN_FLIP,
        lambda seed, n: [whole(seed, -100, 100, n), whole(seed + 1, 3, 9, n) * (1 - 2 * whole(2, 0, 2, n))],
        torch.remainder,
        torch.fmod,
        dtype="int64",
        says="sign of the dividend",
    ),
    PlantedFailure(
        "resize_corners",
        "resampling",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 1, 2, n, n)],
        lambda x: functional.interpolate(x, size=(13, 13), mode="bilinear"),
        lambda x: functional.interpolate(x, size=(13, 13), mode="bilinear", align_corners=True),
        size=9,
        says="aligned corners",
    ),
    PlantedFailure(
        "causal_early",
        "masks",
        Cause.MASK_SEMANTICS,
        lambda seed, n: [normal(seed, n, 8), normal(seed + 1, n, 8), normal(seed + 2, n, 8)],
        lambda q, k, v: _attention(q, k, v, 0),
        lambda q, k, v: _attention(q, k, v, 1),
        size=12,
        kind="attention",
    ),
    PlantedFailure(
        "mean_of_all",
        "masks",
        Cause.MASK_SEMANTICS,
        lambda seed, n: [normal(seed, 6, n), normal(seed + 1, 6, n) < 0.5],
        _masked_mean,
        lambda x, mask: (x * mask).sum(-1) / x.shape[1],
        size=20,
        says="what the mask lets through",
    ),
    PlantedFailure(
        "eps_decade",
        "constants",
        Cause.WRONG_CONSTANT_EPS,
        lambda seed, n: [1e-3 * normal(seed, 8, n)],
        lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6),
        lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5),
        says="eps is 1e-05, not 1e-06: reproduces",
    ),
    PlantedFailure(
        "row_and_column",
        "operands",
        Cause.BROADCASTING,
        lambda seed, n: [normal(seed, n, n), normal(seed + 1, n)],
        lambda x, w: x * w[None, :],
        lambda x, w: x * w[:, None],
        size=16,
    ),
    PlantedFailure(
        "halves_for_pairs",
        "axes",
        Cause.LAYOUT_PERMUTATION,
        lambda seed, n: [normal(seed, 5, n)],
        lambda x: x[:, 0::2] * 2 + 1,
        lambda x: x[:, : x.shape[1] // 2] * 2 + 1,
        size=16,
    ),
    PlantedFailure(
        "narrow_offsets",
        "indexing",
        Cause.INDEX_OVERFLOW,
        lambda seed, n: [normal(seed, n, 32), whole(seed, 0, n, 50)],
        lambda w, i: w[i],
        lambda w, i: w.reshape(-1)[((i * 32).to(torch.int16).long()[:, None] + torch.arange(32)) % w.numel()],
        size=3000,
        kind="exact",
        says="16 bits",
    ),
    PlantedFailure(
        "split_in_half_precision",
        "precision",
        Cause.LOW_PRECISION_ACCUM,
        lambda seed, n: [normal(seed, 4, n).half(), normal(seed + 1, n, 16).half()],
        lambda a, b: (a.float() @ b.float()).half(),
        _split_sum,
        size=512,
        kind="matmul",
        dtype="float16",
        says="kept in float16",
    ),
    PlantedFailure(
        "bytes_that_do_not_wrap",
        "precision",
        Cause.DTYPE_PROMOTION,
        lambda seed, n: [whole(seed, 0, 256, n, dtype=torch.uint8), whole(seed + 1, 0, 256, n, dtype=torch.uint8)],
        lambda a, b: (a + b).to(torch.int16),
        lambda a, b: a.to(torch.int16) + b.to(torch.int16),
        dtype="uint8",
    ),
    PlantedFailure(
        "sine_sign",
        "signs",
        Cause.SIGN_FLIP,
        lambda seed, n: [normal(seed, n), normal(seed + 1, n)],
        lambda x, a: x * torch.cos(a) - x.flip(0) * torch.sin(a),
        lambda x, a: x * torch.cos(a) + x.flip(0) * torch.sin(a),
    ),
    PlantedFailure(
        "no_residual",
        "terms",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n), normal(seed + 1, n)],
        lambda x, r: torch.tanh(x) + r,
        lambda x, r: torch.tanh(x),
    ),
    PlantedFailure(
        "memory_order",
        "dense_argument",
        Cause.STRIDE_VIEW,
        lambda seed, n: [normal(seed, n, 7).t()],
        lambda x: x * 3,
        lambda x: in_memory_order(x) * 3,
        size=24,
        says="as if it were contiguous",
    ),
    PlantedFailure(
        "first_row_of_bias",
        "broadcast_argument",
        Cause.BROADCASTING,
        lambda seed, n: [normal(seed, n, 8), normal(seed + 1, n, 8)],
        lambda x, b: x.exp() + b,
        lambda x, b: x.exp() + b[0],
        size=16,
    ),
    PlantedFailure(
        "padding_index",
        "special_argument",
        Cause.MASK_SEMANTICS,
        lambda seed, n: [normal(seed, 20, 8), torch.where(whole(1, 0, 3, n) == 0, -1, whole(seed, 0, 20, n))],
        lambda w, i: w[i],
        lambda w, i: w[i.clamp(min=0)],
        kind="exact",
    ),
    PlantedFailure(
        "transposed_factor",
        "moved_argument",
        Cause.LAYOUT_PERMUTATION,
        lambda seed, n: [normal(seed, n, n), normal(seed + 1, n, n)],
        lambda a, b: a @ b,
        lambda a, b: a @ b.t(),
        size=16,
        kind="matmul",
    ),
    PlantedFailure(
        "bias_written_over_factor",
        "replaced_argument",
        Cause.ALIASING_INPLACE,
        lambda seed, n: [normal(seed, n, n), normal(seed + 1, n, n), normal(seed + 2, n, n)],
        lambda bias, a, b: bias + a @ b,
        lambda bias, a, b: bias + bias @ b,
        size=12,
        kind="matmul",
    ),
    PlantedFailure(
        "narrowed_factor",
        "narrowed_argument",
        Cause.LOW_PRECISION_ACCUM,
        lambda seed, n: [normal(seed, n), normal(seed + 1, n)],
        lambda x, y: x * 3 + y,
        lambda x, y: x.bfloat16().float() * 3 + y,
        size=400,
    ),
    PlantedFailure(
        "view_ignored_somewhere",
        "contiguous_copy",
        Cause.STRIDE_VIEW,
        lambda seed, n: [normal(seed, n, 2 * n)[:, ::2]],
        lambda x: x.cumsum(1) + 1,
        lambda x: x.cumsum(1) + 1 + (0 if x.is_contiguous() else 0.01 * in_memory_order(x) ** 2),
        size=20,
    ),
    PlantedFailure(
        "neighbouring_bytes",
        "foreign_bytes",
        Cause.OOB_READ,
        lambda seed, n: [_beside(n, 99.0, 55.0, normal(seed, n))],
        lambda x: functional.pad(x, (1, 1)).unfold(0, 3, 1).sum(-1),
        _window_of_memory,
        size=30,
    ),
    PlantedFailure(
        "odd_constant",
        "fitted_constant",
        Cause.WRONG_SCALE,
        lambda seed, n: [normal(seed, n)],
        lambda x: torch.tanh(x * 0.7978845608) + x,
        lambda x: torch.tanh(x * 0.8123) + x,
        says="the constant of `mul` is 0.8123, not 0.797885",
    ),
    PlantedFailure(
        "lanes_of_eight",
        "sizes",
        Cause.TAIL_MASK,
        lambda seed, n: [normal(seed, n)],
        lambda x: x**3 + 1,
        _vector_lanes,
        size=61,
        says="multiple of 8",
    ),
    PlantedFailure(
        "small_batch_path",
        "sizes",
        Cause.ACCUMULATION_ORDER,
        lambda seed, n: [normal(seed, n, 96).half(), normal(9, 96, 8).half()],
        lambda a, b: (a.float() @ b.float()).half(),
        lambda a, b: a.cumsum(1).half()[:, -1:] * 0 + (a.float() @ b.float() * (1.02 if len(a) < 7 else 1)).half(),
        size=5,
        kind="matmul",
        dtype="float16",
        says="small batches",
    ),
    PlantedFailure(
        "pair_sums_in_place",
        "overwritten",
        Cause.ALIASING_INPLACE,
        lambda seed, n: [normal(seed, n)],
        lambda x: torch.cat([x[:1], x[1:] + x[:-1]]),
        _pair_sums_in_place,
        size=40,
    ),
    PlantedFailure(
        "afraid_of_nan",
        "tamed_values",
        Cause.NAN_INF_HANDLING,
        lambda seed, n: [torch.where(torch.arange(n) == 7, math.nan, normal(seed, n))],
        torch.exp,
        _afraid_of_nan,
        says="without the NaN in `x`",
    ),
    PlantedFailure(
        "root_of_a_difference",
        "health_origin",
        Cause.NAN_INF_HANDLING,
        lambda seed, n: [1.0 + normal(seed, n).abs()],
        lambda x: x * x - 2.0 * x + 1.0,
        _root_of_a_difference,
        says="NaN first appears in call `sqrt` (planted_failures.py:",
    ),
    PlantedFailure(
        "narrow_running_sum",
        "growth",
        Cause.LOW_PRECISION_ACCUM,
        lambda seed, n: [normal(seed, 32, n)],
        lambda x: x.sum(-1),
        _narrow_running_sum,
        size=1024,
        kind="reduction",
        says="running sum of a coarser format",
    ),
    PlantedFailure(
        "rows_that_leak",
        "influence",
        Cause.OOB_READ,
        lambda seed, n: [normal(seed, 6, n)],
        lambda x: functional.pad(x, (1, 1)).unfold(1, 3, 1).exp().sum(-1),
        lambda x: (
            functional.pad(x.reshape(-1), (1, 1)).unfold(0, 3, 1).exp().sum(-1).view(x.shape)
            + (x.roll(1, 0) ** 2).sum(1, keepdim=True)
        ),
        size=12,
        says="belong to other elements",
    ),
    PlantedFailure(
        "length_rounded_up",
        "influence",
        Cause.MASK_SEMANTICS,
        lambda seed, n: [normal(seed, n, 8), normal(seed + 1, 8)],
        lambda x, w: torch.tanh(x[:10] @ w).sum() * x[:10].exp().sum(0),
        lambda x, w: torch.tanh(x[:13] @ w).sum() * x[:13].exp().sum(0),
        size=20,
        says="that the reference leaves out",
    ),
    PlantedFailure(
        "channels_in_turn",
        "normalisation",
        Cause.WRONG_AXIS,
        lambda seed, n: [normal(seed, 3, 12, n)],
        lambda x: functional.group_norm(x, 4),
        lambda x: (
            functional.group_norm(x.view(3, 3, 4, -1).transpose(1, 2).reshape(x.shape), 4)
            .view(3, 4, 3, -1)
            .transpose(1, 2)
            .reshape(x.shape)
        ),
        size=10,
        kind="norm",
        says="c % G",
    ),
    PlantedFailure(
        "heads_in_turn",
        "axes",
        Cause.BROADCASTING,
        lambda seed, n: [normal(seed, 4, n, 8), normal(seed + 1, 2, n, 8)],
        lambda q, k: q @ k.repeat_interleave(2, 0).transpose(-1, -2),
        lambda q, k: q @ k.repeat(2, 1, 1).transpose(-1, -2),
        size=6,
        kind="matmul",
        says="one after the other",
    ),
    PlantedFailure(
        "middle_axis_scan",
        "reductions",
        Cause.WRONG_AXIS,
        lambda seed, n: [normal(seed, 3, n, 10)],
        lambda x: x.cumsum(-1),
        lambda x: x.cumsum(1),
        size=16,
        kind="scan",
        says="over axis 1, not 2",
    ),
    PlantedFailure(
        "base_of_the_logarithm",
        "softmaxes",
        Cause.WRONG_CONSTANT_EPS,
        lambda seed, n: [normal(seed, 5, n)],
        lambda x: torch.log_softmax(x, -1),
        lambda x: x - x.amax(-1, keepdim=True) - (x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True).log2(),
        size=40,
        kind="log_softmax",
        says="base 2",
    ),
    PlantedFailure(
        "square_mean",
        "reductions",
        Cause.WRONG_AXIS,
        lambda seed, n: [normal(seed, n, n)],
        lambda x: x - x.mean(1, keepdim=True),
        lambda x: x - x.mean(0, keepdim=True),
        size=16,
        says="over axis 0, not 1",
    ),
    PlantedFailure(
        "hard_gate",
        "activations",
        Cause.APPROXIMATION,
        lambda seed, n: [normal(seed, 5, n)],
        lambda x: functional.glu(x, -1),
        lambda x: x[:, : x.shape[1] // 2] * functional.relu6(x[:, x.shape[1] // 2 :] + 3) / 6,
        size=32,
        says="hard sigmoid",
    ),
    PlantedFailure(
        "silu_cut_off",
        "activations",
        Cause.APPROXIMATION,
        lambda seed, n: [5 * normal(seed, n)],
        functional.silu,
        lambda x: torch.where(x > 8, x, torch.where(x < -8, 0.0, functional.silu(x))),
        size=400,
        says="set to its limits beyond 8",
    ),
    PlantedFailure(
        "huber_without_half",
        "losses",
        Cause.WRONG_CONSTANT_EPS,
        lambda seed, n: [2 * normal(seed, n), normal(seed + 1, n)],
        lambda x, y: functional.huber_loss(x, y, reduction="none"),
        lambda x, y: torch.where((x - y).abs() < 1, 0.5 * (x - y) ** 2, (x - y).abs() - 1),
        says="less a whole width",
    ),
    PlantedFailure(
        "symmetric_window",
        "resampling",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 4, n)],
        lambda x: x * torch.hann_window(x.shape[1]),
        lambda x: x * torch.hann_window(x.shape[1], periodic=False),
        says="is symmetric, not periodic",
    ),
    PlantedFailure(
        "maximum_with_zeros",
        "resampling",
        Cause.MASK_SEMANTICS,
        lambda seed, n: [-normal(seed, 1, 2, n, n).abs() - 0.1],
        lambda x: functional.max_pool2d(x, 3, 1, 1),
        lambda x: functional.max_pool2d(functional.pad(x, (1, 1, 1, 1)), 3, 1),
        size=9,
        says="enters the maximum as zeros",
    ),
    PlantedFailure(
        "coefficient_of_gelu",
        "fitted_constant",
        Cause.WRONG_CONSTANT_EPS,
        lambda seed, n: [2 * normal(seed, n)],
        lambda x: functional.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.04715 * x**3))),
        size=400,
        says="the cubic coefficient of `gelu` is 0.04715, not 0.044715",
    ),
    PlantedFailure(
        "smeared_shift",
        "overwritten",
        Cause.ALIASING_INPLACE,
        lambda seed, n: [normal(seed, n, 6), normal(seed + 1, 6)],
        lambda state, new: torch.cat([new[None], state[:-1]]),
        lambda state, new: torch.cat([new[None], state[:1].expand(len(state) - 1, -1)]),
        size=10,
        says="then the first",
    ),
    PlantedFailure(
        "no_storage_offset",
        "dense_argument",
        Cause.STRIDE_VIEW,
        lambda seed, n: [normal(seed, n + 5)[5:]],
        lambda x: x.exp(),
        lambda x: torch.as_strided(x, x.shape, x.stride(), 0).exp(),
        size=30,
        says="without its offset",
    ),
    PlantedFailure(
        "eps_beside_the_root",
        "constants",
        Cause.WRONG_CONSTANT_EPS,
        lambda seed, n: [1e-3 * normal(seed, 8, n)],
        lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6),
        lambda x: x / ((x * x).mean(-1, keepdim=True).sqrt() + 1e-6),
        says="added to the root",
    ),
    PlantedFailure(
        "one_of_two_scales",
        "fitted_constant",
        Cause.WRONG_SCALE,
        lambda seed, n: [normal(seed, n, 8), normal(seed + 1, n, 8)],
        lambda q, k: (q * 0.31) @ (k * 0.31).t(),
        lambda q, k: (q * 0.217) @ (k * 0.31).t(),
        size=12,
        kind="matmul",
        says="the constant of `mul` is 0.217, not 0.31",
    ),
)
"""At least one for every rule of the library and every probe."""
