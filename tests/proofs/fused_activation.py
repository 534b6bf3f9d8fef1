"""A fused kernel with an output buffer: out = gelu(x) + y + residual, a block of rows at a time."""

from __future__ import annotations

import math

import torch

from opsdebug_ci import Contract, Operator, tensor

SHAPE = "B S H"
WRITABLE = ("contiguous", "transposed", "strided", "offset", "padded")


def _block(x: torch.Tensor, y: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    wide = x.float()
    return wide * 0.5 * torch.special.erfc(-wide / math.sqrt(2)) + y.float() + residual.float()


def fused(x: torch.Tensor, y: torch.Tensor, residual: torch.Tensor, out: torch.Tensor, block: int) -> None:
    for start in range(0, x.shape[1], block):
        rows = slice(start, start + block)
        out[:, rows] = _block(x[:, rows], y[:, rows], residual[:, rows]).to(out.dtype)


def fused_whole_blocks_only(
    x: torch.Tensor, y: torch.Tensor, residual: torch.Tensor, out: torch.Tensor, block: int
) -> None:
    """The defect: rows after the last whole block are never written."""
    for start in range(0, x.shape[1] // block * block, block):
        rows = slice(start, start + block)
        out[:, rows] = _block(x[:, rows], y[:, rows], residual[:, rows]).to(out.dtype)


def torch_reference(x, y, residual, out, block):
    return torch.nn.functional.gelu(x) + y + residual


def naive_reference(x, y, residual, out, block):
    result = torch.empty(x.shape, dtype=torch.float64)
    flat = zip(x.flatten().tolist(), y.flatten().tolist(), residual.flatten().tolist(), strict=True)
    result.view(-1)[:] = torch.tensor([_gelu(a) + b + c for a, b, c in flat], dtype=torch.float64)
    return result


def _gelu(value: float) -> float:
    """x * Phi(x); x * 0 at -inf is NaN, as in the framework."""
    return value * 0.5 * math.erfc(-value / math.sqrt(2))


def _declare(name: str, function) -> Operator:
    return Operator(
        name,
        function,
        {
            "x": tensor(SHAPE),
            "y": tensor(SHAPE),
            "residual": tensor(SHAPE),
            "out": tensor(SHAPE, layouts=WRITABLE),
            "block": 4,
        },
        {"torch": torch_reference, "naive": naive_reference},
        kind="elementwise",
        dtypes=("float32", "bfloat16"),
        dims={"S": 10, "H": 24},
        contract=Contract(out="out"),
    )


gelu_add_residual = _declare("gelu_add_residual", fused)
wrong_gelu_add_residual = _declare("wrong_gelu_add_residual", fused_whole_blocks_only)
