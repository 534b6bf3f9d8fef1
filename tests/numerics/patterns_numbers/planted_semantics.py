"""Planted defects of what is computed: statistics of rows, special values, integer widths, signs."""

from __future__ import annotations

import math

import torch
from numbers_notation import integers, normal, uniform
from numbers_planted import plant
from planted_precision import serial_sums, softmax
from torch.nn import functional


def layer_norm(x, w=None, b=None, eps=1e-5):
    return functional.layer_norm(x, x.shape[-1:], w, b, eps)


def scaled_rows(x, scale):
    """(x - mean) * scale(x - mean): a layer norm with a statistic of its own."""
    centred = x - x.mean(-1, keepdim=True)
    return centred * scale(centred)


def mean_square(x):
    return x.square().mean(-1, keepdim=True)


def rms_norm(x, w, eps=1e-6):
    return x * (mean_square(x) + eps).rsqrt() * w


def padded_norm(x):
    mean = x.mean(-1, keepdim=True)
    variance = (functional.pad(x, (0, 14)) - mean).square().sum(-1, keepdim=True) / x.shape[-1]
    return (x - mean) * (variance + 1e-5).rsqrt()


def one_pass(x):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * (mean_square(x) - mean.square() + 1e-5).rsqrt()


def exponentials(x):
    return torch.exp(x - x.amax(-1, keepdim=True))


def rope(x, c, s, sign=1.0):
    first, second = x.chunk(2, -1)
    return x * c + torch.cat([-sign * second, first], -1) * s


EPS, TAIL, LOW = "wrong_constant_eps", "tail_mask", "low_precision_accum"
NORM = "norm_statistic"
W, B = normal(64, seed=5), normal(64, seed=6)
SMALL = normal(32, 64) * 10.0 ** -(3 * uniform(32, 1, seed=9))
RAGGED = normal(32, 50) + 1 + normal(32, 1, seed=2)
IMAGES = normal(4, 8, 6, 6)
plant("eps", NORM, EPS, "norm", lambda x: layer_norm(x, eps=1e-6), layer_norm, x=SMALL)
plant("eps with weight", NORM, EPS, "norm", lambda x, w, b: layer_norm(x, w, b, 1e-6), layer_norm, x=SMALL, w=W, b=B)
plant("eps, open kind", NORM, EPS, "auto", lambda x, w, b: layer_norm(x, w, b, 1e-6), layer_norm, x=SMALL, w=W, b=B)
plant("eps in fp16", NORM, EPS, "norm", lambda x: layer_norm(x.float(), eps=1e-3).half(), layer_norm, x=SMALL.half())
plant(
    "eps outside",
    NORM,
    EPS,
    "norm",
    lambda x: scaled_rows(x, lambda c: 1 / (mean_square(c).sqrt() + 1e-5)),
    layer_norm,
    x=SMALL,
)
plant("no eps", NORM, EPS, "norm", lambda x: scaled_rows(x, lambda c: mean_square(c).rsqrt()), layer_norm, x=SMALL)
plant("rms eps", NORM, EPS, "norm", lambda x, w: rms_norm(x, w, 1e-5), rms_norm, x=SMALL, w=W)
plant(
    "group eps",
    NORM,
    EPS,
    "norm",
    lambda x: functional.group_norm(x, 4, eps=1e-6),
    lambda x: functional.group_norm(x, 4),
    x=IMAGES * 10.0 ** -(3 * uniform(4, 8, 1, 1, seed=9)),
)
plant(
    "batch eps",
    NORM,
    EPS,
    "norm",
    lambda x: functional.batch_norm(x, None, None, training=True, eps=1e-6),
    lambda x: functional.batch_norm(x, None, None, training=True),
    x=IMAGES * 10.0 ** -(3 * uniform(1, 8, 1, 1, seed=9)),
)
plant(
    "ddof",
    NORM,
    "wrong_default",
    "norm",
    lambda x: scaled_rows(x, lambda c: (c.square().sum(-1, keepdim=True) / 63 + 1e-5).rsqrt()),
    layer_norm,
    x=normal(32, 64),
)
plant("padded variance", NORM, TAIL, "norm", padded_norm, layer_norm, x=RAGGED)
plant(
    "mean square over the block",
    NORM,
    TAIL,
    "norm",
    lambda x, w: x * (x.square().sum(-1, keepdim=True) / 64 + 1e-6).rsqrt() * w,
    rms_norm,
    x=RAGGED,
    w=W[:50],
)
plant(
    "lost tail of the mean square",
    NORM,
    TAIL,
    "norm",
    lambda x, w: x * (x[:, :48].square().sum(-1, keepdim=True) / 50 + 1e-6).rsqrt() * w,
    rms_norm,
    x=RAGGED,
    w=W[:50],
)
plant("one-pass variance", NORM, LOW, "norm", one_pass, layer_norm, x=normal(64, 64) * 0.1 + 30)

DENOMINATOR = "softmax_denominator"
ROWS = normal(32, 50)
plant(
    "padded softmax",
    DENOMINATOR,
    TAIL,
    "softmax",
    lambda x: exponentials(x) / (exponentials(x).sum(-1, keepdim=True) + 14 * torch.exp(-x.amax(-1, keepdim=True))),
    softmax,
    x=ROWS,
)
plant(
    "padded log-softmax",
    DENOMINATOR,
    TAIL,
    "log_softmax",
    lambda x: x - torch.logsumexp(functional.pad(x, (0, 14)), -1, keepdim=True),
    lambda x: torch.log_softmax(x, -1),
    x=ROWS,
)
plant(
    "lost tail of the denominator",
    DENOMINATOR,
    TAIL,
    "softmax",
    lambda x: exponentials(x) / exponentials(x)[:, :48].sum(-1, keepdim=True),
    softmax,
    x=ROWS,
)
plant(
    "denominator in fp16",
    DENOMINATOR,
    LOW,
    "softmax",
    lambda x: exponentials(x) / serial_sums(exponentials(x).half(), torch.float16).float()[:, None],
    softmax,
    x=normal(64, 128),
)

OVER, SPECIAL = "overflow", "nan_inf_handling"
STEEP = torch.cat([normal(16, 50), normal(16, 50, seed=1) * 60])
TINY, HUGE = normal(32, 64) * 1e-38, normal(16, 64)
HUGE[2] *= 1e20
HUGE[5] *= 3e19


def safe_rms(x):
    size = x.abs().amax(-1, keepdim=True)
    return x / size * (mean_square(x / size) + 1e-6 / size / size).rsqrt()


plant(
    "softmax without its maximum",
    OVER,
    SPECIAL,
    "softmax",
    lambda x: torch.exp(x) / torch.exp(x).sum(-1, keepdim=True),
    softmax,
    x=STEEP,
)
plant(
    "logsumexp without its maximum",
    OVER,
    SPECIAL,
    "reduction",
    lambda x: torch.exp(x).sum(-1).log(),
    lambda x: torch.logsumexp(x, -1),
    x=STEEP,
)
plant(
    "softplus of large x",
    OVER,
    SPECIAL,
    "transcendental",
    lambda x: torch.log1p(torch.exp(x)),
    functional.softplus,
    x=STEEP,
)
plant(
    "product through fp16",
    OVER,
    "dtype_promotion",
    "elementwise",
    lambda x, y: torch.where((x * y).abs() > 65504, (x * y).sign() * math.inf, x * y),
    torch.mul,
    x=normal(16, 64) * 200,
    y=normal(16, 64, seed=1) * 200,
)
plant(
    "matmul through fp16",
    OVER,
    LOW,
    "matmul",
    lambda a, b: (a.half() @ b.half()).float(),
    torch.matmul,
    a=normal(24, 128) * 60,
    b=normal(128, 24, seed=1) * 60,
)
plant("squares overflow", OVER, SPECIAL, "norm", lambda x: x * (mean_square(x) + 1e-6).rsqrt(), safe_rms, x=HUGE)
plant(
    "flushed",
    OVER,
    "denormal_signed_zero",
    "elementwise",
    lambda x: torch.where((x / 4).abs() < 2**-126, torch.zeros_like(x), x / 4),
    lambda x: x / 4,
    x=TINY,
)

POLICY = "nan_policy"
HOLED, MASKED = normal(16, 24), normal(16, 24)
HOLED[::2, 7] = math.nan
MASKED[[3, 7]] = -math.inf
TIED, OTHER = integers(0, 4, 32, 6).float(), integers(0, 4, 32, 6, seed=1).float()
plant("fully masked rows", POLICY, SPECIAL, "softmax", softmax, lambda x: softmax(x).nan_to_num(nan=0.0), x=MASKED)
plant(
    "argmax past NaN",
    POLICY,
    SPECIAL,
    "index",
    lambda x: x.nan_to_num(nan=-math.inf).argmax(-1),
    lambda x: x.argmax(-1),
    x=HOLED,
)
plant(
    "argmin past NaN, open kind",
    POLICY,
    SPECIAL,
    "auto",
    lambda x: x.nan_to_num(nan=math.inf).argmin(-1),
    lambda x: x.argmin(-1),
    x=HOLED,
)
plant(
    "maximum past NaN",
    POLICY,
    SPECIAL,
    "exact",
    lambda x: x.nan_to_num(nan=-math.inf).amax(-1),
    lambda x: x.amax(-1),
    x=HOLED,
)
plant(
    "clamp past NaN",
    POLICY,
    SPECIAL,
    "auto",
    lambda x: x.nan_to_num(nan=0.0).clamp(-1, 1),
    lambda x: x.clamp(-1, 1),
    x=HOLED,
)
plant(
    "last of equals",
    POLICY,
    "wrong_default",
    "auto",
    lambda x: 5 - x.flip(-1).argmax(-1),
    lambda x: (x == x.amax(-1, keepdim=True)).int().argmax(-1),
    x=TIED,
)
plant("not less for greater", POLICY, "wrong_default", "auto", torch.ge, torch.gt, x=TIED, y=OTHER)

WIDTH, PROMOTED = "integer_width", "dtype_promotion"
BYTES = {"a": integers(0, 256, 256, dtype=torch.uint8), "b": integers(0, 256, 256, seed=1, dtype=torch.uint8)}
plant(
    "sum wraps",
    WIDTH,
    PROMOTED,
    "auto",
    lambda x: x.sum(-1).to(torch.int32).long(),
    lambda x: x.long().sum(-1),
    x=integers(0, 2**28, 32, 64, dtype=torch.int32),
)
plant(
    "sum does not wrap",
    WIDTH,
    PROMOTED,
    "auto",
    lambda a, b: a.to(torch.int16) + b.to(torch.int16),
    lambda a, b: (a + b).to(torch.int16),
    **BYTES,
)
plant(
    "indices in float32",
    WIDTH,
    PROMOTED,
    "auto",
    lambda x: x.float().long() + 0,
    lambda x: x + 0,
    x=integers(0, 2**31, 512),
)
plant(
    "sum in float32",
    WIDTH,
    PROMOTED,
    "auto",
    lambda x: x.float().sum(-1).long(),
    lambda x: x.sum(-1),
    x=integers(0, 2**28, 32, 64),
)
plant(
    "sum clipped",
    WIDTH,
    PROMOTED,
    "auto",
    lambda a, b: (a.int() + b.int()).clamp(0, 255),
    lambda a, b: a.int() + b.int(),
    **BYTES,
)
plant(
    "limit cut",
    WIDTH,
    PROMOTED,
    "auto",
    lambda x: x.clamp(min=0).float(),
    lambda x: x.float().clamp(min=0.5),
    x=integers(-3, 4, 60),
)
plant(
    "quotient cut",
    WIDTH,
    PROMOTED,
    "auto",
    lambda x, y: torch.div(x, y, rounding_mode="floor").float(),
    torch.div,
    x=integers(0, 100, 60),
    y=integers(1, 9, 60),
)

SIGN, FLIP = "sign_pattern", "sign_flip"
X, Y = normal(16, 64), normal(16, 64, seed=1)
ANGLES = normal(16, 32) * 3
plant("swapped operands", SIGN, FLIP, "elementwise", lambda x, y: y - x, torch.sub, x=X, y=Y)
plant("lost absolute value", SIGN, FLIP, "elementwise", lambda x, y: x * y, lambda x, y: x.abs() * y, x=X, y=Y.abs())
plant("minus for plus", SIGN, FLIP, "elementwise", torch.sub, torch.add, x=X, y=Y)
plant(
    "minus bias",
    SIGN,
    FLIP,
    "auto",
    lambda x, w, b: x @ w - b,
    lambda x, w, b: x @ w + b,
    x=normal(16, 32),
    w=normal(32, 24, seed=3),
    b=normal(24, seed=1),
)
plant(
    "rope half",
    SIGN,
    FLIP,
    "auto",
    lambda x, c, s: rope(x, c, s, -1.0),
    rope,
    x=normal(4, 16, 32),
    c=ANGLES.cos(),
    s=ANGLES.sin(),
)
plant("negative integers", SIGN, FLIP, "auto", lambda x: -x, lambda x: x + 0, x=integers(1, 100, 64))
