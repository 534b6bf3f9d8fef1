"""Normalisations written in C, compiled once and called through ctypes."""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor

SOURCE = r"""
#include <math.h>
#include <stddef.h>
typedef ptrdiff_t index_t;

/* Sum of squares in eight lanes, so that the compiler can keep them in one vector register. */
static float sum_squares(const float *x, index_t n) {
    float lane[8] = {0};
    index_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) lane[k] += x[i + k] * x[i + k];
    for (int k = 0; i < n; i++, k++) lane[k] += x[i] * x[i];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static float sum_squares_vectors(const float *x, index_t n) {
    float lane[8] = {0};
    for (index_t i = 0; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) lane[k] += x[i + k] * x[i + k];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

void rms_norm(float *y, const float *x, const float *w, index_t rows, index_t n, float eps) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        float scale = 1.0f / sqrtf(sum_squares(x, n) / (float)n + eps);
        for (index_t i = 0; i < n; i++) y[i] = x[i] * scale * w[i];
    }
}

void rms_norm_vectors(float *y, const float *x, const float *w, index_t rows, index_t n, float eps) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        float scale = 1.0f / sqrtf(sum_squares_vectors(x, n) / (float)n + eps);
        for (index_t i = 0; i < n; i++) y[i] = x[i] * scale * w[i];
    }
}

void add_rms_norm(float *y, float *sum, const float *x, const float *res, const float *w, index_t rows, index_t n,
                  float eps) {
    for (index_t r = 0; r < rows; r++, x += n, res += n, sum += n, y += n) {
        double squares = 0;
        for (index_t i = 0; i < n; i++) {
            sum[i] = x[i] + res[i];
            squares += (double)sum[i] * sum[i];
        }
        float scale = (float)(1.0 / sqrt(squares / (double)n + eps));
        for (index_t i = 0; i < n; i++) y[i] = sum[i] * scale * w[i];
    }
}

void layer_norm_welford(float *y, const float *x, const float *w, const float *b, index_t rows, index_t n, float eps) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        double mean = 0, squares = 0;
        for (index_t i = 0; i < n; i++) {
            double delta = x[i] - mean;
            mean += delta / (double)(i + 1);
            squares += delta * (x[i] - mean);
        }
        double scale = 1.0 / sqrt(squares / (double)n + eps);
        for (index_t i = 0; i < n; i++) y[i] = (float)((x[i] - mean) * scale) * w[i] + b[i];
    }
}

void layer_norm_two_pass(float *y, const float *x, const float *w, const float *b, index_t rows, index_t n, float eps) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        float sum[4] = {0}, squares[4] = {0};
        for (index_t i = 0; i < n; i++) sum[i & 3] += x[i];
        float mean = ((sum[0] + sum[1]) + (sum[2] + sum[3])) / (float)n;
        for (index_t i = 0; i < n; i++) {
            float centred = x[i] - mean;
            y[i] = centred;
            squares[i & 3] += centred * centred;
        }
        float var = ((squares[0] + squares[1]) + (squares[2] + squares[3])) / (float)n;
        float scale = 1.0f / sqrtf(var + eps);
        for (index_t i = 0; i < n; i++) y[i] = y[i] * scale * w[i] + b[i];
    }
}

void layer_norm_one_pass(float *y, const float *x, const float *w, const float *b, index_t rows, index_t n, float eps) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        float sum = 0, squares = 0;
        for (index_t i = 0; i < n; i++) {
            sum += x[i];
            squares += x[i] * x[i];
        }
        float mean = sum / (float)n;
        float var = squares / (float)n - mean * mean;
        float scale = 1.0f / sqrtf((var < 0 ? 0 : var) + eps);
        for (index_t i = 0; i < n; i++) y[i] = (x[i] - mean) * scale * w[i] + b[i];
    }
}

/* Length scaled by the largest magnitude, as BLAS computes it: squares neither overflow nor vanish. */
void l2_normalize(float *y, const float *x, index_t rows, index_t n, float eps) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        float largest = 0;
        for (index_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(x[i]));
        if (largest == 0 || isinf(largest)) largest = 1;
        float squares = 0;
        for (index_t i = 0; i < n; i++) {
            float v = x[i] / largest;
            squares += v * v;
        }
        float length = largest * sqrtf(squares);
        if (length < eps) length = eps;
        for (index_t i = 0; i < n; i++) y[i] = x[i] / length;
    }
}

static void group_norm_any(float *y, const float *x, const float *w, const float *b, index_t batch, index_t channels,
                           index_t length, index_t groups, float eps, int by_group) {
    index_t per_group = channels / groups, n = per_group * length;
    for (index_t g = 0; g < batch * groups; g++, x += n, y += n) {
        double sum = 0, squares = 0;
        for (index_t i = 0; i < n; i++) sum += x[i];
        double mean = sum / (double)n;
        for (index_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
        double scale = 1.0 / sqrt(squares / (double)n + eps);
        for (index_t c = 0; c < per_group; c++) {
            index_t channel = by_group ? g % groups : (g % groups) * per_group + c;
            for (index_t i = c * length; i < (c + 1) * length; i++)
                y[i] = (float)((x[i] - mean) * scale) * w[channel] + b[channel];
        }
    }
}

void group_norm(float *y, const float *x, const float *w, const float *b, index_t batch, index_t channels,
                index_t length, index_t groups, float eps) {
    group_norm_any(y, x, w, b, batch, channels, length, groups, eps, 0);
}

void group_norm_by_group(float *y, const float *x, const float *w, const float *b, index_t batch, index_t channels,
                         index_t length, index_t groups, float eps) {
    group_norm_any(y, x, w, b, batch, channels, length, groups, eps, 1);
}

void batch_norm(float *y, const float *x, const float *mean, const float *var, const float *w, const float *b,
                index_t batch, index_t channels, index_t length, float eps) {
    for (index_t c = 0; c < channels; c++) {
        float scale = w[c] / sqrtf(var[c] + eps);
        for (index_t n = 0; n < batch; n++) {
            const float *in = x + (n * channels + c) * length;
            float *out = y + (n * channels + c) * length;
            for (index_t i = 0; i < length; i++) out[i] = (in[i] - mean[c]) * scale + b[c];
        }
    }
}
"""


def build(source):
    flags = ["-O2", "-march=native", "-fno-math-errno", "-shared", "-fPIC"]
    directory = Path(tempfile.gettempdir()) / f"c-operators-{os.getuid()}"
    directory.mkdir(exist_ok=True)
    library = directory / (hashlib.sha256((source + repr(flags)).encode()).hexdigest()[:24] + ".so")
    if not library.exists():
        partial = f"{library}.{os.getpid()}"
        subprocess.run(["gcc", *flags, "-x", "c", "-", "-o", partial, "-lm"], input=source, text=True, check=True)
        os.replace(partial, library)
    return ctypes.CDLL(str(library))


lib = build(SOURCE)
P, N, FLOAT = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_float
for name, types in {
    "rms_norm": [P, P, P, N, N, FLOAT],
    "rms_norm_vectors": [P, P, P, N, N, FLOAT],
    "add_rms_norm": [P, P, P, P, P, N, N, FLOAT],
    "layer_norm_welford": [P, P, P, P, N, N, FLOAT],
    "layer_norm_two_pass": [P, P, P, P, N, N, FLOAT],
    "layer_norm_one_pass": [P, P, P, P, N, N, FLOAT],
    "l2_normalize": [P, P, N, N, FLOAT],
    "group_norm": [P, P, P, P, N, N, N, N, FLOAT],
    "group_norm_by_group": [P, P, P, P, N, N, N, N, FLOAT],
    "batch_norm": [P, P, P, P, P, P, N, N, N, FLOAT],
}.items():
    getattr(lib, name).argtypes = types
    getattr(lib, name).restype = None


def rows_of(x):
    return x.numel() // x.shape[-1] if x.shape[-1] else 0


def run_rms_norm(function, x, weight, eps):
    x, weight = x.contiguous(), weight.contiguous()
    y = torch.empty_like(x)
    function(y.data_ptr(), x.data_ptr(), weight.data_ptr(), rows_of(x), x.shape[-1], eps)
    return y


@operator(kind="norm", dims={"B": 2, "S": 8, "H": 100}, x=tensor("B S H"), weight=tensor("H"), eps=1e-6)
def c_rms_norm_right(x, weight, eps):
    return run_rms_norm(lib.rms_norm, x, weight, eps)


@c_rms_norm_right.reference("torch")
def _(x, weight, eps):
    return fn.rms_norm(x, (x.shape[-1],), weight, eps)


@operator(kind="norm", dims={"B": 2, "S": 8, "H": 100}, x=tensor("B S H"), weight=tensor("H"), eps=1e-6)
def c_rms_norm_tail_wrong(x, weight, eps):
    """The elements behind the last full vector of eight are missing in the sum of squares."""
    return run_rms_norm(lib.rms_norm_vectors, x, weight, eps)


@c_rms_norm_tail_wrong.reference("torch")
def _(x, weight, eps):
    return fn.rms_norm(x, (x.shape[-1],), weight, eps)


@operator(kind="norm", dims={"T": 6, "H": 72}, x=tensor("T H"), residual=tensor("T H"), weight=tensor("H"), eps=1e-5)
def c_add_rms_norm_right(x, residual, weight, eps):
    x, residual, weight = x.contiguous(), residual.contiguous(), weight.contiguous()
    y, total = torch.empty_like(x), torch.empty_like(x)
    lib.add_rms_norm(
        y.data_ptr(),
        total.data_ptr(),
        x.data_ptr(),
        residual.data_ptr(),
        weight.data_ptr(),
        rows_of(x),
        x.shape[-1],
        eps,
    )
    return y, total


@c_add_rms_norm_right.reference("torch")
def _(x, residual, weight, eps):
    total = x + residual
    return total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + eps) * weight, total


def run_layer_norm(function, x, weight, bias, eps):
    wide, weight, bias = x.float().contiguous(), weight.float().contiguous(), bias.float().contiguous()
    y = torch.empty_like(wide)
    function(y.data_ptr(), wide.data_ptr(), weight.data_ptr(), bias.data_ptr(), rows_of(wide), wide.shape[-1], eps)
    return y.to(x.dtype)


def layer_norm_reference(x, weight, bias, eps):
    return fn.layer_norm(x, (x.shape[-1],), weight, bias, eps)


@operator(kind="norm", dims={"S": 12, "H": 80}, x=tensor("B S H"), weight=tensor("H"), bias=tensor("H"), eps=1e-5)
def c_layer_norm_welford_right(x, weight, bias, eps):
    return run_layer_norm(lib.layer_norm_welford, x, weight, bias, eps)


c_layer_norm_welford_right.reference("torch")(layer_norm_reference)


@operator(
    kind="norm",
    dtypes=("float32", "float16", "bfloat16"),
    dims={"S": 12, "H": 80},
    x=tensor("B S H"),
    weight=tensor("H"),
    bias=tensor("H"),
    eps=1e-5,
)
def c_layer_norm_two_pass_right(x, weight, bias, eps):
    return run_layer_norm(lib.layer_norm_two_pass, x, weight, bias, eps)


c_layer_norm_two_pass_right.reference("torch")(layer_norm_reference)


@operator(kind="norm", dims={"S": 12, "H": 80}, x=tensor("B S H"), weight=tensor("H"), bias=tensor("H"), eps=1e-5)
def c_layer_norm_one_pass_wrong(x, weight, bias, eps):
    """The variance is E[x^2] - E[x]^2 in float32, which cancels where the mean is large beside the spread."""
    return run_layer_norm(lib.layer_norm_one_pass, x, weight, bias, eps)


c_layer_norm_one_pass_wrong.reference("torch")(layer_norm_reference)


@operator(kind="norm", dims={"S": 9, "H": 50}, x=tensor("S H"), eps=1e-12)
def c_l2_normalize_right(x, eps):
    x = x.contiguous()
    y = torch.empty_like(x)
    lib.l2_normalize(y.data_ptr(), x.data_ptr(), rows_of(x), x.shape[-1], eps)
    return y


@c_l2_normalize_right.reference("torch")
def _(x, eps):
    return fn.normalize(x, dim=-1, eps=eps)


def run_group_norm(function, x, weight, bias, groups, eps):
    if x.shape[1] % groups:
        raise ValueError(f"{x.shape[1]} channels are no multiple of {groups} groups")
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    y = torch.empty_like(x)
    batch, channels, length = x.shape
    if y.numel():
        function(y.data_ptr(), x.data_ptr(), weight.data_ptr(), bias.data_ptr(), batch, channels, length, groups, eps)
    return y


def whole_groups(case):
    return (case.dims["C"] % 4 == 0 and min(case.dims.values()) > 0) or "C must be a multiple of 4"


@operator(
    kind="norm",
    dims={"N": 2, "C": 12, "L": 15},
    requires=whole_groups,
    x=tensor("N C L"),
    weight=tensor("C"),
    bias=tensor("C"),
    groups=4,
    eps=1e-5,
)
def c_group_norm_right(x, weight, bias, groups, eps):
    return run_group_norm(lib.group_norm, x, weight, bias, groups, eps)


@c_group_norm_right.reference("torch")
def _(x, weight, bias, groups, eps):
    return fn.group_norm(x, groups, weight, bias, eps)


@operator(
    kind="norm",
    dims={"N": 2, "C": 12, "L": 15},
    requires=whole_groups,
    x=tensor("N C L"),
    weight=tensor("C"),
    bias=tensor("C"),
    groups=4,
    eps=1e-5,
)
def c_group_norm_affine_by_group_wrong(x, weight, bias, groups, eps):
    """Weight and bias are indexed by the group instead of the channel."""
    return run_group_norm(lib.group_norm_by_group, x, weight, bias, groups, eps)


@c_group_norm_affine_by_group_wrong.reference("torch")
def _(x, weight, bias, groups, eps):
    return fn.group_norm(x, groups, weight, bias, eps)


@operator(
    kind="norm",
    dims={"N": 3, "C": 10, "L": 21},
    x=tensor("N C L"),
    mean=tensor("C", values="finite"),
    var=tensor("C", values="positive"),
    weight=tensor("C", values="finite"),
    bias=tensor("C"),
    eps=1e-5,
)
def c_batch_norm_inference_right(x, mean, var, weight, bias, eps):
    x = x.contiguous()
    mean, var, weight, bias = (t.contiguous() for t in (mean, var, weight, bias))
    y = torch.empty_like(x)
    lib.batch_norm(*(t.data_ptr() for t in (y, x, mean, var, weight, bias)), x.shape[0], x.shape[1], x.shape[2], eps)
    return y


@c_batch_norm_inference_right.reference("torch")
def _(x, mean, var, weight, bias, eps):
    return fn.batch_norm(x, mean, var, weight, bias, training=False, eps=eps)
