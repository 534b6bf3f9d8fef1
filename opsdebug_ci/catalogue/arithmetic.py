"""Steps the torch operators of the catalogue are built from: widening, tree reduction.

Decides the compute dtype (float32 for narrower floats, else the tensor's own) and how rows are summed. Deliberately
avoids the framework's own reductions, so that an operator and its torch reference share as little as possible.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

NARROW = (torch.float16, torch.bfloat16)
"""Dtypes computed in float32 and rounded once at the end."""


def widen(x: torch.Tensor) -> torch.Tensor:
    """`x` in the dtype a good kernel computes in. Exact."""
    return x.to(torch.float32) if x.dtype in NARROW else x


def row_sum(x: torch.Tensor) -> torch.Tensor:
    """Sum over the last axis, kept with size 1, by halving: at most ceil(log2(n)) roundings per element.

    The pairwise bound is Higham, ASNA 2nd ed., eq. 4.6. An empty row sums to +0.
    """
    if x.shape[-1] == 0:
        return x.new_zeros((*x.shape[:-1], 1))
    return _halve(x, torch.add) + 0.0


def row_max(x: torch.Tensor) -> torch.Tensor:
    """Largest element of the last axis, kept with size 1; NaN wins. The row must not be empty."""
    return _halve(x, torch.maximum)


def _halve(x: torch.Tensor, combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> torch.Tensor:
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        folded = combine(x[..., :half], x[..., half : 2 * half])
        x = folded if x.shape[-1] == 2 * half else torch.cat([folded, x[..., 2 * half :]], dim=-1)
    return x
