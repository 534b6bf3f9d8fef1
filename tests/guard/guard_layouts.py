"""Eleven ways a tensor may lie in its storage, of any dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch

DTYPES = ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "int32", "bool", "complex64")

LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda base: base.view(6, 8),
    "transposed": lambda base: base.view(6, 8).t(),
    "strided": lambda base: base[::2],
    "offset": lambda base: base[5:17],
    "padded": lambda base: base.view(6, 8)[:, :5],
    "expanded": lambda base: base[:8].expand(4, 8),
    "overlapping": lambda base: base.as_strided((5, 4), (2, 1)),
    "zero_dim": lambda base: base[7].reshape(()),
    "empty": lambda base: base[:0].reshape(0, 3),
    "one_row": lambda base: base.view(6, 8)[3:4],
    "permuted": lambda base: base.view(2, 4, 6).permute(2, 0, 1),
}


def base_of(name: str) -> torch.Tensor:
    """48 elements of a dtype, no two neighbours alike."""
    dtype = getattr(torch, name)
    if dtype is torch.bool:
        return torch.arange(48) % 3 == 0
    if dtype.is_complex:
        return torch.complex(torch.arange(48.0) - 20, torch.arange(48.0))
    return (torch.arange(48) - 20).to(torch.float32).to(dtype)


def laid_out(layout: str, dtype: str) -> torch.Tensor:
    return LAYOUTS[layout](base_of(dtype))


def as_bytes(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.untyped_storage().tolist())


def beside(tensor: torch.Tensor, offset: int, count: int = 1) -> torch.Tensor:
    """uint8[count] of the memory `offset` bytes from the start of the tensor's storage, as a stray pointer has it."""
    address = tensor.untyped_storage().data_ptr() + offset
    return torch.frombuffer((ctypes.c_uint8 * count).from_address(address), dtype=torch.uint8)
