"""Kernels that do one thing to every element; decorated at import, so the interpreter is switched on before."""

# ruff: noqa: C901, PLR0912 - one kernel, one branch for every operation
from __future__ import annotations

import torch
import triton.language as tl
from triton.language.extra import libdevice

from opsdebug_ci.catalogue.triton_runtime import jit

BLOCK = 1 << 15


@jit
def converts(x, out, n, SIZE: tl.constexpr):
    """x in the format of out."""
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty), mask=at < n)


@jit
def computes(x, y, z, out, n, WHAT: tl.constexpr, SIZE: tl.constexpr):
    """One operation on x, y and z."""
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    a = tl.load(x + at, mask=at < n)
    b = tl.load(y + at, mask=at < n)
    c = tl.load(z + at, mask=at < n)
    if WHAT == "add":
        r = a + b
    elif WHAT == "sub":
        r = a - b
    elif WHAT == "mul":
        r = a * b
    elif WHAT == "div":
        r = a / b
    elif WHAT == "neg":
        r = -a
    elif WHAT == "abs":
        r = tl.abs(a)
    elif WHAT == "fma":
        r = tl.fma(a, b, c)
    elif WHAT == "max":
        r = tl.maximum(a, b)
    elif WHAT == "max_nan":
        r = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif WHAT == "min":
        r = tl.minimum(a, b)
    elif WHAT == "clamp":
        r = tl.clamp(a, b, c)
    elif WHAT == "less":
        r = (a < b).to(tl.bfloat16)
    elif WHAT == "equal":
        r = (a == b).to(tl.int32)
    elif WHAT == "where":
        r = tl.where(a >= b, a, b)
    elif WHAT == "tenth":
        r = a * 0.1
    elif WHAT == "floordiv":
        r = a // b
    elif WHAT == "mod":
        r = a % b
    elif WHAT == "shift":
        r = a >> 3
    tl.store(out + at, r, mask=at < n)


@jit
def scaled(x, out, factor, SIZE: tl.constexpr):
    """x times a scalar, which widens bfloat16, in float32."""
    at = tl.arange(0, SIZE)
    product = tl.load(x + at) * factor
    tl.store(out + at, product.to(tl.float32) + factor.to(tl.float32) * 0)


@jit
def _mixes(a, b):
    return a * b + a


@jit
def reduces(x, out, SIZE: tl.constexpr, WHAT: tl.constexpr):
    """One value of a row, or a row of running ones."""
    at = tl.arange(0, SIZE)
    row = tl.load(x + at)
    if WHAT == "sum":
        tl.store(out, tl.sum(row, axis=0))
    elif WHAT == "max":
        tl.store(out, tl.max(row, axis=0))
    elif WHAT == "min":
        tl.store(out, tl.min(row, axis=0))
    elif WHAT == "argmax":
        tl.store(out, tl.argmax(row, axis=0))
    elif WHAT == "argmin":
        tl.store(out, tl.argmin(row, axis=0))
    elif WHAT == "xor":
        tl.store(out, tl.xor_sum(row, axis=0))
    elif WHAT == "cumsum":
        tl.store(out + at, tl.cumsum(row, axis=0))
    elif WHAT == "cumsum_reverse":
        tl.store(out + at, tl.cumsum(row, axis=0, reverse=True))
    elif WHAT == "cumprod":
        tl.store(out + at, tl.cumprod(row, axis=0))
    elif WHAT == "sort":
        tl.store(out + at, tl.sort(row))


@jit
def _later(a, a_place, b, b_place):
    take = b_place > a_place
    return tl.where(take, b, a), tl.where(take, b_place, a_place)


@jit
def last(x, out, ROWS: tl.constexpr, SIZE: tl.constexpr):
    """The last value of every row, by a combining function of two values; the running ones behind."""
    at = tl.arange(0, ROWS)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    values = tl.load(x + at)
    places = tl.broadcast_to(tl.arange(0, SIZE)[None, :], (ROWS, SIZE))
    found, _ = tl.reduce((values, places), 1, _later)
    tl.store(out + tl.arange(0, ROWS), found)
    running, _ = tl.associative_scan((values, places), 1, _later)
    tl.store(out + ROWS + at, running)


@jit
def products(a, b, out, SIZE: tl.constexpr):
    """a @ b."""
    row, column = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    at = row * SIZE + column
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee"))


@jit
def adds_atomically(to, places, x, old, SIZE: tl.constexpr):
    """Every x added where it belongs."""
    at = tl.arange(0, SIZE)
    place = tl.load(places + at)
    tl.store(old + at, tl.atomic_add(to + place, tl.load(x + at)))


@jit
def device_function(x, out, SIZE: tl.constexpr, WHAT: tl.constexpr):
    """A function of libdevice."""
    at = tl.arange(0, SIZE)
    value = tl.load(x + at)
    if WHAT == "tanh":
        r = libdevice.tanh(value)
    elif WHAT == "round":
        r = libdevice.round(value)
    elif WHAT == "rsqrt":
        r = libdevice.rsqrt(value)
    elif WHAT == "isnan":
        r = libdevice.isnan(value).to(tl.float32)
    elif WHAT == "byte_perm":
        r = libdevice.byte_perm(value.to(tl.int32), value.to(tl.int32), 0).to(tl.float32)
    tl.store(out + at, r)


def elementwise(kernel, tensors: list[torch.Tensor], out: torch.Tensor, **options) -> torch.Tensor:
    n = out.numel()
    kernel[((n + BLOCK - 1) // BLOCK,)](*tensors, out, n, SIZE=BLOCK, **options)
    return out
