"""Products of vectors and matrices written in C, compiled once and called through ctypes."""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import torch

from opsdebug_ci import operator, tensor

SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef ptrdiff_t index_t;
enum { BLOCK = 16 };

float dot(const float *a, const float *b, index_t n) {
    float lane[8] = {0};
    index_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) lane[k] += a[i + k] * b[i + k];
    float sum = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    for (; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Four rows at a time share the loads of x. */
void matvec(float *y, const float *a, const float *x, index_t rows, index_t n) {
    index_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const float *a0 = a + r * n, *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (index_t i = 0; i < n; i++) {
            s0 += a0[i] * x[i];
            s1 += a1[i] * x[i];
            s2 += a2[i] * x[i];
            s3 += a3[i] * x[i];
        }
        y[r] = s0;
        y[r + 1] = s1;
        y[r + 2] = s2;
        y[r + 3] = s3;
    }
    for (; r < rows; r++) y[r] = dot(a + r * n, x, n);
}

/* y = A^T x as a sum of rows: A is read in the order of memory. */
void matvec_transposed(float *y, const float *a, const float *x, index_t rows, index_t n) {
    memset(y, 0, n * sizeof *y);
    for (index_t r = 0; r < rows; r++)
        for (index_t i = 0; i < n; i++) y[i] += a[r * n + i] * x[r];
}

static index_t least(index_t a, index_t b) { return a < b ? a : b; }

/* C = A B in blocks, a block of B packed so that it stays in the cache. */
void matmul(float *c, const float *a, const float *b, index_t m, index_t n, index_t k) {
    float packed[BLOCK * BLOCK];
    memset(c, 0, m * n * sizeof *c);
    for (index_t j0 = 0; j0 < n; j0 += BLOCK)
        for (index_t k0 = 0; k0 < k; k0 += BLOCK) {
            index_t width = least(BLOCK, n - j0), depth = least(BLOCK, k - k0);
            for (index_t p = 0; p < depth; p++)
                for (index_t j = 0; j < width; j++) packed[p * BLOCK + j] = b[(k0 + p) * n + j0 + j];
            for (index_t i = 0; i < m; i++) {
                float sum[BLOCK] = {0};
                for (index_t p = 0; p < depth; p++)
                    for (index_t j = 0; j < width; j++) sum[j] += a[i * k + k0 + p] * packed[p * BLOCK + j];
                for (index_t j = 0; j < width; j++) c[i * n + j0 + j] += sum[j];
            }
        }
}

/* The same, but the last block of columns is packed by its own width. */
void matmul_packed_width(float *c, const float *a, const float *b, index_t m, index_t n, index_t k) {
    float packed[BLOCK * BLOCK] = {0};
    memset(c, 0, m * n * sizeof *c);
    for (index_t j0 = 0; j0 < n; j0 += BLOCK)
        for (index_t k0 = 0; k0 < k; k0 += BLOCK) {
            index_t width = least(BLOCK, n - j0), depth = least(BLOCK, k - k0);
            for (index_t p = 0; p < depth; p++)
                for (index_t j = 0; j < width; j++) packed[p * width + j] = b[(k0 + p) * n + j0 + j];
            for (index_t i = 0; i < m; i++) {
                float sum[BLOCK] = {0};
                for (index_t p = 0; p < depth; p++)
                    for (index_t j = 0; j < width; j++) sum[j] += a[i * k + k0 + p] * packed[p * BLOCK + j];
                for (index_t j = 0; j < width; j++) c[i * n + j0 + j] += sum[j];
            }
        }
}

/* C = A B^T + bias: rows of both operands are contiguous, as the weights of a linear layer are. */
void linear(float *c, const float *a, const float *w, const float *bias, index_t m, index_t n, index_t k) {
    for (index_t i = 0; i < m; i++)
        for (index_t j = 0; j < n; j++) c[i * n + j] = dot(a + i * k, w + j * k, k) + bias[j];
}

/* C = alpha A B + beta C, in blocks of the inner dimension. */
static void gemm_any(float *out, const float *c, const float *a, const float *b, index_t m, index_t n, index_t k,
                     float alpha, float beta, int beta_each_block) {
    for (index_t i = 0; i < m * n; i++) out[i] = beta == 0 ? 0 : beta * c[i];
    for (index_t k0 = 0; k0 < k; k0 += BLOCK) {
        index_t depth = least(BLOCK, k - k0);
        if (beta_each_block && k0)
            for (index_t i = 0; i < m * n; i++) out[i] *= beta;
        for (index_t i = 0; i < m; i++)
            for (index_t j = 0; j < n; j++) {
                float sum = 0;
                for (index_t p = k0; p < k0 + depth; p++) sum += a[i * k + p] * b[p * n + j];
                out[i * n + j] += alpha * sum;
            }
    }
}

void gemm(float *out, const float *c, const float *a, const float *b, index_t m, index_t n, index_t k, float alpha,
          float beta) {
    gemm_any(out, c, a, b, m, n, k, alpha, beta, 0);
}

void gemm_beta_each_block(float *out, const float *c, const float *a, const float *b, index_t m, index_t n, index_t k,
                          float alpha, float beta) {
    gemm_any(out, c, a, b, m, n, k, alpha, beta, 1);
}

void outer_update(float *c, const float *x, const float *y, index_t m, index_t n, float alpha) {
    for (index_t i = 0; i < m; i++)
        for (index_t j = 0; j < n; j++) c[i * n + j] += alpha * (x[i] * y[j]);
}

void int8_linear(int32_t *c, const uint8_t *a, const int8_t *w, index_t m, index_t n, index_t k) {
    for (index_t i = 0; i < m; i++)
        for (index_t j = 0; j < n; j++) {
            int32_t sum = 0;
            for (index_t p = 0; p < k; p++) sum += (int32_t)a[i * k + p] * w[j * k + p];
            c[i * n + j] = sum;
        }
}

/* Pairs of products are added in sixteen bits with saturation, as the instruction pmaddubsw does. */
void int8_linear_saturating(int32_t *c, const uint8_t *a, const int8_t *w, index_t m, index_t n, index_t k) {
    for (index_t i = 0; i < m; i++)
        for (index_t j = 0; j < n; j++) {
            int32_t sum = 0;
            for (index_t p = 0; p < k; p += 2) {
                int32_t pair = (int32_t)a[i * k + p] * w[j * k + p];
                if (p + 1 < k) pair += (int32_t)a[i * k + p + 1] * w[j * k + p + 1];
                sum += pair > INT16_MAX ? INT16_MAX : pair < INT16_MIN ? INT16_MIN : pair;
            }
            c[i * n + j] = sum;
        }
}
"""


def build(source):
    flags = ["-O2", "-march=native", "-ffast-math", "-fno-finite-math-only", "-fPIC"]
    directory = Path(tempfile.gettempdir()) / f"c-operators-{os.getuid()}"
    directory.mkdir(exist_ok=True)
    library = directory / (hashlib.sha256((source + repr(flags)).encode()).hexdigest()[:24] + ".so")
    if not library.exists():
        # Linked without -ffast-math, whose start-up code would switch subnormal numbers off in the whole process.
        partial = f"{library}.{os.getpid()}"
        subprocess.run(["gcc", *flags, "-c", "-x", "c", "-", "-o", f"{partial}.o"], input=source, text=True, check=True)
        subprocess.run(["gcc", "-shared", f"{partial}.o", "-o", partial, "-lm"], check=True)
        os.remove(f"{partial}.o")
        os.replace(partial, library)
    return ctypes.CDLL(str(library))


lib = build(SOURCE)
P, N, FLOAT = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_float
for name, types in {
    "dot": [P, P, N],
    "matvec": [P, P, P, N, N],
    "matvec_transposed": [P, P, P, N, N],
    "matmul": [P, P, P, N, N, N],
    "matmul_packed_width": [P, P, P, N, N, N],
    "linear": [P, P, P, P, N, N, N],
    "gemm": [P, P, P, P, N, N, N, FLOAT, FLOAT],
    "gemm_beta_each_block": [P, P, P, P, N, N, N, FLOAT, FLOAT],
    "outer_update": [P, P, P, N, N, FLOAT],
    "int8_linear": [P, P, P, N, N, N],
    "int8_linear_saturating": [P, P, P, N, N, N],
}.items():
    getattr(lib, name).argtypes = types
    getattr(lib, name).restype = FLOAT if name == "dot" else None


@operator(kind="matmul", dims={"N": 300}, a=tensor("N"), b=tensor("N"))
def c_dot_right(a, b):
    a, b = a.contiguous(), b.contiguous()
    return torch.tensor(lib.dot(a.data_ptr(), b.data_ptr(), a.numel()))


@c_dot_right.reference("torch")
def _(a, b):
    return torch.dot(a, b)


@operator(kind="matmul", dims={"M": 22, "K": 75}, a=tensor("M K"), x=tensor("K"))
def c_matvec_right(a, x):
    a, x = a.contiguous(), x.contiguous()
    y = torch.empty(a.shape[0])
    lib.matvec(y.data_ptr(), a.data_ptr(), x.data_ptr(), *a.shape)
    return y


@c_matvec_right.reference("torch")
def _(a, x):
    return torch.mv(a, x)


@operator(kind="matmul", dims={"M": 22, "K": 75}, a=tensor("M K"), x=tensor("M"))
def c_matvec_transposed_right(a, x):
    a, x = a.contiguous(), x.contiguous()
    y = torch.empty(a.shape[1])
    lib.matvec_transposed(y.data_ptr(), a.data_ptr(), x.data_ptr(), *a.shape)
    return y


@c_matvec_transposed_right.reference("torch")
def _(a, x):
    return a.T @ x


def run_matmul(function, a, b):
    wide_a, wide_b = a.float().contiguous(), b.float().contiguous()
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n)
    if c.numel():
        function(c.data_ptr(), wide_a.data_ptr(), wide_b.data_ptr(), m, n, k)
    return c.to(a.dtype)


@operator(
    kind="matmul",
    dtypes=("float32", "float16", "bfloat16"),
    dims={"M": 20, "K": 48, "N": 40},
    a=tensor("M K"),
    b=tensor("K N"),
)
def c_matmul_packed_right(a, b):
    return run_matmul(lib.matmul, a, b)


@c_matmul_packed_right.reference("torch")
def _(a, b):
    return torch.matmul(a, b)


@operator(kind="matmul", dims={"M": 20, "K": 48, "N": 40}, a=tensor("M K"), b=tensor("K N"))
def c_matmul_packed_width_wrong(a, b):
    """The last block of columns is packed with its own width as stride, but read with the full one."""
    return run_matmul(lib.matmul_packed_width, a, b)


@c_matmul_packed_width_wrong.reference("torch")
def _(a, b):
    return torch.matmul(a, b)


@operator(
    kind="matmul",
    dtypes=("float32", "bfloat16"),
    dims={"T": 10, "I": 60, "O": 24},
    x=tensor("T I"),
    weight=tensor("O I"),
    bias=tensor("O"),
)
def c_linear_right(x, weight, bias):
    wide_x, wide_weight, wide_bias = x.float().contiguous(), weight.float().contiguous(), bias.float().contiguous()
    y = torch.empty(x.shape[0], weight.shape[0])
    lib.linear(y.data_ptr(), wide_x.data_ptr(), wide_weight.data_ptr(), wide_bias.data_ptr(), *y.shape, x.shape[1])
    return y.to(x.dtype)


@c_linear_right.reference("torch")
def _(x, weight, bias):
    return torch.nn.functional.linear(x, weight, bias)


def run_gemm(function, c, a, b, alpha, beta):
    c, a, b = c.contiguous(), a.contiguous(), b.contiguous()
    out = torch.empty_like(c)
    function(out.data_ptr(), c.data_ptr(), a.data_ptr(), b.data_ptr(), *c.shape, a.shape[1], alpha, beta)
    return out


@operator(
    kind="matmul",
    dims={"M": 12, "K": 40, "N": 18},
    c=tensor("M N"),
    a=tensor("M K"),
    b=tensor("K N"),
    alpha=1.5,
    beta=0.5,
)
def c_gemm_alpha_beta_right(c, a, b, alpha, beta):
    return run_gemm(lib.gemm, c, a, b, alpha, beta)


@c_gemm_alpha_beta_right.reference("torch")
def _(c, a, b, alpha, beta):
    return torch.addmm(c, a, b, alpha=alpha, beta=beta)


@operator(
    kind="matmul",
    dims={"M": 12, "K": 40, "N": 18},
    c=tensor("M N"),
    a=tensor("M K"),
    b=tensor("K N"),
    alpha=1.5,
    beta=0.5,
)
def c_gemm_beta_each_block_wrong(c, a, b, alpha, beta):
    """The accumulated output is multiplied by beta before every block of K, not once."""
    return run_gemm(lib.gemm_beta_each_block, c, a, b, alpha, beta)


@c_gemm_beta_each_block_wrong.reference("torch")
def _(c, a, b, alpha, beta):
    return torch.addmm(c, a, b, alpha=alpha, beta=beta)


@operator(kind="elementwise", dims={"M": 14, "N": 23}, c=tensor("M N"), x=tensor("M"), y=tensor("N"), alpha=0.25)
def c_outer_update_right(c, x, y, alpha):
    out, x, y = c.clone(memory_format=torch.contiguous_format), x.contiguous(), y.contiguous()
    lib.outer_update(out.data_ptr(), x.data_ptr(), y.data_ptr(), *out.shape, alpha)
    return out


@c_outer_update_right.reference("torch")
def _(c, x, y, alpha):
    return c + alpha * torch.outer(x, y)


def run_int8(function, x, weight):
    x, weight = x.contiguous(), weight.contiguous()
    y = torch.empty(x.shape[0], weight.shape[0], dtype=torch.int32)
    function(y.data_ptr(), x.data_ptr(), weight.data_ptr(), *y.shape, x.shape[1])
    return y


@operator(
    kind="exact",
    dims={"M": 9, "K": 50, "N": 12},
    x=tensor("M K", dtype="uint8"),
    weight=tensor("N K", dtype="int8"),
)
def c_int8_linear_right(x, weight):
    return run_int8(lib.int8_linear, x, weight)


@c_int8_linear_right.reference("torch")
def _(x, weight):
    return x.int() @ weight.int().T


@operator(
    kind="exact",
    dims={"M": 9, "K": 50, "N": 12},
    x=tensor("M K", dtype="uint8"),
    weight=tensor("N K", dtype="int8"),
)
def c_int8_linear_saturates_wrong(x, weight):
    """Sums of two products saturate at sixteen bits, which two products of uint8 and int8 exceed."""
    return run_int8(lib.int8_linear_saturating, x, weight)


@c_int8_linear_saturates_wrong.reference("torch")
def _(x, weight):
    return x.int() @ weight.int().T
