"""Error bounds of the catalogue's operators, derived here per operator, apart from the tool's own comparison.

Every bound has the form |actual - y| <= u_o*|y| + eta + u_c*M. u_o and u_c are the unit roundoffs of the output's
and of the compute dtype; eta is the smallest normal number of the compute dtype (below it a relative error means
nothing); M is the size of the intermediate terms times the number of roundings they meet (first order; Higham, ASNA
2nd ed., ch. 3-4).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SMALLEST_NORMAL = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-126, "bfloat16": 2.0**-126}
HALF_SUBNORMAL = {"float64": 2.0**-1075, "float32": 2.0**-150, "float16": 2.0**-25, "bfloat16": 2.0**-134}

Array = np.ndarray
Magnitude = Callable[..., Array]
"""(y, *float64 arguments) -> M, elementwise."""


def _gelu(y: Array, x: Array, *rest: Array) -> Array:
    """erfc's argument carries 2 roundings, and d log(erfc(z)) = about -2z dz: x**2 of them; plus 8 of its own."""
    alone = y - rest[0] if rest else y
    return np.abs(alone) * (8.0 + 2.0 * x * x) + np.abs(y)


def gelu_by_erf(y: Array, x: Array, *rest: Array) -> Array:
    """1 + erf, or 1 + tanh, loses everything below one rounding of 1: 4 roundings of |x|."""
    return 4.0 * (np.abs(x) + np.abs(y))


def _logistic(y: Array, x: Array, *rest: Array) -> Array:
    """exp(-t) has relative error |t| roundings; t = x, or up to 3 roundings in t = 2s(x + 0.04x**3)."""
    return np.abs(y) * (10.0 + np.abs(x) + 3.0 * np.abs(2.0 * 0.8 * (x + 0.045 * x**3)))


def _softmax(y: Array, x: Array) -> Array:
    spread = np.abs(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    spread = np.where(np.isfinite(spread), spread, 0.0)
    return np.abs(y) * (8.0 + 2.0 * spread + 2.0 * np.log2(x.shape[-1] + 2) + np.max(spread, initial=0.0))


def _log_softmax(y: Array, x: Array) -> Array:
    spread = np.abs(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    return 4.0 * (spread + np.abs(y) + np.abs(x)) + 8.0 + 2.0 * np.log2(x.shape[-1] + 2)


def _layer_norm(y: Array, x: Array, weight: Array | float = 1.0, bias: Array | float = 0.0) -> Array:
    n = max(x.shape[-1], 1)
    mean = np.sum(x, axis=-1, keepdims=True) / n
    scale = 1.0 / np.sqrt(np.sum((x - mean) ** 2, axis=-1, keepdims=True) / n + 1e-5)
    size = np.max(np.abs(x), axis=-1, keepdims=True, initial=0.0)
    normal = np.abs((x - mean) * scale)
    steps = np.log2(n + 2) + 4.0
    # The mean is off by `steps` roundings of the row's size, and that offset enters the variance and the numerator.
    offset = steps * size * scale
    return np.abs(weight) * (2.0 * offset + normal * (2.0 * steps + offset)) + 2.0 * np.abs(bias)


def _rms_norm(y: Array, x: Array, weight: Array) -> Array:
    return np.abs(y) * (np.log2(x.shape[-1] + 2) + 8.0)


def _sum(y: Array, x: Array) -> Array:
    return np.sum(np.abs(x), axis=-1) * (np.log2(x.shape[-1] + 2) + 2.0)


def _mean(y: Array, x: Array) -> Array:
    return _sum(y, x) / max(x.shape[-1], 1) + np.abs(y)


def _logsumexp(y: Array, x: Array) -> Array:
    return 4.0 * (np.abs(y) + np.max(np.abs(x), axis=-1, initial=0.0)) + np.log2(x.shape[-1] + 2) + 4.0


def _cumsum(y: Array, x: Array) -> Array:
    return np.cumsum(np.abs(x), axis=-1) * (np.log2(x.shape[-1] + 2) + 2.0)


def _matmul(y: Array, a: Array, b: Array, bias: Array | float = 0.0) -> Array:
    return (np.abs(a) @ np.abs(b) + np.abs(bias)) * (a.shape[1] + 2.0)


def _conv2d(y: Array, x: Array, weight: Array, bias: Array) -> Array:
    arguments = (torch.from_numpy(np.abs(item)) for item in (x, weight, bias))
    return torch.nn.functional.conv2d(*arguments, padding=1).numpy() * (weight[0].size + 2.0)


def _attention(y: Array, q: Array, k: Array, v: Array) -> Array:
    """A score is off by D + 2 roundings of sum |q||k|/sqrt(D), which scales its weight; the rest: T + 16."""
    score = np.einsum("bnsd,bntd->bnst", np.abs(q), np.abs(k)) / np.sqrt(max(q.shape[-1], 1))
    worst = np.max(score, axis=-1, initial=0.0)[..., None] * (q.shape[-1] + 8.0)
    return (2.0 * worst + k.shape[-2] + 16.0) * np.max(np.abs(v), axis=-2, keepdims=True, initial=0.0)


def _upsample(y: Array, x: Array) -> Array:
    """Eight roundings of the largest of the four neighbours, which lie within a 2x2 window of the source."""
    padded = np.pad(np.abs(x), ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    rows, columns = x.shape[2:]
    windows = [padded[:, :, i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    return 8.0 * np.max(windows, axis=0).repeat(2, axis=2).repeat(2, axis=3)


def _exact(y: Array, *rest: Array) -> Array:
    return np.zeros_like(y)


MAGNITUDES: dict[str, Magnitude] = {
    "add": lambda y, *rest: np.abs(y),
    "mul_add": lambda y, a, b, c: 2.0 * np.abs(a * b) + np.abs(c),
    "gelu": _gelu,
    "triton_gelu": gelu_by_erf,
    "gelu_tanh": _logistic,
    "silu": _logistic,
    "swiglu": _logistic,
    "gelu_add_residual": _gelu,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "layer_norm": _layer_norm,
    "layer_norm_bias": _layer_norm,
    "rms_norm": _rms_norm,
    "sum": _sum,
    "mean": _mean,
    "logsumexp": _logsumexp,
    "cumsum": _cumsum,
    "matmul": _matmul,
    "matmul_add_bias": _matmul,
    "conv2d": _conv2d,
    "attention": _attention,
    "attention_causal": _attention,
    "upsample_bilinear": _upsample,
    "upsample_bilinear_aligned": _upsample,
    "transpose": _exact,
    "gather": _exact,
    "topk": _exact,
}


def bound(magnitude: Magnitude, y: Array, arguments: list[Array], dtype: str, *, exact: bool) -> Array:
    """Largest legitimate error per element of an operator whose inputs and output are `dtype`."""
    if exact:
        return np.zeros_like(y)
    compute = dtype if dtype == "float64" else "float32"
    internal = ROUNDOFF[compute] * magnitude(y, *arguments)
    return ROUNDOFF[dtype] * np.abs(y) + HALF_SUBNORMAL[dtype] + SMALLEST_NORMAL[dtype] + internal


def dissent_bound(magnitude: Magnitude, y: Array, arguments: list[Array], *, exact: bool) -> Array:
    """Largest legitimate difference of two float64 references: the same terms, 64 roundings of float64 each.

    64 covers one-by-one summation of the longest rows here against the halving that M counts.
    """
    return np.zeros_like(y) if exact else 64.0 * 2.0**-53 * (magnitude(y, *arguments) + np.abs(y)) + 2.0**-1022
