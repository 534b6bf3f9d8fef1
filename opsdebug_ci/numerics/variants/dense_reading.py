"""An argument read by other strides than it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, alternative


def dense_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Elements taken in memory order from the argument's first, as if it were contiguous; or from its storage's."""
    del others
    if isinstance(value, torch.Tensor) and value.storage_offset() and value.numel():
        yield alternative(
            f"`{name}` is read from the beginning of its storage, without its offset",
            Cause.STRIDE_VIEW,
            lambda: torch.as_strided(value, value.shape, value.stride(), 0).clone(),
            weight=0.95,
        )
    if not isinstance(value, torch.Tensor) or value.is_contiguous() or value.numel() < 2:
        return
    yield alternative(
        f"`{name}` is read as if it were contiguous", Cause.STRIDE_VIEW, lambda: read_dense(value), weight=0.95
    )
    if value.ndim >= 2 and value.shape[-1] > 1:
        yield alternative(
            f"`{name}` is read with unit stride along its last axis",
            Cause.STRIDE_VIEW,
            lambda: _restrided(value, (*value.stride()[:-1], 1)),
            weight=0.9,
        )
        packed = (value.shape[-1] * value.stride(-1), value.stride(-1))
        yield alternative(
            f"`{name}` is read with rows that follow each other without a gap",
            Cause.STRIDE_VIEW,
            lambda: _restrided(value, (*value.stride()[:-2], *packed)),
            weight=0.9,
        )


def read_dense(value: torch.Tensor) -> torch.Tensor:
    """`value`'s memory from its first element on, in its shape; zeros beyond its storage."""
    strides, step = [], 1
    for size in reversed(value.shape):
        strides.append(step)
        step *= size
    return _restrided(value, tuple(reversed(strides)))


def _restrided(value: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    needed = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, strides, strict=True))
    held = value.untyped_storage().nbytes() // value.element_size() - value.storage_offset()
    flat = torch.as_strided(value, (held,), (1,), value.storage_offset())
    if needed > held:
        flat = torch.cat([flat, flat.new_zeros(needed - held)])
    return torch.as_strided(flat.contiguous(), value.shape, strides).clone()
