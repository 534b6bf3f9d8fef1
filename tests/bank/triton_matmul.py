"""Products, reductions, attention and cross entropy as Triton kernels, run by Triton's interpreter."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import numpy as np
import torch
import torch.nn.functional as fn
import triton
import triton.language as tl

from opsdebug_ci import operator, tensor


@triton.jit
def matmul_kernel(  # noqa: PLR0917
    a_ptr, b_ptr, c_ptr, m, n, k,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, MASK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        inner = start + depth
        if not MASK_K:
            inner = tl.minimum(inner, k - 1)
        a_mask = (rows[:, None] < m) & (inner[None, :] < k)
        b_mask = (inner[:, None] < k) & (columns[None, :] < n)
        a = tl.load(a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn, mask=b_mask, other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
    c_mask = (rows[:, None] < m) & (columns[None, :] < n)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=c_mask)


@triton.jit
def linear_gelu_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0
        )
        w = tl.load(
            w_ptr + columns[None, :] * k + inner[:, None], mask=(columns[None, :] < n) & (inner[:, None] < k), other=0.0
        )
        accumulator += tl.dot(x, w, input_precision="ieee")
    accumulator += tl.load(bias_ptr + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
    y = 0.5 * accumulator * (1.0 + tl.erf(accumulator * 0.7071067811865476))
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(y_ptr + rows[:, None] * n + columns[None, :], y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def column_sum_kernel(x_ptr, y_ptr, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, m, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < m) & (columns[None, :] < n)
        total += tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + columns, tl.sum(total, axis=0).to(y_ptr.dtype.element_ty), mask=columns < n)


@triton.jit
def row_max_kernel(x_ptr, y_ptr, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=OTHER)
    tl.store(y_ptr + row, tl.max(x, axis=0))


@triton.jit
def cross_entropy_kernel(logits_ptr, target_ptr, loss_ptr, n, ignore, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    target = tl.load(target_ptr + row)
    columns = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row * n + columns, mask=columns < n, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    log_sum = tl.log(tl.sum(tl.exp(x - m), axis=0))
    picked = tl.sum(tl.where(columns == target, x, 0.0), axis=0)
    loss = tl.where(target == ignore, 0.0, (m - picked) + log_sum)
    tl.store(loss_ptr + row, loss)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, n, scale,
    DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, RESCALE: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    dims = tl.arange(0, DIM)
    base = head * n * DIM
    q = tl.load(q_ptr + base + rows[:, None] * DIM + dims[None, :], mask=rows[:, None] < n, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), dtype=tl.float32)
    s = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    accumulator = tl.zeros((BLOCK_Q, DIM), dtype=tl.float32)
    last = tl.minimum(n, (tl.program_id(0) + 1) * BLOCK_Q)
    for start in range(0, last, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        k = tl.load(k_ptr + base + keys[None, :] * DIM + dims[:, None], mask=keys[None, :] < n, other=0.0)
        v = tl.load(v_ptr + base + keys[:, None] * DIM + dims[None, :], mask=keys[:, None] < n, other=0.0)
        scores = tl.dot(q, k, input_precision="ieee") * scale
        scores = tl.where((keys[None, :] <= rows[:, None]) & (keys[None, :] < n), scores, -float("inf"))
        larger = tl.maximum(m, tl.max(scores, axis=1))
        p = tl.exp(scores - larger[:, None])
        shrink = tl.exp(m - larger)
        s = s * shrink + tl.sum(p, axis=1)
        if RESCALE:
            accumulator = accumulator * shrink[:, None]
        accumulator += tl.dot(p, v.to(tl.float32), input_precision="ieee")
        m = larger
    out = accumulator / s[:, None]
    tl.store(
        out_ptr + base + rows[:, None] * DIM + dims[None, :], out.to(out_ptr.dtype.element_ty), mask=rows[:, None] < n
    )


def run_matmul(a, b, mask_k):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, dtype=a.dtype)
    if c.numel():
        grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
        strides = (*a.stride(), *b.stride(), *c.stride())
        matmul_kernel[grid](a, b, c, m, n, k, *strides, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, MASK_K=mask_k)
    return c


@operator(
    kind="matmul",
    dtypes=("float32", "float16"),
    dims={"M": 18, "K": 40, "N": 12},
    a=tensor("M K"),
    b=tensor("K N"),
)
def triton_matmul_right(a, b):
    return run_matmul(a, b, True)


@triton_matmul_right.reference("torch")
def _(a, b):
    return a @ b


@operator(kind="matmul", dims={"M": 18, "K": 40, "N": 12}, a=tensor("M K"), b=tensor("K N"))
def triton_matmul_k_clamped_wrong(a, b):
    """Inner indices behind the end are clamped to the last one, whose products are then counted several times."""
    return run_matmul(a, b, False)


@triton_matmul_k_clamped_wrong.reference("torch")
def _(a, b):
    return a @ b


@operator(
    kind="matmul",
    dtypes=("float32",),
    dims={"T": 10, "I": 24, "O": 20},
    x=tensor("T I"),
    weight=tensor("O I"),
    bias=tensor("O"),
)
def triton_linear_gelu_right(x, weight, bias):
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    y = torch.empty(x.shape[0], weight.shape[0], dtype=x.dtype)
    if y.numel():
        grid = (triton.cdiv(y.shape[0], 16), triton.cdiv(y.shape[1], 16))
        linear_gelu_kernel[grid](x, weight, bias, y, *y.shape, x.shape[1], BLOCK_M=16, BLOCK_N=16, BLOCK_K=16)
    return y


@triton_linear_gelu_right.reference("torch")
def _(x, weight, bias):
    return fn.gelu(fn.linear(x, weight, bias))


@operator(kind="reduction", dtypes=("float32", "bfloat16"), dims={"M": 50, "N": 20}, x=tensor("M N"))
def triton_column_sum_right(x):
    x = x.contiguous()
    y = torch.empty(x.shape[1], dtype=x.dtype)
    if y.numel():
        column_sum_kernel[(triton.cdiv(x.shape[1], 16),)](x, y, *x.shape, BLOCK_M=16, BLOCK_N=16)
    return y


@triton_column_sum_right.reference("torch")
def _(x):
    return x.sum(0)


def run_row_max(x, other):
    x = x.contiguous()
    y = torch.empty(x.shape[0], dtype=x.dtype)
    if x.shape[1] == 0:
        raise ValueError("maximum of nothing")
    if x.numel():
        row_max_kernel[(x.shape[0],)](x, y, x.shape[1], OTHER=other, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


@operator(kind="elementwise", dims={"S": 7, "H": 40}, x=tensor("S H", values="finite"))
def triton_row_max_right(x):
    return run_row_max(x, -float("inf"))


@triton_row_max_right.reference("torch")
def _(x):
    return x.amax(-1)


@operator(kind="elementwise", dims={"S": 7, "H": 5}, x=tensor("S H", values="finite"))
def triton_row_max_padded_by_zero_wrong(x):
    """Lanes behind the row hold 0, the maximum of a row of negative numbers."""
    return run_row_max(x, 0.0)


@triton_row_max_padded_by_zero_wrong.reference("torch")
def _(x):
    return x.amax(-1)


def targets(seed, dims, args):
    generator = np.random.default_rng(seed)
    chosen = generator.integers(0, max(dims["V"], 1), size=dims["T"])
    return np.where(generator.random(dims["T"]) < 0.3, -100, chosen)


def token_losses(logits, target):
    logits, target = logits.contiguous(), target.contiguous()
    losses = torch.empty(logits.shape[0])
    if losses.numel():
        block = triton.next_power_of_2(logits.shape[1])
        cross_entropy_kernel[(logits.shape[0],)](logits, target, losses, logits.shape[1], -100, BLOCK=block)
    return losses


@operator(
    dims={"T": 8, "V": 50},
    requires=lambda case: case.dims["V"] > 0 or "no classes",
    logits=tensor("T V", values="finite"),
    target=tensor("T", dtype="int64", values=targets),
)
def triton_cross_entropy_right(logits, target):
    return token_losses(logits, target)


@triton_cross_entropy_right.reference("torch")
def _(logits, target):
    return fn.cross_entropy(logits, target, ignore_index=-100, reduction="none")


@operator(
    dims={"T": 8, "V": 50},
    requires=lambda case: case.dims["V"] > 0 or "no classes",
    logits=tensor("T V", values="finite"),
    target=tensor("T", dtype="int64", values=targets),
)
def triton_cross_entropy_ignored_in_mean_wrong(logits, target):
    """Tokens to be ignored count in the mean's denominator."""
    return token_losses(logits, target).mean()


@triton_cross_entropy_ignored_in_mean_wrong.reference("torch")
def _(logits, target):
    return fn.cross_entropy(logits, target, ignore_index=-100)


def run_attention(q, k, v, rescale):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    out = torch.empty_like(q)
    heads, n, dim = q.shape
    if out.numel():
        attention_kernel[(triton.cdiv(n, 16), heads)](
            q, k, v, out, n, dim**-0.5, DIM=dim, BLOCK_Q=16, BLOCK_K=16, RESCALE=rescale
        )
    return out


@operator(
    kind="attention",
    dims={"A": 2, "S": 24},
    q=tensor("A S 16", values="finite"),
    k=tensor("A S 16", values="finite"),
    v=tensor("A S 16", values="finite"),
)
def triton_causal_attention_right(q, k, v):
    return run_attention(q, k, v, True)


@triton_causal_attention_right.reference("torch")
def _(q, k, v):
    return fn.scaled_dot_product_attention(q, k, v, is_causal=True)


@operator(
    kind="attention",
    dims={"A": 2, "S": 24},
    q=tensor("A S 16", values="finite"),
    k=tensor("A S 16", values="finite"),
    v=tensor("A S 16", values="finite"),
)
def triton_causal_attention_stale_accumulator_wrong(q, k, v):
    """The accumulator of values is not rescaled when a later block raises the maximum."""
    return run_attention(q, k, v, False)


@triton_causal_attention_stale_accumulator_wrong.reference("torch")
def _(q, k, v):
    return fn.scaled_dot_product_attention(q, k, v, is_causal=True)
