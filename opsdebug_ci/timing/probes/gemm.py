"""The GEMM probe: the peak of fused multiply-adds, by dtype, that the framework's own matrix product reaches.

Decides the size, by doubling until a product lasts long enough to hide its launch. A dtype in which this device has no
product, or one that creeps, has no reading: an emulation is no peak that a floor could rest on.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from opsdebug_ci.model.machine import ProbeReading
from opsdebug_ci.timing.probes.bench import Bench

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
"""What is probed, float32 first: the narrower ones are held against it."""

SMALLEST = 256
"""Side of the first matrices: 34 MFLOP, a millisecond at 34 GFLOP/s."""

LARGEST = 8192
"""Side of the last: 400 MB for three matrices of bfloat16, 1.6 GB for float64."""

LONGEST_NS = 12_000_000
"""A product that is expected to take longer is not made. The last one made then took at least an eighth of it, which
is a hundred launches and more."""

CREEPING_NS = 50_000_000
"""A first product slower than this (0.7 GFLOP/s) is a loop over scalars."""

EMULATED = 4.0
"""A narrower dtype that takes this many times as long as float32 is computed by conversion: where it is native it is
at least as fast, and memory that is half as large gains at most 2 back."""

TRIES = 3
"""Products from which a size is judged; the shortest counts, since other load can stretch any of them."""

REPETITIONS = 9
"""Products timed; the shortest counts."""


def gemm(bench: Bench) -> Iterator[ProbeReading]:
    """Square matrix products in every dtype that has one."""
    most_ns = float(CREEPING_NS)
    for dtype in DTYPES:
        first_ns = _first_ns(bench, dtype)
        if first_ns is not None and first_ns <= (most_ns if dtype.itemsize < 4 else CREEPING_NS):
            yield _reading(bench, dtype, _side(bench, dtype, first_ns))
        if dtype is torch.float32 and first_ns is not None:
            most_ns = min(most_ns, EMULATED * first_ns)


def _first_ns(bench: Bench, dtype: torch.dtype) -> int | None:
    """Time of the smallest product; None: the device has no such dtype, or no product in it."""
    try:
        return _product_ns(bench, dtype, SMALLEST)
    except (RuntimeError, TypeError):
        return None


def _side(bench: Bench, dtype: torch.dtype, first_ns: int) -> int:
    """Side of the largest matrices whose product is short enough."""
    side, took_ns = SMALLEST, first_ns
    while side < LARGEST and 8 * took_ns <= LONGEST_NS:
        side *= 2
        took_ns = _product_ns(bench, dtype, side)
    return side


def _product_ns(bench: Bench, dtype: torch.dtype, side: int) -> int:
    """Time of a product after a first one, which sets up the library."""
    product = _product(bench, dtype, side)
    bench.once_ns(product)
    return min(bench.once_ns(product) for _ in range(TRIES))


def _product(bench: Bench, dtype: torch.dtype, side: int) -> partial[torch.Tensor]:
    left = torch.full((side, side), 0.5, dtype=dtype, device=bench.device)
    return partial(torch.mm, left, left.clone(), out=torch.empty_like(left))


def _reading(bench: Bench, dtype: torch.dtype, side: int) -> ProbeReading:
    samples = bench.samples_ns(_product(bench, dtype, side), REPETITIONS)
    return ProbeReading(
        probe="gemm",
        size_bytes=3 * side * side * dtype.itemsize,
        samples_ns=samples,
        flops_per_s=2.0 * side**3 / (min(samples) * 1e-9),
        dtype=str(dtype).removeprefix("torch."),
    )
