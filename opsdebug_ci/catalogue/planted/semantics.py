"""Defects of meaning: another broadcast, constant, axis, default, scale, sign, mask or order than was promised."""

from __future__ import annotations

import math

import torch

from opsdebug_ci.catalogue.arithmetic import row_max, row_sum
from opsdebug_ci.catalogue.attention import attention, attention_causal
from opsdebug_ci.catalogue.elementwise import FLOATS
from opsdebug_ci.catalogue.normalisation import LAYER_EPS, RMS_EPS, layer_norm, normalised, rms_norm
from opsdebug_ci.catalogue.planted.movements import INTERLEAVE, ROTATE, rotated
from opsdebug_ci.catalogue.planted.originals import wide
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.products import blocked_product, conv2d, matmul_add_bias
from opsdebug_ci.catalogue.reductions import cumsum, logsumexp, mean
from opsdebug_ci.catalogue.softmaxes import shifted, softmax
from opsdebug_ci.catalogue.spatial import upsample_bilinear

SMALL = {"B": 1, "S": 12, "H": 24}


def _rms_scale(x: torch.Tensor) -> torch.Tensor:
    return torch.rsqrt(row_sum(x * x) / max(x.shape[-1], 1) + RMS_EPS)


def _wrong_one_weight(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * _rms_scale(x) * weight[:1]


def _right_one_weight(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * _rms_scale(x) * weight


def _wrong_kept_axis(x: torch.Tensor) -> torch.Tensor:
    return row_sum(x) / x.shape[-1]


def _right_kept_axis(x: torch.Tensor) -> torch.Tensor:
    return row_sum(x).squeeze(-1) / x.shape[-1]


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q @ k.transpose(-1, -2) / math.sqrt(max(q.shape[-1], 1))


def _weighed(scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scores, dim=-1) @ v


def _wrong_first_query(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return _weighed(_scores(q, k)[:, :1], v)


def _right_first_query(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return _weighed(_scores(q, k), v)


def _wrong_eps_outside(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x / (torch.sqrt(row_sum(x * x) / max(x.shape[-1], 1)) + RMS_EPS) * weight


def _right_eps_outside(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x / torch.sqrt(row_sum(x * x) / max(x.shape[-1], 1) + RMS_EPS) * weight


def _softmax_base_two(x: torch.Tensor, log2_e: float) -> torch.Tensor:
    e = torch.exp2(shifted(x) * log2_e)
    return e / row_sum(e)


def _wrong_short_constant(x: torch.Tensor) -> torch.Tensor:
    return _softmax_base_two(x, 1.443)


def _right_short_constant(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


def _wrong_scan_axis(x: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x, dim=-2)


def _right_scan_axis(x: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x, dim=-1)


def _wrong_mean_axis(x: torch.Tensor) -> torch.Tensor:
    return normalised(x.transpose(-1, -2), LAYER_EPS).transpose(-1, -2)


def _right_mean_axis(x: torch.Tensor) -> torch.Tensor:
    return normalised(x, LAYER_EPS)


def _enlarged(x: torch.Tensor, aligned: bool) -> torch.Tensor:
    return torch.nn.functional.interpolate(
        x, scale_factor=2.0, mode="bilinear", align_corners=aligned, recompute_scale_factor=False
    )


def _wrong_aligned(x: torch.Tensor) -> torch.Tensor:
    return _enlarged(x, aligned=True)


def _right_aligned(x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = upsample_bilinear.function(x)
    return result


def _normalised_by(x: torch.Tensor, lost: int) -> torch.Tensor:
    columns = x.shape[-1]
    centred = x - row_sum(x) / max(columns, 1)
    variance = row_sum(centred * centred) / max(columns - lost, 1)
    return centred * torch.rsqrt(variance + LAYER_EPS)


def _wrong_ddof(x: torch.Tensor) -> torch.Tensor:
    return _normalised_by(x, 1)


def _right_ddof(x: torch.Tensor) -> torch.Tensor:
    return _normalised_by(x, 0)


def _wrong_exclusive(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(torch.cumsum(x, dim=-1)[..., :-1], (min(x.shape[-1], 1), 0))


def _turned_back(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return rotated(x, cos, -sin)


def _wrong_minus_bias(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return blocked_product(a, b) - bias


def _right_minus_bias(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return blocked_product(a, b) + bias


def _triangle(scores: torch.Tensor, diagonal: int) -> torch.Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)


def _wrong_blind(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = _scores(q, k)
    hidden = _triangle(scores, 0)
    hidden[0, 0] = False
    return _weighed(scores.masked_fill(hidden, -math.inf), v)


def _right_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = _scores(q, k)
    return _weighed(scores.masked_fill(_triangle(scores, 1), -math.inf), v)


def _wrong_bottom_right(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = _scores(q, k)
    hidden = _triangle(scores, 1 + max(k.shape[-2] - q.shape[-2], 0))
    return _weighed(scores.masked_fill(hidden, -math.inf), v)


def _wrong_masked_zero(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = _scores(q, k)
    return _weighed(scores.masked_fill(_triangle(scores, 1), 0.0), v)


def _wrong_side_by_side(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, y], dim=-1)


def _right_side_by_side(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.stack([x, y], dim=-1).flatten(-2)


def _wrong_flipped_window(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = conv2d.function(x, weight.flip(-1, -2), bias)
    return result


def _logsumexp(x: torch.Tensor, unit: float) -> torch.Tensor:
    if x.shape[-1] == 0:
        return x.new_full(x.shape[:-1], -math.inf)
    peak = row_max(x)
    peak = torch.where(torch.isinf(peak), torch.zeros_like(peak), peak)
    return (torch.log(row_sum(torch.exp(x - peak))) / unit + peak).squeeze(-1)


def _wrong_base_two(x: torch.Tensor) -> torch.Tensor:
    return _logsumexp(x, math.log(2.0))


def _right_base_two(x: torch.Tensor) -> torch.Tensor:
    return _logsumexp(x, 1.0)


def _wrong_one_short(x: torch.Tensor) -> torch.Tensor:
    return row_sum(x).squeeze(-1) / (x.shape[-1] - 1)


UNEQUAL = {"B": 1, "N": 2, "S": 20, "T": 28, "D": 16}
"""More keys than queries, so that the corners of a causal mask differ."""

PLANTED = [
    plant(rms_norm, "one_weight", wrong=wide(_wrong_one_weight), right=wide(_right_one_weight), dims=SMALL),
    plant(mean, "kept_axis", wrong=wide(_wrong_kept_axis), right=wide(_right_kept_axis), dims=SMALL),
    plant(attention, "first_query", wrong=wide(_wrong_first_query), right=wide(_right_first_query)),
    plant(
        rms_norm,
        "eps_outside",
        wrong=wide(_wrong_eps_outside),
        right=wide(_right_eps_outside),
        dtypes=("float32",),
        dims=SMALL,
    ),
    plant(
        softmax,
        "short_constant",
        wrong=wide(_wrong_short_constant),
        right=wide(_right_short_constant),
        dtypes=("float32", "float16"),
        dims=SMALL,
    ),
    plant(cumsum, "scan_axis", wrong=wide(_wrong_scan_axis), right=wide(_right_scan_axis), dims=SMALL),
    plant(layer_norm, "mean_axis", wrong=wide(_wrong_mean_axis), right=wide(_right_mean_axis), dims=SMALL),
    plant(upsample_bilinear, "aligned", wrong=wide(_wrong_aligned), right=_right_aligned),
    plant(layer_norm, "ddof", wrong=wide(_wrong_ddof), right=wide(_right_ddof), dims=SMALL),
    plant(cumsum, "exclusive", wrong=wide(_wrong_exclusive), right=wide(_right_scan_axis), dims=SMALL),
    plant(ROTATE, "rotation", wrong=wide(_turned_back), right=wide(rotated), dims=SMALL),
    plant(
        matmul_add_bias,
        "minus_bias",
        wrong=wide(_wrong_minus_bias),
        right=wide(_right_minus_bias),
        dims={"M": 12, "K": 40, "N": 20},
    ),
    plant(attention_causal, "blind", wrong=wide(_wrong_blind), right=wide(_right_causal)),
    plant(
        attention_causal,
        "bottom_right",
        wrong=wide(_wrong_bottom_right),
        right=wide(_right_causal),
        dims=UNEQUAL,
    ),
    plant(attention_causal, "masked_zero", wrong=wide(_wrong_masked_zero), right=wide(_right_causal)),
    plant(
        INTERLEAVE,
        "side_by_side",
        wrong=_wrong_side_by_side,
        right=_right_side_by_side,
        dtypes=FLOATS,
        dims=SMALL,
    ),
    plant(conv2d, "flipped_window", wrong=_wrong_flipped_window, right=conv2d.function),
    plant(logsumexp, "base_two", wrong=wide(_wrong_base_two), right=wide(_right_base_two), dims=SMALL),
    plant(mean, "one_short", wrong=wide(_wrong_one_short), right=wide(_right_kept_axis), dims=SMALL),
]
