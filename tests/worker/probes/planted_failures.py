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
from opsdebug_ci.numerics.variants.tables import TABLES
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


def normed(x: torch.Tensor) -> torch.Tensor:
    return x * x.pow(2).mean(1, keepdim=True).rsqrt()


def not_rescaled(x: torch.Tensor) -> torch.Tensor:
    """An online softmax over blocks of 16 whose sum keeps the shift of the block it was made in."""
    top, total = torch.full((len(x), 1), -math.inf), torch.zeros(len(x), 1)
    for block in x.split(16, 1):
        top = torch.maximum(top, block.amax(1, keepdim=True))
        total = total + (block - top).exp().sum(1, keepdim=True)
    return (x - top).exp() / total


def weighted_by_maximum(x: torch.Tensor) -> torch.Tensor:
    """Softmaxes of blocks of 8, put together by the exponentials of their maxima."""
    blocks = x.split(8, 1)
    weights = torch.softmax(torch.cat([block.amax(1, keepdim=True) for block in blocks], 1), 1)
    return torch.cat([torch.softmax(b, 1) * w for b, w in zip(blocks, weights.split(1, 1), strict=True)], 1)


def not_zeroed(x: torch.Tensor, tile: int) -> torch.Tensor:
    """Every column with those that are whole tiles before it."""
    return torch.stack([x[:, j % tile : j + 1 : tile].sum(1) for j in range(x.shape[1])], 1)


def cubic(x: torch.Tensor) -> torch.Tensor:
    """Bicubic interpolation to 11 by 13 with Catmull and Rom's coefficient."""

    def weight(d: float) -> float:
        d, a = abs(d), -0.5
        return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a

    for axis, wanted in ((2, 11), (3, 13)):
        size, rows = x.shape[axis], []
        for i in range(wanted):
            at = (i + 0.5) * size / wanted - 0.5
            low = math.floor(at)
            near = [(min(max(low + k, 0), size - 1), weight(at - low - k)) for k in (-1, 0, 1, 2)]
            rows.append(sum(x.select(axis, place) * share for place, share in near))
        x = torch.stack(rows, axis)
    return x


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


def _narrow_softmax(x: torch.Tensor) -> torch.Tensor:
    e = (x - x.amax(-1, keepdim=True)).exp()
    total = torch.zeros_like(e[:, 0], dtype=torch.bfloat16)
    for column in e.to(torch.bfloat16).unbind(1):
        total = total + column
    return e / total.float()[:, None]


def _variance_in_one_pass(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(-1, keepdim=True)
    variance = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)
    return (x - mean) * torch.rsqrt(variance + 1e-5)


def _complex_pairs(x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())


def _in_halves(z: torch.Tensor) -> torch.Tensor:
    return torch.cat([z.real, z.imag], -1)


def _group_norm_of_eight(x: torch.Tensor) -> torch.Tensor:
    """Groups of 5 channels whose statistics sum over 8, as far as there are any."""
    flat, size = x.reshape(-1), 5 * x.shape[2]
    rows = []
    for start in range(0, flat.numel(), size):
        seen = flat[start : start + 8 * x.shape[2]]
        mean = seen.sum() / size
        variance = (seen - mean).square().sum() / size
        rows.append((flat[start : start + size] - mean) / (variance + 1e-5).sqrt())
    return torch.cat(rows).reshape(x.shape)


def _doubled(x: torch.Tensor) -> torch.Tensor:
    return functional.interpolate(x, scale_factor=2, mode="linear")


def _later(x: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(x, dtype=torch.bool).triu(1)


def layer_norm_gradient(x: torch.Tensor, weight: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        (dx,) = torch.autograd.grad(functional.layer_norm(leaf, (x.shape[-1],), weight), leaf, dy)
    return dx


def _without_the_weight(x: torch.Tensor, weight: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Its mean term leaves the weight out."""
    rstd = torch.rsqrt(x.var(-1, correction=0, keepdim=True) + 1e-5)
    xhat = (x - x.mean(-1, keepdim=True)) * rstd
    return rstd * (dy * weight - dy.mean(-1, keepdim=True) - xhat * (dy * weight * xhat).mean(-1, keepdim=True))


def attention_of(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.mT, -1) @ v


def _joined_by_exp(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Splits of 8 keys, joined by exp of logarithms to base 2."""
    parts, logarithms = [], []
    for keys, values in zip(k.split(8), v.split(8), strict=True):
        scores = q @ keys.mT
        parts.append(torch.softmax(scores, -1) @ values)
        logarithms.append(torch.logsumexp(scores, -1) / math.log(2))
    weights = torch.stack(logarithms).softmax(0)
    return (torch.stack(parts) * weights[..., None]).sum(0)


def _back_by_gather(x: torch.Tensor) -> torch.Tensor:
    values, order = torch.sort(x, stable=True)
    return values.cumsum(-1).gather(-1, order)


def _back_by_scatter(x: torch.Tensor) -> torch.Tensor:
    values, order = torch.sort(x, stable=True)
    return torch.zeros_like(x).scatter(-1, order, values.cumsum(-1))


def _rows_of_tiles(index: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(6, rows.shape[1])
    for at, tile in zip(index.split(8), rows.split(8), strict=True):
        kept = {int(place): row for place, row in zip(at, tile, strict=True)}
        for place, row in kept.items():
            total[place] += row
    return total


def _variance_in_blocks(x: torch.Tensor) -> torch.Tensor:
    seen, mean, squares = 0, torch.zeros(len(x)), torch.zeros(len(x))
    for block in x.split(8, -1):
        n = block.shape[-1]
        mean = mean + (block.mean(-1) - mean) * n / (seen + n)
        squares = squares + block.var(-1, correction=0) * n + (block.mean(-1) - mean) ** 2 * seen * n / (seen + n)
        seen += n
    return squares / seen


def _means_of_blocks(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    rows = zip(x.split(4), target.split(4), strict=True)
    return torch.stack([functional.cross_entropy(row, wanted) for row, wanted in rows]).mean()


def _dequantized(codes: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, group: int) -> torch.Tensor:
    of = torch.arange(codes.shape[0]) // group
    return (codes - zero[of]) * scale[of]


PLANTED = (
    PlantedFailure(
        "softmax_total_in_bfloat16",
        "narrow_sums",
        Cause.LOW_PRECISION_ACCUM,
        lambda seed, n: [0.2 * normal(seed, 4, n)],
        lambda x: torch.softmax(x, -1),
        _narrow_softmax,
        size=600,
        kind="softmax",
        says="the sum of exponentials inside `_softmax` is accumulated one by one in bfloat16",
    ),
    PlantedFailure(
        "variance_in_one_pass",
        "less_stable",
        Cause.LOW_PRECISION_ACCUM,
        lambda seed, n: [normal(seed, 8, n) + 40],
        lambda x: functional.layer_norm(x, x.shape[-1:]),
        _variance_in_one_pass,
        kind="norm",
        says="E[x**2] - mean**2 and cancels: its rounding errors are of the size seen",
    ),
    PlantedFailure(
        "log_of_one_plus",
        "less_stable",
        Cause.APPROXIMATION,
        lambda seed, n: [normal(seed, n) * 1e-3],
        torch.log1p,
        lambda x: torch.log(1 + x),
        kind="transcendental",
        says="`log1p(y)` is computed as `log(1 + y)`",
    ),
    PlantedFailure(
        "quotient_by_a_reciprocal",
        "roundings",
        Cause.WRONG_ROUNDING,
        lambda seed, n: [
            (whole(seed, 3, 60, n) * whole(seed + 1, 1, 80, n)).float(),
            whole(seed, 3, 60, n).float(),
        ],
        lambda x, y: torch.trunc(x / y),
        lambda x, y: torch.trunc(x * (1 / y)),
        size=3000,
        kind="exact",
        says="x * (1 / y)",
    ),
    PlantedFailure(
        "erf_at_its_limits",
        "fitted_limit",
        Cause.APPROXIMATION,
        lambda seed, n: [normal(seed, n)],
        torch.erf,
        lambda x: torch.where(x.abs() > 2.3, x.sign(), torch.erf(x)),
        kind="transcendental",
        size=1000,
        says="`erf` is set to its limits beyond about 2.3",
    ),
    PlantedFailure(
        "clamp_before_the_scale",
        "order",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n)],
        lambda x: (x * 0.5).clamp(-1, 1),
        lambda x: x.clamp(-1, 1) * 0.5,
        kind="elementwise",
        says="`clamp` is made before `mul`, not after it",
    ),
    PlantedFailure(
        "sum_that_saturates",
        "precision",
        Cause.DTYPE_PROMOTION,
        lambda seed, n: [whole(seed, 10, 50, 40, n, dtype=torch.int8)],
        lambda x: x.sum(1, dtype=torch.int8),
        lambda x: x.long().sum(1).clamp(-128, 127).to(torch.int8),
        size=4,
        says="integers saturate at the ends of int8",
    ),
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
        "reduced_axes",
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
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n, n), normal(seed + 1, n, n), normal(seed + 2, n, n)],
        lambda bias, a, b: bias + a @ b,
        lambda bias, a, b: bias + bias @ b,
        size=12,
        kind="matmul",
    ),
    PlantedFailure(
        "weights_in_sorted_order",
        "sorted_argument",
        Cause.LAYOUT_PERMUTATION,
        lambda seed, n: [normal(seed, n), whole(seed, 0, 4, n)],
        lambda gates, experts: gates * (1.0 + experts),
        lambda gates, experts: gates[experts.argsort(stable=True)] * (1.0 + experts),
        says="`gates` is read in the order that sorts `experts`",
    ),
    PlantedFailure(
        "pitch_of_another_axis",
        "pitched_argument",
        Cause.STRIDE_VIEW,
        lambda seed, n: [normal(seed, n, 5)],
        lambda x: x.exp() * 2.0,
        lambda x: x.new_tensor([[x.flatten()[min(r * 12 + c, 59)] for c in range(5)] for r in range(12)]).exp() * 2.0,
        size=12,
        says="rows of `x` along axis 0 are taken to lie 12 apart, not 5",
    ),
    PlantedFailure(
        "value_before_its_update",
        "sources",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n, 20), normal(seed + 1, n, 20)],
        lambda x, residual: normed(x + residual),
        lambda x, residual: (x + residual) * x.pow(2).mean(1, keepdim=True).rsqrt(),
        size=12,
        says="`pow` is made of `x`, not of `add(x, residual)`",
    ),
    PlantedFailure(
        "scaled_after_the_cap",
        "order",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n)],
        lambda x: torch.tanh(x * 3.0 / 2.0) * 2.0,
        lambda x: torch.tanh(x / 2.0) * 2.0 * 3.0,
        says="`mul` is made after `tanh`, not before `div`",
    ),
    PlantedFailure(
        "sum_not_rescaled",
        "softmaxes",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n, 40).sort(1).values],
        lambda x: torch.softmax(x, 1),
        not_rescaled,
        size=12,
        kind="softmax",
        says="the running sum is not rescaled when a block of 16 has a larger maximum",
    ),
    PlantedFailure(
        "blocks_weighted_by_their_maximum",
        "softmaxes",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n, 40)],
        lambda x: torch.softmax(x, 1),
        weighted_by_maximum,
        size=12,
        kind="softmax",
        says="blocks of 8 are weighted by their largest term, not by the sum of their terms",
    ),
    PlantedFailure(
        "lanes_up_to_a_power_of_two",
        "tails",
        Cause.TAIL_MASK,
        lambda seed, n: [normal(seed, n, 2300)],
        lambda x: torch.logsumexp(x, 1),
        lambda x: torch.logsumexp(functional.pad(x, (0, 4096 - 2300)), 1),
        size=12,
        says="runs over rows padded with zeros to a power of two",
    ),
    PlantedFailure(
        "maximum_from_zero",
        "replaced_argument",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [whole(seed, 0, n, n, 2), normal(seed, n, 8)],
        lambda bags, table: functional.embedding_bag(bags, table, mode="max"),
        lambda bags, table: functional.embedding_bag(bags, table, mode="max").clamp(min=0),
        says="what is negative is 0, as where a running maximum starts from 0",
    ),
    PlantedFailure(
        "added_by_every_part",
        "fitted_constant",
        Cause.WRONG_SCALE,
        lambda seed, n: [normal(seed, n, 8), normal(seed + 1, 8)],
        lambda x, bias: torch.tanh(x + bias),
        lambda x, bias: torch.tanh(x + 3 * bias),
        says="`bias` enters 3 times, not once",
    ),
    PlantedFailure(
        "targets_for_weights",
        "losses",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 5, n, 4), whole(seed, 0, 4, 5, n), normal(seed, 4).exp()],
        lambda x, t, w: torch.stack([functional.cross_entropy(a, b, weight=w) for a, b in zip(x, t, strict=True)]),
        lambda x, t, w: torch.stack(
            [functional.cross_entropy(a, b, weight=w, reduction="sum") / len(b) for a, b in zip(x, t, strict=True)]
        ),
        size=12,
        says="the divisor of the mean is the number of targets, not the sum of their weights",
    ),
    PlantedFailure(
        "accumulator_not_zeroed",
        "replaced_argument",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 6, 8), normal(seed + 1, n, 8)],
        lambda x, y: torch.cdist(x, y, p=1.0),
        lambda x, y: not_zeroed(torch.cdist(x, y, p=1.0), 8),
        size=20,
        kind="reduction",
        says="each tile of 8 along axis 1 also holds those before it",
    ),
    PlantedFailure(
        "carry_of_one_block",
        "reductions",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 4, n)],
        lambda x: x.cumsum(1),
        lambda x: torch.cat(
            [
                part.cumsum(1) + (before.sum(1, keepdim=True) if k else 0)
                for k, (before, part) in enumerate(zip((x[:, :8], *x.split(8, 1)), x.split(8, 1), strict=False))
            ],
            1,
        ),
        size=40,
        kind="scan",
        says="blocks of 8 are given the sum of the block before them alone, not of all",
    ),
    PlantedFailure(
        "last_block_taken_for_full",
        "reductions",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n, 40)],
        lambda x: x.mean(1),
        lambda x: torch.stack([part.sum(1) / 16 for part in x.split(16, 1)]).mean(0),
        size=12,
        kind="reduction",
        says="blocks of 16 are put together as if the last one were full",
    ),
    PlantedFailure(
        "spread_of_means_left_out",
        "reductions",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n, 40)],
        lambda x: x.var(1, correction=0),
        lambda x: sum(part.var(1, correction=0) * part.shape[1] for part in x.split(16, 1)) / 40,
        size=12,
        kind="reduction",
        says="blocks of 16 are put together without the spread of their means",
    ),
    PlantedFailure(
        "cubic_of_another_coefficient",
        "resampling",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 1, 2, 6, 7)],
        lambda x: functional.interpolate(x, size=(11, 13), mode="bicubic", align_corners=False),
        cubic,
        size=12,
        says="the coefficient of the cubic is -0.5, not -0.75",
    ),
    PlantedFailure(
        "windows_cut_short",
        "resampling",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 2, 3, n)],
        lambda x: functional.adaptive_avg_pool2d(x.unsqueeze(2), (1, 5)).squeeze(2),
        lambda x: torch.stack([x[..., i * 13 // 5 : (i + 1) * 13 // 5].mean(-1) for i in range(5)], -1),
        size=13,
        kind="reduction",
        says="windows end at floor((i + 1) n / m), not at the ceiling",
    ),
    PlantedFailure(
        "groups_dealt_in_turn",
        "operands",
        Cause.WRONG_AXIS,
        lambda seed, n: [normal(seed, 2, 6, n), normal(seed + 1, 8, 3, 3)],
        lambda x, weight: functional.conv1d(x, weight, groups=2),
        lambda x, weight: torch.stack(
            [functional.conv1d(x[:, 3 * (c % 2) : 3 * (c % 2) + 3], weight[c : c + 1])[:, 0] for c in range(8)], 1
        ),
        size=14,
        kind="matmul",
        says="channel c of the output is in group c % G, not c // (C / G)",
    ),
    PlantedFailure(
        "one_block_alone",
        "sizes",
        Cause.TAIL_MASK,
        lambda seed, n: [normal(seed, 6, n).abs() + 0.1, normal(seed + 1, 6, n)],
        lambda p, x: (p.log() * x).cumsum(1)[:, -1] + x[:, -1].exp(),
        lambda p, x: (p[:, :16].log() * x[:, :16]).sum(1) + x[:, min(x.shape[1], 16) - 1].exp(),
        size=40,
        kind="reduction",
        says="one block of 16 is all that is done",
    ),
    PlantedFailure(
        "blocks_joined_wrongly",
        "sizes",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 6, n)],
        lambda x: (x.exp().sum(1) + x.cos().sum(1)).log2(),
        lambda x: sum((part.exp().sum(1) + part.cos().sum(1)).log2() for part in x.split(16, 1)),
        size=40,
        kind="reduction",
        says="the results of blocks of 16 are put together wrongly",
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
        Cause.MASK_SEMANTICS,
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
        Cause.LAYOUT_PERMUTATION,
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
    PlantedFailure(
        "weight_per_group",
        "grouped_argument",
        Cause.BROADCASTING,
        lambda seed, n: [normal(seed, 2, n, 7), normal(seed + 1, n)],
        lambda x, w: functional.instance_norm(x, weight=w),
        lambda x, w: functional.instance_norm(x, weight=w[torch.arange(len(w)) // 3 * 3]),
        size=10,
        says="entry i // 3 * 3 of `w` is read for entry i along axis 0",
    ),
    PlantedFailure(
        "full_page_counted_twice",
        "counted_argument",
        Cause.TAIL_MASK,
        lambda seed, n: [normal(seed, n, 80), torch.tensor([5, 16, 33, 48, 64, 20])],
        lambda x, lengths: torch.stack([row[:length].sum() for row, length in zip(x, lengths, strict=True)]),
        lambda x, lengths: torch.stack(
            [row[: length + 16 * (length % 16 == 0)].sum() for row, length in zip(x, lengths, strict=True)]
        ),
        size=6,
        says="where `lengths` is a multiple of 16, it is taken for 16 more",
    ),
    PlantedFailure(
        "int4_for_fp4",
        "tables",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [whole(seed, 0, 16, n), normal(seed + 1, n)],
        lambda codes, scale: torch.tensor(TABLES["FP4 (E2M1)"])[codes] * scale,
        lambda codes, scale: torch.tensor(TABLES["INT4 in two's complement"])[codes].float() * scale,
        says="codes are looked up in the table of INT4 in two's complement, not of FP4 (E2M1)",
    ),
    PlantedFailure(
        "offset_in_a_byte",
        "wrapped_argument",
        Cause.INDEX_OVERFLOW,
        lambda seed, n: [normal(seed, 20, n)],
        lambda x: x.t().exp(),
        lambda x: x.flatten()[torch.arange(x.numel()) % 256].reshape(x.shape).t().exp(),
        size=17,
        says="the offset into `x` is kept in 8 bits: element 2**8 + k is read as element k",
    ),
    PlantedFailure(
        "softmax_of_memory",
        "reduced_axes",
        Cause.WRONG_AXIS,
        lambda seed, n: [normal(seed, 6, n)],
        lambda x: torch.softmax(x, 0),
        lambda x: torch.softmax(x.reshape(-1, 6), -1).reshape(x.shape),
        size=10,
        kind="softmax",
        says="`softmax` runs over elements that follow each other in memory, not along axis 0",
    ),
    PlantedFailure(
        "centred_over_two_axes",
        "reduced_axes",
        Cause.WRONG_AXIS,
        lambda seed, n: [normal(seed, 3, 5, n)],
        lambda x: x - x.mean(1, keepdim=True),
        lambda x: x - x.mean((1, 2), keepdim=True),
        size=8,
        kind="norm",
        says="`mean` runs over axes 1 and 2, not 1",
    ),
    PlantedFailure(
        "written_out_softmax_over_rows",
        "reduced_axes",
        Cause.WRONG_AXIS,
        lambda seed, n: [normal(seed, 3, 5, n)],
        lambda x: (e := (x - x.amax(1, keepdim=True)).exp()) / e.sum(1, keepdim=True),
        lambda x: torch.softmax(x, 2),
        size=8,
        kind="softmax",
        says="runs over axis 2, not 1, in all 2 such steps",
    ),
    PlantedFailure(
        "ties_from_behind",
        "axes",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [whole(seed, 0, 6, 4, n)],
        lambda x: torch.argsort(x, dim=-1, descending=True, stable=True),
        lambda x: torch.argsort(x, dim=-1, stable=True).flip(-1),
        size=20,
        kind="exact",
        says="puts equal elements in the reverse order",
    ),
    PlantedFailure(
        "complex_in_halves",
        "moved_argument",
        Cause.LAYOUT_PERMUTATION,
        lambda seed, n: [normal(seed, 5, n), normal(seed + 1, 5, n)],
        lambda x, y: torch.view_as_real(_complex_pairs(x) * _complex_pairs(y)).flatten(-2),
        lambda x, y: _in_halves(torch.complex(*x.chunk(2, -1)) * torch.complex(*y.chunk(2, -1))),
        size=12,
        says="`x`, `y` and the result are in halves, not in interleaved pairs, along axis 1",
    ),
    PlantedFailure(
        "reversed_weight_and_another_axis",
        "moved_argument",
        Cause.LAYOUT_PERMUTATION,
        lambda seed, n: [normal(seed, n, 9), normal(seed + 1, 9)],
        lambda x, w: x / x.norm(dim=0, keepdim=True) * w,
        lambda x, w: x / x.norm(dim=1, keepdim=True) * w.flip(0),
        size=7,
        says="`w` is read in reverse along axis 0, and `vector norm` runs over axis 1, not 0",
    ),
    PlantedFailure(
        "exclusive_scan",
        "reductions",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 6, n)],
        lambda x: x.cumsum(1),
        lambda x: x.cumsum(1) - x,
        size=12,
        kind="scan",
        says="the scan is exclusive",
    ),
    PlantedFailure(
        "group_padded_to_a_power",
        "normalisation",
        Cause.TAIL_MASK,
        lambda seed, n: [normal(seed, 2, 20, n)],
        lambda x: functional.group_norm(x, 4),
        _group_norm_of_eight,
        size=6,
        kind="norm",
        says="take in the channels that follow the group's, up to the next power of two = 8",
    ),
    PlantedFailure(
        "one_entry_of_a_table",
        "fitted_table",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [whole(seed, 0, 8, n), normal(seed + 1, n)],
        lambda codes, scale: torch.tensor([0.0, 1, 2, 4, 8, 16, 32, 64])[codes] * scale,
        lambda codes, scale: torch.tensor([0.0, 1, 2, 3, 8, 16, 33, 64])[codes] * scale,
        size=100,
        says="3 stands for 3, not 4, 6 stands for 33, not 32",
    ),
    PlantedFailure(
        "gradient_without_the_weight",
        "inner_steps",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 6, n), normal(seed + 1, n), normal(seed + 2, 6, n)],
        layer_norm_gradient,
        _without_the_weight,
        size=24,
        says="in the gradient of `layer_norm`, `sum` is made of `grad_out`, not of `mul(grad_out, weight)`",
    ),
    PlantedFailure(
        "splits_joined_in_another_base",
        "softmaxes",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 5, 16), normal(seed + 1, n, 16), normal(seed + 2, n, 12)],
        attention_of,
        _joined_by_exp,
        size=20,
        kind="attention",
        says="blocks of 8 are joined by exp of logarithms to base 2: their weights are to the power 1.4427",
    ),
    PlantedFailure(
        "order_put_back_by_gather",
        "indexing",
        Cause.LAYOUT_PERMUTATION,
        lambda seed, n: [normal(seed, 6, n)],
        _back_by_scatter,
        _back_by_gather,
        size=20,
        says="`scatter` goes by the inverse of its permutation",
    ),
    PlantedFailure(
        "last_of_equal_rows_in_a_tile",
        "indexing",
        Cause.NONDETERMINISM_RACE,
        lambda seed, n: [whole(seed, 0, 6, n), normal(seed + 1, n, 10)],
        lambda index, rows: torch.zeros(6, rows.shape[1], dtype=rows.dtype).index_add(0, index, rows),
        _rows_of_tiles,
        size=24,
        says="the last of equal indices stands alone, of those in a tile of 8, where they should be summed",
    ),
    PlantedFailure(
        "shares_exchanged",
        "constants",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 6, n), normal(seed + 1, 6, n)],
        lambda x, y: torch.tanh(0.3 * x + 0.7 * y),
        lambda x, y: torch.tanh(0.7 * x + 0.3 * y),
        size=20,
        says="0.3 and 0.7 are exchanged",
    ),
    PlantedFailure(
        "variances_joined_about_the_new_mean",
        "reductions",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 40, n)],
        lambda x: x.var(-1, correction=0),
        _variance_in_blocks,
        size=20,
        kind="reduction",
        says="blocks of 8 are put together with the spread about the mean that holds the new block already",
    ),
    PlantedFailure(
        "mean_of_means",
        "losses",
        Cause.WRONG_SCALE,
        lambda seed, n: [normal(seed, n, 8), whole(seed + 1, 0, 8, n)],
        functional.cross_entropy,
        _means_of_blocks,
        size=18,
        says="the means of blocks of 4 are averaged",
    ),
    PlantedFailure(
        "two_arguments_of_another_group",
        "grouped_argument",
        Cause.BROADCASTING,
        lambda seed, n: [whole(seed, 0, 16, n, 10).float(), normal(seed, n // 4, 10), normal(seed + 1, n // 4, 10)],
        lambda codes, scale, zero: _dequantized(codes, scale, zero, 4),
        lambda codes, scale, zero: _dequantized(codes, scale, zero, 8),
        size=32,
        says="entry i // 2 of `scale` and entry i // 2 of `zero` are read for entry i along axis 0",
    ),
    PlantedFailure(
        "masked_before_a_soft_cap",
        "order",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, n, n)],
        lambda x: torch.softmax((4 * torch.tanh(x / 4)).masked_fill(_later(x), -math.inf), -1),
        lambda x: torch.softmax(4 * torch.tanh(x.masked_fill(_later(x), -math.inf) / 4), -1),
        size=20,
        says="`masked_fill` is made before `tanh`, not after it",
    ),
    PlantedFailure(
        "edge_repeated_in_a_reflection",
        "resampling",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 2, 3, n)],
        lambda x: functional.avg_pool1d(functional.pad(x, (2, 2), mode="reflect"), 5, 1),
        lambda x: functional.avg_pool1d(torch.cat([x[..., :2].flip(-1), x, x[..., -2:].flip(-1)], -1), 5, 1),
        size=12,
        says="the padding is symmetric reflection, which repeats the edge, not reflection",
    ),
    PlantedFailure(
        "edge_extrapolated",
        "resampling",
        Cause.WRONG_DEFAULT,
        lambda seed, n: [normal(seed, 2, 3, n)],
        lambda x: functional.interpolate(x, scale_factor=2, mode="linear"),
        lambda x: torch.cat([1.25 * x[..., :1] - 0.25 * x[..., 1:2], _doubled(x)[..., 1:]], -1),
        size=12,
        says="the edge is extrapolated",
    ),
)
"""At least one for every rule of the library and every probe."""
