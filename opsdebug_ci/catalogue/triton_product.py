"""Triton matrix product: triton_matmul. Any strides; all three edges are masked; accumulates in float32, no TF32."""

# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false, disallow-incomplete-defs=false
# ruff: noqa: PLR0913, PLR0917, N803 - kernels take every stride, and Triton spells constants in capitals
from __future__ import annotations

import torch
import triton.language as tl

from opsdebug_ci.catalogue.elementwise import FLOATS
from opsdebug_ci.catalogue.products import matmul
from opsdebug_ci.catalogue.sibling import sibling
from opsdebug_ci.catalogue.triton_runtime import DEVICES, jit, power_of_two

EDGE = 64
"""Largest tile edge; 16 is the smallest a dot takes."""


@jit
def matmul_kernel(
    a, b, out, M, N, K,
    am, ak, bk, bn, om, on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """a @ b, one tile of the result per program, accumulated in float32."""
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + m * am + k[None, :] * ak, mask=(m < M) & (k < K)[None, :], other=0.0).to(tl.float32)
        right = tl.load(b + k[:, None] * bk + n * bn, mask=(k < K)[:, None] & (n < N), other=0.0).to(tl.float32)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(out + m * om + n * on, total, mask=(m < M) & (n < N))


def _matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b by tiles."""
    (rows, inner), columns = a.shape, b.shape[1]
    out = torch.empty((rows, columns), dtype=a.dtype, device=a.device)
    if out.numel() == 0:
        return out
    block_m, block_n, block_k = (max(16, power_of_two(size, EDGE)) for size in (rows, columns, inner))
    matmul_kernel[(-(-rows // block_m), -(-columns // block_n))](
        a, b, out, rows, columns, inner, *a.stride(), *b.stride(), *out.stride(),
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k,
    )  # fmt: skip
    return out


triton_matmul = sibling(
    matmul, "triton_matmul", _matmul, dtypes=FLOATS, dims={"M": 24, "K": 40, "N": 24}, devices=DEVICES
)

OPERATORS = [triton_matmul]
