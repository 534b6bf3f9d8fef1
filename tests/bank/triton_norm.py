"""Normalisations and softmaxes as Triton kernels, run by Triton's interpreter."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import torch
import torch.nn.functional as fn
import triton
import triton.language as tl

from opsdebug_ci import operator, tensor


@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    tl.store(y_ptr + row * n + columns, (x * scale * w).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def add_rms_norm_kernel(x_ptr, res_ptr, w_ptr, y_ptr, sum_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(res_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(sum_ptr + row * n + columns, x.to(sum_ptr.dtype.element_ty), mask=mask)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n + eps)
    tl.store(y_ptr + row * n + columns, (x * scale * w).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * n
    y_ptr += row * n
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < n, other=0.0).to(tl.float32)
        centred = tl.where(columns < n, x - mean, 0.0)
        squares += centred * centred
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n
        x = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + columns, ((x - mean) * scale * w + b).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def layer_norm_unmasked_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = x - mean
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * n + columns, (centred * scale * w + b).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_kernel(x_ptr, y_ptr, x_stride, y_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * y_stride + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_other_zero_kernel(x_ptr, y_ptr, x_stride, y_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * y_stride + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * n
    y_ptr += row * n
    m = -float("inf")
    s = 0.0
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < n, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - larger) + tl.sum(tl.exp(x - larger), axis=0)
        m = larger
    log_sum = tl.log(s)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n
        x = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + columns, ((x - m) - log_sum).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def l2_norm_kernel(x_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) + eps)
    tl.store(y_ptr + row * n + columns, (x * scale).to(y_ptr.dtype.element_ty), mask=mask)


HALVES = ("float32", "float16", "bfloat16")


@operator(kind="norm", dtypes=HALVES, dims={"B": 2, "S": 4, "H": 48}, x=tensor("B S H"), weight=tensor("H"), eps=1e-6)
def triton_rms_norm_right(x, weight, eps):
    x, weight = x.contiguous(), weight.contiguous()
    y = torch.empty_like(x)
    n = x.shape[-1]
    if x.numel():
        rms_norm_kernel[(x.numel() // n,)](x, weight, y, n, eps, BLOCK=triton.next_power_of_2(n))
    return y


@triton_rms_norm_right.reference("torch")
def _(x, weight, eps):
    return fn.rms_norm(x, (x.shape[-1],), weight, eps)


@operator(
    kind="norm",
    dtypes=("float32",),
    dims={"T": 6, "H": 48},
    x=tensor("T H"),
    residual=tensor("T H"),
    weight=tensor("H"),
    eps=1e-6,
)
def triton_add_rms_norm_right(x, residual, weight, eps):
    x, residual, weight = x.contiguous(), residual.contiguous(), weight.contiguous()
    y, total = torch.empty_like(x), torch.empty_like(x)
    n = x.shape[-1]
    if x.numel():
        add_rms_norm_kernel[(x.shape[0],)](x, residual, weight, y, total, n, eps, BLOCK=triton.next_power_of_2(n))
    return y, total


@triton_add_rms_norm_right.reference("torch")
def _(x, residual, weight, eps):
    total = x + residual
    return fn.rms_norm(total, (total.shape[-1],), weight, eps), total


def layer_norm_reference(x, weight, bias, eps):
    return fn.layer_norm(x, (x.shape[-1],), weight, bias, eps)


@operator(
    kind="norm", dtypes=HALVES, dims={"T": 4, "H": 80}, x=tensor("T H"), weight=tensor("H"), bias=tensor("H"), eps=1e-5
)
def triton_layer_norm_right(x, weight, bias, eps):
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        layer_norm_kernel[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, BLOCK=32)
    return y


triton_layer_norm_right.reference("torch")(layer_norm_reference)


@operator(kind="norm", dims={"T": 4, "H": 80}, x=tensor("T H"), weight=tensor("H"), bias=tensor("H"), eps=1e-5)
def triton_layer_norm_padding_in_variance_wrong(x, weight, bias, eps):
    """Lanes behind the row hold -mean after centring and are summed into the variance."""
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    y = torch.empty_like(x)
    n = x.shape[-1]
    if x.numel():
        layer_norm_unmasked_kernel[(x.shape[0],)](x, weight, bias, y, n, eps, BLOCK=triton.next_power_of_2(n))
    return y


triton_layer_norm_padding_in_variance_wrong.reference("torch")(layer_norm_reference)


def run_softmax(kernel, x):
    if x.stride(-1) != 1:
        x = x.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype)
    n = x.shape[-1]
    if x.numel():
        kernel[(x.shape[0],)](x, y, x.stride(0), y.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return y


@operator(kind="softmax", dtypes=HALVES, dims={"S": 8, "H": 50}, x=tensor("S H"))
def triton_softmax_right(x):
    return run_softmax(softmax_kernel, x)


@triton_softmax_right.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@operator(kind="softmax", dims={"S": 8, "H": 50}, x=tensor("S H"))
def triton_softmax_padding_counts_wrong(x):
    """Lanes behind the row are loaded as 0 instead of -inf and take part in the sum."""
    return run_softmax(softmax_other_zero_kernel, x)


@triton_softmax_padding_counts_wrong.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@operator(
    kind="log_softmax", dtypes=("float32", "bfloat16"), dims={"T": 3, "V": 100}, logits=tensor("T V", values="finite")
)
def triton_log_softmax_online_right(logits):
    logits = logits.contiguous()
    y = torch.empty_like(logits)
    if logits.numel():
        log_softmax_kernel[(logits.shape[0],)](logits, y, logits.shape[1], BLOCK=32)
    return y


@triton_log_softmax_online_right.reference("torch")
def _(logits):
    return torch.log_softmax(logits, dim=-1)


@operator(kind="norm", dtypes=("float32", "float16"), dims={"T": 8, "D": 24}, x=tensor("T D"), eps=1e-6)
def triton_l2_norm_right(x, eps):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.shape[-1]
    if x.numel():
        l2_norm_kernel[(x.shape[0],)](x, y, n, eps, BLOCK=triton.next_power_of_2(n))
    return y


@triton_l2_norm_right.reference("torch")
def _(x, eps):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps)
