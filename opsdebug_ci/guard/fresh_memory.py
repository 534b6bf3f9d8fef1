"""Freshly allocated memory filled with a known byte, so that an element nobody wrote shows.

Decides the two fills. An output that follows the fill was never written, or was computed from memory never written.
Sees allocations made through torch's dispatcher (`torch.empty` and its kin), not those inside C++ kernels.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FILL_A = 0xFF
"""NaN in every float format with a NaN, -1 in signed integers."""

FILL_B = 0x55
"""A large ordinary number in every float format: also seen by operators that ignore NaN."""

_ALLOCATIONS = frozenset(
    {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided"}
)


class _FillMode(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch types its metaclass hook partly
    def __init__(self, byte: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._byte = byte

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # NOTE: True makes torch import its compiler at the first call, 1.5 s that the first case would be charged for.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket._qualified_op_name in _ALLOCATIONS and isinstance(result, torch.Tensor):
            fill_bytes(result, self._byte)
        return result


def fresh_memory(byte: int) -> TorchDispatchMode:
    """Context in which every `torch.empty` is filled with `byte`."""
    return _FillMode(byte)


def fill_bytes(tensor: torch.Tensor, byte: int) -> None:
    """Set every element of `tensor` to the value whose bytes are all `byte` (bool: its lowest bit).

    Works for any dtype and layout; elements outside the view are left alone.
    """
    if tensor.dtype is torch.bool:
        tensor.fill_(bool(byte & 1))
        return
    pattern = torch.full((tensor.element_size(),), byte, dtype=torch.uint8).view(tensor.dtype)
    tensor.copy_(pattern.to(tensor.device).expand(tensor.shape) if tensor.ndim else pattern[0].to(tensor.device))
