"""Elementwise operators, rotations, casts and gathers as Triton kernels, run by Triton's interpreter."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import numpy as np
import torch
import torch.nn.functional as fn
import triton
import triton.language as tl

from opsdebug_ci import Contract, operator, tensor

HALVES = ("float32", "float16", "bfloat16")


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(out_ptr + offsets, (x + y).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    out = gate * tl.sigmoid(gate) * up
    tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def swiglu_narrow_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    out = tl.sigmoid(gate) * up
    tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def geglu_kernel(x_ptr, out_ptr, half, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < half
    gate = tl.load(x_ptr + row * 2 * half + columns, mask=mask, other=0.0).to(tl.float32)
    value = tl.load(x_ptr + row * 2 * half + half + columns, mask=mask, other=0.0).to(tl.float32)
    out = 0.5 * gate * (1.0 + tl.erf(gate * 0.7071067811865476)) * value
    tl.store(out_ptr + row * half + columns, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, half, SIGN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    position = row // heads
    columns = tl.arange(0, BLOCK)
    mask = columns < half
    first = tl.load(x_ptr + row * 2 * half + columns, mask=mask).to(tl.float32)
    second = tl.load(x_ptr + row * 2 * half + half + columns, mask=mask).to(tl.float32)
    cos = tl.load(cos_ptr + position * half + columns, mask=mask).to(tl.float32)
    sin = tl.load(sin_ptr + position * half + columns, mask=mask).to(tl.float32) * SIGN
    out_first = first * cos - second * sin
    out_second = second * cos + first * sin
    tl.store(out_ptr + row * 2 * half + columns, out_first.to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(out_ptr + row * 2 * half + half + columns, out_second.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def scale_residual_kernel(x_ptr, bias_ptr, residual_ptr, out_ptr, n, width, alpha, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets % width, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    out = (x + bias) * alpha + residual
    tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def relu_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(x_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, out_ptr, width, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < width
    row = tl.load(ids_ptr + token)
    tl.store(out_ptr + token * width + columns, tl.load(table_ptr + row * width + columns, mask=mask), mask=mask)


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-6) / 127.0
    q = (x / scale + 12582912.0) - 12582912.0  # 1.5 * 2^23: rounds to the nearest even integer
    tl.store(q_ptr + row * n + columns, q.to(tl.int8), mask=mask)
    tl.store(scale_ptr + row, scale)


@operator(kind="elementwise", dtypes=HALVES, dims={"N": 150}, x=tensor("N"), y=tensor("N"))
def triton_add_right(x, y):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    if x.numel():
        add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out


@triton_add_right.reference("torch")
def _(x, y):
    return x + y


@operator(kind="elementwise", dims={"N": 150}, x=tensor("N"), y=tensor("N"))
def triton_add_floor_grid_wrong(x, y):
    """The grid is n // 64 programs, so the elements behind the last whole block stay zero."""
    x, y = x.contiguous(), y.contiguous()
    out = torch.zeros_like(x)
    if x.numel() >= 64:
        add_kernel[(x.numel() // 64,)](x, y, out, x.numel(), BLOCK=64)
    return out


@triton_add_floor_grid_wrong.reference("torch")
def _(x, y):
    return x + y


def run_swiglu(kernel, gate, up):
    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    if out.numel():
        kernel[(triton.cdiv(out.numel(), 128),)](gate, up, out, out.numel(), BLOCK=128)
    return out


@operator(kind="transcendental", dtypes=HALVES, dims={"S": 5, "I": 40}, gate=tensor("S I"), up=tensor("S I"))
def triton_swiglu_right(gate, up):
    return run_swiglu(swiglu_kernel, gate, up)


@triton_swiglu_right.reference("torch")
def _(gate, up):
    return fn.silu(gate) * up


@operator(kind="transcendental", dtypes=HALVES, dims={"S": 5, "I": 40}, gate=tensor("S I"), up=tensor("S I"))
def triton_swiglu_sigmoid_only_wrong(gate, up):
    """The gate is its sigmoid, without the factor gate: GLU instead of SwiGLU."""
    return run_swiglu(swiglu_narrow_kernel, gate, up)


@triton_swiglu_sigmoid_only_wrong.reference("torch")
def _(gate, up):
    return fn.silu(gate) * up


@operator(kind="transcendental", dtypes=("float32", "bfloat16"), dims={"T": 4, "I": 36}, x=tensor("T 2*I"))
def triton_geglu_right(x):
    x = x.contiguous()
    half = x.shape[1] // 2
    out = torch.empty(x.shape[0], half, dtype=x.dtype)
    if out.numel():
        geglu_kernel[(x.shape[0], triton.cdiv(half, 32))](x, out, half, BLOCK=32)
    return out


@triton_geglu_right.reference("torch")
def _(x):
    gate, value = x.chunk(2, dim=-1)
    return fn.gelu(gate) * value


def run_rope(x, cos, sin, sign):
    x, cos, sin = x.contiguous(), cos.contiguous(), sin.contiguous()
    out = torch.empty_like(x)
    positions, heads, width = x.shape
    if out.numel():
        rope_kernel[(positions * heads,)](
            x, cos, sin, out, heads, width // 2, SIGN=sign, BLOCK=triton.next_power_of_2(width // 2)
        )
    return out


def rope_reference(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    rotated = torch.cat([-second, first], dim=-1)
    return x * torch.cat([cos, cos], -1)[:, None] + rotated * torch.cat([sin, sin], -1)[:, None]


@operator(
    kind="elementwise",
    dtypes=("float32", "bfloat16"),
    dims={"S": 3, "A": 2, "D": 12},
    x=tensor("S A 2*D"),
    cos=tensor("S D"),
    sin=tensor("S D"),
)
def triton_rope_right(x, cos, sin):
    return run_rope(x, cos, sin, 1.0)


triton_rope_right.reference("torch")(rope_reference)


@operator(kind="elementwise", dims={"S": 3, "A": 2, "D": 12}, x=tensor("S A 2*D"), cos=tensor("S D"), sin=tensor("S D"))
def triton_rope_backwards_wrong(x, cos, sin):
    """The sine has the wrong sign: vectors are turned backwards."""
    return run_rope(x, cos, sin, -1.0)


triton_rope_backwards_wrong.reference("torch")(rope_reference)


@operator(
    kind="elementwise",
    dtypes=("float32", "float16"),
    dims={"S": 6, "H": 40},
    x=tensor("B S H"),
    bias=tensor("H"),
    residual=tensor("B S H"),
    alpha=0.7071,
)
def triton_bias_scale_residual_right(x, bias, residual, alpha):
    x, bias, residual = x.contiguous(), bias.contiguous(), residual.contiguous()
    out = torch.empty_like(x)
    if out.numel():
        grid = (triton.cdiv(out.numel(), 64),)
        scale_residual_kernel[grid](x, bias, residual, out, out.numel(), x.shape[-1], alpha, BLOCK=64)
    return out


@triton_bias_scale_residual_right.reference("torch")
def _(x, bias, residual, alpha):
    return (x + bias) * alpha + residual


@operator(
    kind="elementwise",
    dims={"N": 100},
    contract=Contract(mutates=("x",)),
    x=tensor("N", layouts="contiguous", values="finite"),
)
def triton_relu_in_place_right(x):
    if x.numel():
        relu_kernel[(triton.cdiv(x.numel(), 64),)](x, x.numel(), BLOCK=64)


@triton_relu_in_place_right.reference("torch")
def _(x):
    return torch.relu(x)


def token_ids(seed, dims, args):
    return np.random.default_rng(seed).integers(0, max(dims["V"], 1), size=dims["T"])


def run_embedding(ids, table, programs):
    ids, table = ids.contiguous(), table.contiguous()
    width = table.shape[1]
    out = torch.zeros(ids.numel(), width, dtype=table.dtype)
    if out.numel():
        embedding_kernel[(ids.numel(), programs(width))](ids, table, out, width, BLOCK=32)
    return out


@operator(
    kind="exact",
    dtypes=HALVES,
    dims={"T": 6, "V": 10, "H": 40},
    requires=lambda case: case.dims["V"] > 0 or "no rows to point at",
    ids=tensor("T", dtype="int64", values=token_ids),
    table=tensor("V H"),
)
def triton_embedding_right(ids, table):
    return run_embedding(ids, table, lambda width: triton.cdiv(width, 32))


@triton_embedding_right.reference("torch")
def _(ids, table):
    return fn.embedding(ids, table)


@operator(
    kind="exact",
    dims={"T": 6, "V": 10, "H": 40},
    requires=lambda case: case.dims["V"] > 0 or "no rows to point at",
    ids=tensor("T", dtype="int64", values=token_ids),
    table=tensor("V H"),
)
def triton_embedding_first_block_wrong(ids, table):
    """Only the first block of columns of every row is gathered."""
    return run_embedding(ids, table, lambda width: 1)


@triton_embedding_first_block_wrong.reference("torch")
def _(ids, table):
    return fn.embedding(ids, table)


@operator(kind={"out0": "quantize", "out1": "elementwise"}, dims={"T": 5, "H": 48}, x=tensor("T H", values="finite"))
def triton_quantize_rows_right(x):
    x = x.contiguous()
    q, scale = torch.empty(x.shape, dtype=torch.int8), torch.empty(x.shape[0])
    if x.shape[1] == 0:
        raise ValueError("rows are empty")
    if x.numel():
        quantize_kernel[(x.shape[0],)](x, q, scale, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return q, scale


@triton_quantize_rows_right.reference("torch")
def _(x):
    scale = x.abs().amax(-1).clamp(min=1e-6) / 127
    return torch.round(x / scale[:, None]).to(torch.int8), scale
