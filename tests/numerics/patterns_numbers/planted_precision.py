"""Planted defects of precision: grids, accumulators, stalled sums, approximations, rounding."""

from __future__ import annotations

import math

import torch
from numbers_notation import integers, normal, uniform
from numbers_planted import plant
from torch.nn import functional

BF16, FP16 = torch.bfloat16, torch.float16


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def sums(x: torch.Tensor) -> torch.Tensor:
    return x.sum(-1)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def cut(wide: torch.Tensor) -> torch.Tensor:
    """float32 to the grid of bfloat16 by cutting bits off."""
    return (wide.view(torch.int32) & ~0xFFFF).view(torch.float32)


def serial_sums(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    total = torch.zeros(x.shape[:-1], dtype=dtype)
    for column in x.to(dtype).unbind(-1):
        total = total + column
    return total.to(x.dtype)


def serial_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(a.shape[0], b.shape[1], dtype=FP16)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1].half() * b[k : k + 1].half()
    return total.to(a.dtype)


def split_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Partial sums over six parts of K are rounded to the output's dtype and added in it."""
    parts = zip(a.chunk(6, 1), b.chunk(6, 0), strict=True)
    total = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
    for left, right in parts:
        total = total + (left.float() @ right.float()).to(a.dtype)
    return total


def half_scan(x: torch.Tensor) -> torch.Tensor:
    steps = [torch.zeros(x.shape[0], dtype=FP16)]
    for column in x.half().unbind(-1):
        steps.append(steps[-1] + column)
    return torch.stack(steps[1:], -1).float()


def rounded_down(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    exact = x.double() + y.double()
    nearest = exact.to(FP16)
    below = torch.nextafter(nearest, torch.tensor(-math.inf, dtype=FP16))
    return torch.where(nearest.double() > exact, below, nearest)


def half_away(x: torch.Tensor) -> torch.Tensor:
    return x.sign() * torch.floor(x.abs() + 0.5)


def codes(way):
    return lambda x, s: way(x / s).clamp(-128, 127).to(torch.int8)


def coarse_exp_softmax(x: torch.Tensor) -> torch.Tensor:
    shifted = x - x.amax(-1, keepdim=True)
    terms = torch.exp(shifted) * (1 + 3e-4 * torch.cos(3 * shifted))
    return terms / terms.sum(-1, keepdim=True)


A, B = normal(32, 64), normal(64, 48, seed=1)
X, Y = normal(16, 64), normal(16, 64, seed=2)
LONG = {"a": normal(32, 512, dtype=FP16), "b": normal(512, 32, seed=1, dtype=FP16)}
CODED = {"x": normal(1024), "s": torch.tensor(0.05)}
LOW, PROMOTED, ROUNDED, NEAR = "low_precision_accum", "dtype_promotion", "wrong_rounding", "approximation"

GRID = "coarse_grid"
plant("product stored through bf16", GRID, LOW, "matmul", lambda a, b: (a @ b).to(BF16).float(), product, a=A, b=B)
plant("product made in fp16", GRID, LOW, "matmul", lambda a, b: (a.half() @ b.half()).float(), product, a=A, b=B)
plant("sum kept in fp16", GRID, LOW, "reduction", lambda x: serial_sums(x, FP16), sums, x=normal(64, 1024))
plant("sum kept in bf16", GRID, LOW, "reduction", lambda x: serial_sums(x, BF16), sums, x=uniform(64, 100))
plant("softmax made in fp16", GRID, LOW, "softmax", lambda x: softmax(x.half()).float(), softmax, x=normal(64, 128))
plant(
    "gelu stored through bf16",
    GRID,
    PROMOTED,
    "transcendental",
    lambda x: functional.gelu(x).to(BF16).float(),
    functional.gelu,
    x=X,
)
plant(
    "fp64 made in fp32", GRID, PROMOTED, "transcendental", lambda x: x.float().sin().double(), torch.sin, x=X.double()
)
plant("bf16 by cutting", GRID, ROUNDED, "elementwise", lambda x, y: cut(x + y), torch.add, x=X, y=Y)

BITS = "accumulator"
plant("operands cast to fp16", BITS, LOW, "matmul", lambda a, b: a.half().float() @ b.half().float(), product, a=A, b=B)
plant("fp16 accumulator", BITS, LOW, "matmul", serial_product, product, **LONG)
plant("fp16 accumulator, open kind", BITS, LOW, "auto", serial_product, product, **LONG)
plant(
    "split K in bf16",
    BITS,
    LOW,
    "matmul",
    split_product,
    product,
    a=normal(32, 1024, dtype=BF16),
    b=normal(1024, 48, seed=1, dtype=BF16),
)
plant("factor cast to bf16", BITS, PROMOTED, "elementwise", lambda x, y: x.to(BF16).float() * y, torch.mul, x=X, y=Y)
plant("scan kept in fp16", GRID, LOW, "scan", half_scan, lambda x: x.cumsum(-1), x=normal(16, 256))

STALL = "stagnation"
EIGHT = uniform(8, 8192, dtype=FP16)
plant("sum stalls", STALL, LOW, "reduction", lambda x: serial_sums(x, FP16), sums, x=EIGHT)
plant("mean stalls", STALL, LOW, "reduction", lambda x: serial_sums(x, FP16) / 8192, lambda x: x.mean(-1), x=EIGHT)
plant("bf16 sum stalls", STALL, LOW, "reduction", lambda x: serial_sums(x, BF16), sums, x=uniform(8, 2048, dtype=BF16))

SMOOTH = "smooth_bias"
WIDE = normal(16, 128) * 2
RESIDUAL = {"x": normal(32, 64), "r": normal(32, 64, seed=1)}


def quick_gelu(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(1.702 * x)


def tanh_gelu(x: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x, approximate="tanh")


def branched(x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 1.5, quick_gelu(x), functional.gelu(x)) + r


plant("exp as a power", SMOOTH, NEAR, "transcendental", lambda x: (1 + x / 64) ** 64, torch.exp, x=normal(16, 128))
plant("tanh gelu", SMOOTH, NEAR, "transcendental", tanh_gelu, functional.gelu, x=normal(16, 128))
plant(
    "tanh gelu in fp16",
    SMOOTH,
    NEAR,
    "transcendental",
    lambda x: tanh_gelu(x.float()).half(),
    functional.gelu,
    x=WIDE.half(),
)
plant("quick gelu, open kind", SMOOTH, NEAR, "auto", quick_gelu, functional.gelu, x=normal(2048) * 2)
plant("clipped tanh", SMOOTH, NEAR, "transcendental", lambda x: x.clamp(-3, 3).tanh(), torch.tanh, x=WIDE)
plant("hard sigmoid", SMOOTH, NEAR, "transcendental", functional.hardsigmoid, torch.sigmoid, x=WIDE)
plant(
    "rsqrt of 12 bits",
    SMOOTH,
    NEAR,
    "elementwise",
    lambda x: x.rsqrt() * (1 + 1e-4 * torch.cos(9 * x)),
    torch.rsqrt,
    x=uniform(32, 64) + 0.1,
)
plant(
    "gelu plus residual",
    SMOOTH,
    NEAR,
    "auto",
    lambda x, r: tanh_gelu(x) + r,
    lambda x, r: functional.gelu(x) + r,
    **RESIDUAL,
)
plant("branch plus residual", SMOOTH, NEAR, "auto", branched, lambda x, r: functional.gelu(x) + r, **RESIDUAL)
plant("softmax of a coarse exp", SMOOTH, NEAR, "softmax", coarse_exp_softmax, softmax, x=normal(64, 64) * 2)

MODE = "rounding_mode"
QUARTERS = integers(-80, 80, 1024).float() / 4
OPERANDS = {"a": integers(-100, 101, 512), "b": integers(3, 9, 512, seed=1) * (1 - 2 * integers(0, 2, 512, seed=2))}
plant(
    "bf16 output cut",
    MODE,
    ROUNDED,
    "elementwise",
    lambda x, y: cut(x.float() + y.float()).to(BF16),
    torch.add,
    x=X.to(BF16),
    y=Y.to(BF16),
)
plant("fp16 rounded down", MODE, ROUNDED, "elementwise", rounded_down, torch.add, x=X.half(), y=Y.half())
plant("codes cut", MODE, ROUNDED, "quantize", codes(torch.trunc), codes(torch.round), **CODED)
plant("codes rounded down", MODE, ROUNDED, "auto", codes(torch.floor), codes(torch.round), **CODED)
plant(
    "code ties away",
    MODE,
    ROUNDED,
    "quantize",
    lambda x: half_away(x).to(torch.int8),
    lambda x: x.round().to(torch.int8),
    x=QUARTERS,
)
plant("float ties away", MODE, ROUNDED, "auto", half_away, torch.round, x=QUARTERS)
plant(
    "codes rounded twice",
    MODE,
    ROUNDED,
    "quantize",
    lambda x, s: codes(torch.round)(x.half(), s.half()),
    codes(torch.round),
    x=normal(4096) * 3,
    s=CODED["s"],
)
plant(
    "quotient of C",
    MODE,
    ROUNDED,
    "auto",
    lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    lambda a, b: torch.div(a, b, rounding_mode="floor"),
    **OPERANDS,
)
plant("remainder of C", MODE, "sign_flip", "auto", torch.fmod, torch.remainder, **OPERANDS)
plant(
    "remainder of C in floats",
    MODE,
    "sign_flip",
    "elementwise",
    torch.fmod,
    torch.remainder,
    a=normal(512) * 10,
    b=normal(512, seed=1),
)
