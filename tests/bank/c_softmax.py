"""Softmax and its relatives written in C, compiled once and called through ctypes."""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import torch

from opsdebug_ci import operator, tensor

SOURCE = r"""
#include <float.h>
#include <math.h>
#include <stddef.h>
typedef ptrdiff_t index_t;

/* Maximum and sum of exponentials in one sweep. */
void softmax_online(float *y, const float *x, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        float m = -INFINITY, s = 0;
        for (index_t i = 0; i < n; i++) {
            float v = x[i];
            if (v == -INFINITY) continue;
            float larger = fmaxf(m, v);
            s = s * expf(m - larger) + expf(v - larger);
            m = larger;
        }
        for (index_t i = 0; i < n; i++) y[i] = expf(x[i] - m) / s;
    }
}

void softmax_exp2(float *y, const float *x, index_t rows, index_t n) {
    const float log2e = 1.44269504088896340736f;
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        float m = -INFINITY;
        for (index_t i = 0; i < n; i++) m = fmaxf(m, x[i]);
        float s[4] = {0};
        for (index_t i = 0; i < n; i++) {
            y[i] = exp2f((x[i] - m) * log2e);
            s[i & 3] += y[i];
        }
        float inverse = 1.0f / ((s[0] + s[1]) + (s[2] + s[3]));
        for (index_t i = 0; i < n; i++) y[i] *= inverse;
    }
}

static void log_softmax_from(float *y, const float *x, index_t rows, index_t n, float start) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        float m = start;
        for (index_t i = 0; i < n; i++) m = fmaxf(m, x[i]);
        double s = 0;
        for (index_t i = 0; i < n; i++) s += expf(x[i] - m);
        float log_sum = (float)log(s);
        for (index_t i = 0; i < n; i++) y[i] = (x[i] - m) - log_sum;
    }
}

void log_softmax(float *y, const float *x, index_t rows, index_t n) {
    log_softmax_from(y, x, rows, n, -INFINITY);
}

void log_softmax_flt_min(float *y, const float *x, index_t rows, index_t n) {
    log_softmax_from(y, x, rows, n, FLT_MIN);
}

static float pairwise_exp_sum(const float *x, index_t n, float m) {
    if (n <= 8) {
        float s = 0;
        for (index_t i = 0; i < n; i++) s += expf(x[i] - m);
        return s;
    }
    index_t half = n / 2;
    return pairwise_exp_sum(x, half, m) + pairwise_exp_sum(x + half, n - half, m);
}

void logsumexp(float *y, const float *x, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n) {
        float m = -INFINITY;
        for (index_t i = 0; i < n; i++) m = fmaxf(m, x[i]);
        if (isinf(m)) m = 0;
        y[r] = m + logf(pairwise_exp_sum(x, n, m));
    }
}

/* One mask of [queries, keys] for all heads. */
static void masked(float *y, const float *x, const unsigned char *mask, index_t heads, index_t queries, index_t keys,
                   index_t mask_step) {
    for (index_t h = 0; h < heads; h++)
        for (index_t q = 0; q < queries; q++, x += keys, y += keys) {
            const unsigned char *keep = mask + q * mask_step;
            float m = -INFINITY, s = 0;
            for (index_t k = 0; k < keys; k++)
                if (keep[k]) m = fmaxf(m, x[k]);
            for (index_t k = 0; k < keys; k++) {
                y[k] = keep[k] ? expf(x[k] - m) : 0.0f;
                s += y[k];
            }
            for (index_t k = 0; k < keys; k++)
                if (keep[k]) y[k] /= s;
        }
}

void masked_softmax(float *y, const float *x, const unsigned char *mask, index_t heads, index_t queries, index_t keys) {
    masked(y, x, mask, heads, queries, keys, keys);
}

void masked_softmax_first_row(float *y, const float *x, const unsigned char *mask, index_t heads, index_t queries,
                              index_t keys) {
    masked(y, x, mask, heads, queries, keys, 0);
}

static void causal(float *y, const float *x, index_t batch, index_t n, index_t ahead) {
    for (index_t b = 0; b < batch; b++)
        for (index_t q = 0; q < n; q++, x += n, y += n) {
            index_t visible = q + 1 + ahead < n ? q + 1 + ahead : n;
            float m = -INFINITY, s = 0;
            for (index_t k = 0; k < visible; k++) m = fmaxf(m, x[k]);
            for (index_t k = 0; k < visible; k++) s += y[k] = expf(x[k] - m);
            for (index_t k = 0; k < visible; k++) y[k] /= s;
            for (index_t k = visible; k < n; k++) y[k] = 0;
        }
}

void causal_softmax(float *y, const float *x, index_t batch, index_t n) { causal(y, x, batch, n, 0); }

void causal_softmax_ahead(float *y, const float *x, index_t batch, index_t n) { causal(y, x, batch, n, 1); }
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
P, N = ctypes.c_void_p, ctypes.c_ssize_t
for name, types in {
    "softmax_online": [P, P, N, N],
    "softmax_exp2": [P, P, N, N],
    "log_softmax": [P, P, N, N],
    "log_softmax_flt_min": [P, P, N, N],
    "logsumexp": [P, P, N, N],
    "masked_softmax": [P, P, P, N, N, N],
    "masked_softmax_first_row": [P, P, P, N, N, N],
    "causal_softmax": [P, P, N, N],
    "causal_softmax_ahead": [P, P, N, N],
}.items():
    getattr(lib, name).argtypes = types
    getattr(lib, name).restype = None


def by_rows(function, x):
    wide = x.float().contiguous()
    y = torch.empty_like(wide)
    if wide.numel():
        function(y.data_ptr(), wide.data_ptr(), wide.numel() // wide.shape[-1], wide.shape[-1])
    return y.to(x.dtype)


@operator(kind="softmax", dims={"B": 2, "S": 9, "H": 70}, x=tensor("B S H"))
def c_softmax_online_right(x):
    return by_rows(lib.softmax_online, x)


@c_softmax_online_right.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@operator(kind="softmax", dtypes=("float32", "float16", "bfloat16"), dims={"S": 9, "H": 70}, x=tensor("S H"))
def c_softmax_exp2_right(x):
    return by_rows(lib.softmax_exp2, x)


@c_softmax_exp2_right.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@operator(kind="log_softmax", dims={"S": 7, "V": 90}, x=tensor("S V"))
def c_log_softmax_right(x):
    return by_rows(lib.log_softmax, x)


@c_log_softmax_right.reference("torch")
def _(x):
    return torch.log_softmax(x, dim=-1)


@operator(kind="log_softmax", dims={"S": 7, "V": 90}, x=tensor("S V"))
def c_log_softmax_flt_min_wrong(x):
    """The maximum starts at FLT_MIN, the smallest positive number, so rows of very negative values vanish."""
    return by_rows(lib.log_softmax_flt_min, x)


@c_log_softmax_flt_min_wrong.reference("torch")
def _(x):
    return torch.log_softmax(x, dim=-1)


@operator(dims={"S": 7, "V": 90}, x=tensor("S V"))
def c_logsumexp_right(x):
    x = x.contiguous()
    y = torch.empty(x.shape[:-1])
    lib.logsumexp(y.data_ptr(), x.data_ptr(), y.numel(), x.shape[-1])
    return y


@c_logsumexp_right.reference("torch")
def _(x):
    return torch.logsumexp(x, dim=-1)


def run_masked(function, x, mask):
    x, mask = x.contiguous(), mask.contiguous()
    y = torch.empty_like(x)
    function(y.data_ptr(), x.data_ptr(), mask.data_ptr(), *x.shape)
    return y


def masked_reference(x, mask):
    return torch.softmax(x.masked_fill(~mask, float("-inf")), dim=-1).masked_fill(~mask, 0)


@operator(kind="softmax", dims={"A": 3, "Q": 8, "K": 24}, x=tensor("A Q K"), mask=tensor("Q K", dtype="bool"))
def c_masked_softmax_right(x, mask):
    return run_masked(lib.masked_softmax, x, mask)


c_masked_softmax_right.reference("torch")(masked_reference)


@operator(kind="softmax", dims={"A": 3, "Q": 8, "K": 24}, x=tensor("A Q K"), mask=tensor("Q K", dtype="bool"))
def c_masked_softmax_first_row_wrong(x, mask):
    """Every query is masked by the mask of query 0."""
    return run_masked(lib.masked_softmax_first_row, x, mask)


c_masked_softmax_first_row_wrong.reference("torch")(masked_reference)


def run_causal(function, x):
    x = x.contiguous()
    y = torch.empty_like(x)
    function(y.data_ptr(), x.data_ptr(), x.shape[0], x.shape[1])
    return y


def causal_reference(x):
    hidden = torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(x.masked_fill(hidden, float("-inf")), dim=-1)


@operator(kind="softmax", dims={"A": 4, "S": 20}, x=tensor("A S S", values="finite"))
def c_causal_softmax_right(x):
    return run_causal(lib.causal_softmax, x)


c_causal_softmax_right.reference("torch")(causal_reference)


@operator(kind="softmax", dims={"A": 4, "S": 20}, x=tensor("A S S", values="finite"))
def c_causal_softmax_looks_ahead_wrong(x):
    """Each row also sees the first element right of the diagonal."""
    return run_causal(lib.causal_softmax_ahead, x)


c_causal_softmax_looks_ahead_wrong.reference("torch")(causal_reference)
