"""Triton kernels for watched runs; decorated at import, so the interpreter is switched on before."""

from __future__ import annotations

import torch
import triton.language as tl

from opsdebug_ci.catalogue.triton_runtime import jit


@jit
def shares(x, out, n, SIZE: tl.constexpr):
    """x / (x - x): NaN made inside the kernel."""
    at = tl.arange(0, SIZE)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, value / (value - value), mask=at < n)


@jit
def doubles(x, out, n, SIZE: tl.constexpr):
    """2 x."""
    at = tl.arange(0, SIZE)
    tl.store(out + at, 2.0 * tl.load(x + at, mask=at < n), mask=at < n)


@jit
def copies(x, out, n, SIZE: tl.constexpr):
    """The bits of x."""
    at = tl.arange(0, SIZE)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


def run(kernel, x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    out = torch.empty_like(x) if out is None else out
    kernel[(1,)](x, out, x.numel(), SIZE=8)
    return out
