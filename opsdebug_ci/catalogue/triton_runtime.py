"""Where Triton kernels of the catalogue run: on a GPU when there is one, else under Triton's interpreter on the CPU.

Decides that before Triton is imported, since kernels are bound to the interpreter when they are decorated.
Import kernel modules only when `unavailable_reason()` is None.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import torch

from opsdebug_ci.operators import mend_when_imported

SWITCH = "TRITON_INTERPRET"
"""Triton's own environment variable; 1 runs kernels in the interpreter. Set here only where it is not set yet."""

if not torch.cuda.is_available():
    os.environ.setdefault(SWITCH, "1")

DEVICES: tuple[str, ...] = ("cuda",) if torch.cuda.is_available() and os.environ.get(SWITCH) != "1" else ("cpu",)
"""Device the kernels accept."""


TILE = 1 << 16 if DEVICES == ("cpu",) else 1 << 12
"""Elements one program holds at most. The interpreter pays milliseconds per program, whatever its size."""


def unavailable_reason() -> str | None:
    """Why no Triton kernel can run here, or None."""
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed in this interpreter; install it to run the Triton kernels"
    if not torch.cuda.is_available() and os.environ.get(SWITCH) != "1":
        return f"there is no GPU and {SWITCH}={os.environ.get(SWITCH)!r}; unset it or set it to 1"
    return None


def jit(kernel: Callable[..., Any]) -> Any:
    """`triton.jit`, with a type."""
    mend_when_imported()
    import triton  # noqa: PLC0415 - only modules that need Triton get here

    return triton.jit(kernel)


def power_of_two(size: int, limit: int) -> int:
    """Smallest power of two >= size, between 1 and `limit`: block edges must be powers of two."""
    return min(limit, 1 << max(size - 1, 0).bit_length())


def tile(rows: int, columns: int, widest: int) -> tuple[int, int]:
    """Rows and columns of one program's tile: as wide as allowed, then as high as `TILE` permits."""
    width = power_of_two(columns, widest)
    return power_of_two(rows, max(1, TILE // width)), width
