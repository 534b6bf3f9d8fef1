"""Elementwise operators and quantisers written in C on libm's float functions, called through ctypes."""

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
#include <stdint.h>
#include <string.h>
typedef ptrdiff_t index_t;

void gelu(float *y, const float *x, index_t n) {
    for (index_t i = 0; i < n; i++) y[i] = 0.5f * x[i] * erfcf(-0.70710678118654752440f * x[i]);
}

void gelu_tanh(float *y, const float *x, index_t n) {
    for (index_t i = 0; i < n; i++) {
        float v = x[i], inner = 0.79788456080286535588f * (v + 0.044715f * v * v * v);
        y[i] = 0.5f * v * (1.0f + tanhf(inner));
    }
}

void silu(float *y, const float *x, index_t n) {
    for (index_t i = 0; i < n; i++) y[i] = x[i] / (1.0f + expf(-x[i]));
}

void softplus(float *y, const float *x, index_t n) {
    for (index_t i = 0; i < n; i++) {
        float positive = x[i] < 0 ? 0 : x[i];
        y[i] = positive + log1pf(expf(-fabsf(x[i])));
    }
}

/* tanh by the exponential of twice the magnitude; a short polynomial where that would cancel. */
void tanh_exp(float *y, const float *x, index_t n) {
    for (index_t i = 0; i < n; i++) {
        float a = fabsf(x[i]), t;
        if (a < 0.25f) {
            float s = a * a;
            t = a + a * s * (-1.0f / 3 + s * (2.0f / 15 + s * (-17.0f / 315 + s * (62.0f / 2835))));
        } else {
            t = 1.0f - 2.0f / (expf(2.0f * a) + 1.0f);
        }
        y[i] = copysignf(t, x[i]);
    }
}

/* Schraudolph's exponential: the exponent field is written directly. */
void exp_bits(float *y, const float *x, index_t n) {
    for (index_t i = 0; i < n; i++) {
        float v = x[i] < -87.0f ? -87.0f : x[i] > 88.0f ? 88.0f : x[i];
        int32_t bits = (int32_t)(12102203.0f * v) + 1064986823;
        memcpy(&y[i], &bits, sizeof bits);
    }
}

/* Rows of [gate, up]. */
static void swiglu_any(float *y, const float *x, index_t rows, index_t n, int gate_last) {
    for (index_t r = 0; r < rows; r++, x += 2 * n, y += n)
        for (index_t i = 0; i < n; i++) {
            float gate = x[i + (gate_last ? n : 0)], up = x[i + (gate_last ? 0 : n)];
            y[i] = gate / (1.0f + expf(-gate)) * up;
        }
}

void swiglu(float *y, const float *x, index_t rows, index_t n) { swiglu_any(y, x, rows, n, 0); }

void swiglu_gate_last(float *y, const float *x, index_t rows, index_t n) { swiglu_any(y, x, rows, n, 1); }

void bias_relu(float *y, const float *x, const float *bias, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n, y += n)
        for (index_t i = 0; i < n; i++) {
            float v = x[i] + bias[i];
            y[i] = v < 0 ? 0 : v;
        }
}

static float row_scale(const float *x, index_t n) {
    float largest = 0;
    for (index_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(x[i]));
    return fmaxf(largest, 1e-8f) / 127.0f;
}

void quantize_rows(int8_t *q, float *scale, const float *x, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n, q += n) {
        scale[r] = row_scale(x, n);
        for (index_t i = 0; i < n; i++) {
            float v = nearbyintf(x[i] / scale[r]);
            q[i] = (int8_t)(v > 127 ? 127 : v < -127 ? -127 : v);
        }
    }
}

void quantize_rows_add_half(int8_t *q, float *scale, const float *x, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n, q += n) {
        scale[r] = row_scale(x, n);
        for (index_t i = 0; i < n; i++) {
            float v = x[i] / scale[r] + 0.5f;
            q[i] = (int8_t)(v > 127 ? 127 : v < -127 ? -127 : v);
        }
    }
}

void dequantize(float *y, const uint8_t *q, const float *scale, const uint8_t *zero, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++)
        for (index_t i = 0; i < n; i++) y[r * n + i] = (float)((int)q[r * n + i] - (int)zero[r]) * scale[r];
}

void dequantize_wrapping(float *y, const uint8_t *q, const float *scale, const uint8_t *zero, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++)
        for (index_t i = 0; i < n; i++) y[r * n + i] = (float)(uint8_t)(q[r * n + i] - zero[r]) * scale[r];
}
"""


def build(source):
    flags = ["-O2", "-march=native", "-shared", "-fPIC"]
    directory = Path(tempfile.gettempdir()) / f"c-operators-{os.getuid()}"
    directory.mkdir(exist_ok=True)
    library = directory / (hashlib.sha256((source + repr(flags)).encode()).hexdigest()[:24] + ".so")
    if not library.exists():
        partial = f"{library}.{os.getpid()}"
        subprocess.run(["gcc", *flags, "-x", "c", "-", "-o", partial, "-lm"], input=source, text=True, check=True)
        os.replace(partial, library)
    return ctypes.CDLL(str(library))


lib = build(SOURCE)
P, N = ctypes.c_void_p, ctypes.c_ssize_t
for name, types in {
    **{name: [P, P, N] for name in ("gelu", "gelu_tanh", "silu", "softplus", "tanh_exp", "exp_bits")},
    "swiglu": [P, P, N, N],
    "swiglu_gate_last": [P, P, N, N],
    "bias_relu": [P, P, P, N, N],
    "quantize_rows": [P, P, P, N, N],
    "quantize_rows_add_half": [P, P, P, N, N],
    "dequantize": [P, P, P, P, N, N],
    "dequantize_wrapping": [P, P, P, P, N, N],
}.items():
    getattr(lib, name).argtypes = types
    getattr(lib, name).restype = None


def pointwise(function, x):
    wide = x.float().contiguous()
    y = torch.empty_like(wide)
    function(y.data_ptr(), wide.data_ptr(), wide.numel())
    return y.to(x.dtype)


@operator(kind="transcendental", dtypes=("float32", "float16", "bfloat16"), dims={"S": 10, "H": 66}, x=tensor("S H"))
def c_gelu_erfc_right(x):
    return pointwise(lib.gelu, x)


@c_gelu_erfc_right.reference("torch")
def _(x):
    return fn.gelu(x)


@operator(kind="transcendental", dims={"S": 10, "H": 66}, x=tensor("S H", values="finite"))
def c_gelu_tanh_right(x):
    return pointwise(lib.gelu_tanh, x)


@c_gelu_tanh_right.reference("torch")
def _(x):
    return fn.gelu(x, approximate="tanh")


@operator(kind="transcendental", dims={"S": 10, "H": 66}, x=tensor("S H", values="finite"))
def c_gelu_tanh_for_erf_wrong(x):
    """The tanh approximation stands where the layer has the exact gelu."""
    return pointwise(lib.gelu_tanh, x)


@c_gelu_tanh_for_erf_wrong.reference("torch")
def _(x):
    return fn.gelu(x)


@operator(kind="transcendental", dtypes=("float32", "bfloat16"), dims={"N": 777}, x=tensor("N"))
def c_silu_right(x):
    return pointwise(lib.silu, x)


@c_silu_right.reference("torch")
def _(x):
    return fn.silu(x)


@operator(kind="transcendental", dims={"N": 500}, x=tensor("N"))
def c_softplus_right(x):
    return pointwise(lib.softplus, x)


@c_softplus_right.reference("torch")
def _(x):
    return torch.logaddexp(x, torch.zeros_like(x))


@operator(kind="transcendental", dims={"N": 500}, x=tensor("N"))
def c_tanh_right(x):
    return pointwise(lib.tanh_exp, x)


@c_tanh_right.reference("torch")
def _(x):
    return torch.tanh(x)


@operator(kind="transcendental", dims={"N": 500}, x=tensor("N", values="finite"))
def c_exp_schraudolph_wrong(x):
    """The exponential is approximated by its bits, which is 4 % off."""
    return pointwise(lib.exp_bits, x)


@c_exp_schraudolph_wrong.reference("torch")
def _(x):
    return torch.exp(x)


def run_swiglu(function, x):
    x = x.contiguous()
    y = torch.empty(*x.shape[:-1], x.shape[-1] // 2)
    function(y.data_ptr(), x.data_ptr(), y.numel() // y.shape[-1] if y.numel() else 0, y.shape[-1])
    return y


def swiglu_reference(x):
    gate, up = x.chunk(2, dim=-1)
    return fn.silu(gate) * up


@operator(kind="transcendental", dims={"T": 8, "I": 40}, x=tensor("T 2*I"))
def c_swiglu_right(x):
    return run_swiglu(lib.swiglu, x)


c_swiglu_right.reference("torch")(swiglu_reference)


@operator(kind="transcendental", dims={"T": 8, "I": 40}, x=tensor("T 2*I"))
def c_swiglu_halves_swapped_wrong(x):
    """The second half is taken as the gate and the first one as the values."""
    return run_swiglu(lib.swiglu_gate_last, x)


c_swiglu_halves_swapped_wrong.reference("torch")(swiglu_reference)


@operator(kind="elementwise", dims={"T": 8, "H": 51}, x=tensor("T H"), bias=tensor("H"))
def c_bias_relu_right(x, bias):
    x, bias = x.contiguous(), bias.contiguous()
    y = torch.empty_like(x)
    lib.bias_relu(y.data_ptr(), x.data_ptr(), bias.data_ptr(), *x.shape)
    return y


@c_bias_relu_right.reference("torch")
def _(x, bias):
    return torch.relu(x + bias)


def run_quantize(function, x):
    x = x.contiguous()
    q, scale = torch.empty(x.shape, dtype=torch.int8), torch.empty(x.shape[0])
    function(q.data_ptr(), scale.data_ptr(), x.data_ptr(), *x.shape)
    return q, scale


def quantize_reference(x):
    scale = x.abs().amax(-1).clamp(min=1e-8) / 127
    return torch.round(x / scale[:, None]).clamp(-127, 127).to(torch.int8), scale


@operator(kind={"out0": "quantize", "out1": "elementwise"}, dims={"T": 10, "H": 64}, x=tensor("T H", values="finite"))
def c_quantize_rows_right(x):
    return run_quantize(lib.quantize_rows, x)


c_quantize_rows_right.reference("torch")(quantize_reference)


@operator(kind={"out0": "quantize", "out1": "elementwise"}, dims={"T": 10, "H": 64}, x=tensor("T H", values="finite"))
def c_quantize_rows_add_half_wrong(x):
    """Half is added before the cast to an integer, which rounds negative numbers upwards."""
    return run_quantize(lib.quantize_rows_add_half, x)


c_quantize_rows_add_half_wrong.reference("torch")(quantize_reference)


def run_dequantize(function, q, scale, zero):
    q, scale, zero = q.contiguous(), scale.contiguous(), zero.contiguous()
    y = torch.empty(q.shape)
    function(y.data_ptr(), q.data_ptr(), scale.data_ptr(), zero.data_ptr(), *q.shape)
    return y


@operator(
    kind="elementwise",
    dims={"T": 10, "H": 33},
    q=tensor("T H", dtype="uint8"),
    scale=tensor("T", values="positive"),
    zero=tensor("T", dtype="uint8"),
)
def c_dequantize_right(q, scale, zero):
    return run_dequantize(lib.dequantize, q, scale, zero)


@c_dequantize_right.reference("torch")
def _(q, scale, zero):
    return (q.float() - zero[:, None].float()) * scale[:, None]


@operator(
    kind="elementwise",
    dims={"T": 10, "H": 33},
    q=tensor("T H", dtype="uint8"),
    scale=tensor("T", values="positive"),
    zero=tensor("T", dtype="uint8"),
)
def c_dequantize_wraps_wrong(q, scale, zero):
    """The zero point is subtracted in uint8, so codes below it wrap around to large positive ones."""
    return run_dequantize(lib.dequantize_wrapping, q, scale, zero)


@c_dequantize_wraps_wrong.reference("torch")
def _(q, scale, zero):
    return (q.float() - zero[:, None].float()) * scale[:, None]
