"""A Triton kernel that stores beyond its mask; decorated at import, so the interpreter is switched on before."""

from __future__ import annotations

from pathlib import Path

import triton.language as tl

from opsdebug_ci.catalogue.triton_runtime import jit


@jit
def bad_store(x, y, n, SIZE: tl.constexpr):
    """2 x, and zeros behind it."""
    at = tl.arange(0, SIZE)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, value * 2)


STORE = next(
    f"{__file__}:{number}"
    for number, line in enumerate(Path(__file__).read_text().splitlines(), 1)
    if line.strip().startswith("tl.store")
)
"""Where it strays."""


@jit
def needs_a_gpu(x, y, SIZE: tl.constexpr):
    """What no interpreter has."""
    at = tl.arange(0, SIZE)
    tl.store(y + at, tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [tl.load(x + at)], tl.float32, True, 1))


@jit
def mistaken(x, y, SIZE: tl.constexpr):
    """A block that is no power of two."""
    tl.store(y + tl.arange(0, SIZE + 1), tl.load(x + tl.arange(0, SIZE + 1)))


@jit
def negates(x, y, n, SIZE: tl.constexpr):
    """-x."""
    at = tl.arange(0, SIZE)
    tl.store(y + at, -tl.load(x + at, mask=at < n), mask=at < n)
