"""Scans, poolings, transposes and scatters written in C, compiled once and called through ctypes."""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as fn

from opsdebug_ci import Contract, operator, tensor

SOURCE = r"""
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef ptrdiff_t index_t;
enum { BLOCK = 32, TILE = 8 };

/* Blocks are summed first, then each is scanned from its own start: what threads would do side by side. */
void cumsum(float *y, const float *x, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        double carry = 0;
        for (index_t start = 0; start < n; start += BLOCK) {
            index_t end = start + BLOCK < n ? start + BLOCK : n;
            double sum = 0;
            for (index_t i = start; i < end; i++) {
                sum += x[i];
                y[i] = (float)(carry + sum);
            }
            carry += sum;
        }
    }
}

void cumsum_last_block(float *y, const float *x, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n, y += n) {
        double carry = 0;
        for (index_t start = 0; start < n; start += BLOCK) {
            index_t end = start + BLOCK < n ? start + BLOCK : n;
            double sum = 0;
            for (index_t i = start; i < end; i++) {
                sum += x[i];
                y[i] = (float)(carry + sum);
            }
            carry = sum;
        }
    }
}

void exclusive_scan(int64_t *y, const int32_t *x, index_t n) {
    int64_t sum = 0;
    for (index_t i = 0; i < n; i++) {
        y[i] = sum;
        sum += x[i];
    }
    y[n] = sum;
}

void argmax(int64_t *y, const float *x, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n) {
        index_t best = 0;
        for (index_t i = 1; i < n; i++)
            if (x[i] > x[best] || (isnan(x[i]) && !isnan(x[best]))) best = i;
        y[r] = best;
    }
}

/* Eight candidates side by side; the first lane starts at element 0, the others too. */
void argmax_lanes(int64_t *y, const float *x, index_t rows, index_t n) {
    for (index_t r = 0; r < rows; r++, x += n) {
        index_t best[8];
        for (int k = 0; k < 8; k++) best[k] = k < n ? k : 0;
        for (index_t i = 8; i < n; i++)
            if (x[i] > x[best[i & 7]]) best[i & 7] = i;
        index_t chosen = best[0];
        for (int k = 1; k < 7; k++)
            if (x[best[k]] > x[chosen]) chosen = best[k];
        y[r] = chosen;
    }
}

void transpose(float *y, const float *x, index_t rows, index_t columns) {
    for (index_t i0 = 0; i0 < rows; i0 += TILE)
        for (index_t j0 = 0; j0 < columns; j0 += TILE) {
            index_t i1 = i0 + TILE < rows ? i0 + TILE : rows, j1 = j0 + TILE < columns ? j0 + TILE : columns;
            for (index_t j = j0; j < j1; j++)
                for (index_t i = i0; i < i1; i++) y[j * rows + i] = x[i * columns + j];
        }
}

void transpose_whole_tiles(float *y, const float *x, index_t rows, index_t columns) {
    memset(y, 0, rows * columns * sizeof *y);
    for (index_t i0 = 0; i0 + TILE <= rows; i0 += TILE)
        for (index_t j0 = 0; j0 + TILE <= columns; j0 += TILE)
            for (index_t j = j0; j < j0 + TILE; j++)
                for (index_t i = i0; i < i0 + TILE; i++) y[j * rows + i] = x[i * columns + j];
}

/* target[index[t]] += source[t] */
void scatter_add(float *target, const int64_t *index, const float *source, index_t n, index_t width) {
    for (index_t t = 0; t < n; t++)
        for (index_t i = 0; i < width; i++) target[index[t] * width + i] += source[t * width + i];
}

/* Bags of rows of a table; starts has one entry per bag and one more. */
void bag_mean(float *y, const float *table, const int64_t *index, const int64_t *starts, index_t bags, index_t width) {
    for (index_t b = 0; b < bags; b++, y += width) {
        index_t count = starts[b + 1] - starts[b];
        memset(y, 0, width * sizeof *y);
        for (index_t t = starts[b]; t < starts[b + 1]; t++)
            for (index_t i = 0; i < width; i++) y[i] += table[index[t] * width + i];
        for (index_t i = 0; count && i < width; i++) y[i] /= (float)count;
    }
}

void max_pool(float *y, const float *x, index_t planes, index_t height, index_t width) {
    index_t h_out = height / 2, w_out = width / 2;
    for (index_t p = 0; p < planes; p++, x += height * width)
        for (index_t i = 0; i < h_out; i++)
            for (index_t j = 0; j < w_out; j++) {
                const float *window = x + 2 * i * width + 2 * j;
                float best = window[0];
                const float others[3] = {window[1], window[width], window[width + 1]};
                for (int k = 0; k < 3; k++)
                    if (others[k] > best || isnan(others[k])) best = others[k];
                *y++ = best;
            }
}

/* Windows of 3 x 3 at every place, one row and column of padding, which is not counted. */
static void avg_pool_any(float *y, const float *x, index_t planes, index_t height, index_t width, int count_padding) {
    for (index_t p = 0; p < planes; p++, x += height * width)
        for (index_t i = 0; i < height; i++)
            for (index_t j = 0; j < width; j++) {
                index_t top = i ? i - 1 : 0, bottom = i + 2 < height ? i + 2 : height;
                index_t left = j ? j - 1 : 0, right = j + 2 < width ? j + 2 : width;
                float sum = 0;
                for (index_t a = top; a < bottom; a++)
                    for (index_t b = left; b < right; b++) sum += x[a * width + b];
                *y++ = sum / (float)(count_padding ? 9 : (bottom - top) * (right - left));
            }
}

void avg_pool(float *y, const float *x, index_t planes, index_t height, index_t width) {
    avg_pool_any(y, x, planes, height, width, 0);
}

void avg_pool_padding(float *y, const float *x, index_t planes, index_t height, index_t width) {
    avg_pool_any(y, x, planes, height, width, 1);
}

void nearest_twice(float *y, const float *x, index_t planes, index_t height, index_t width) {
    for (index_t p = 0; p < planes; p++, x += height * width)
        for (index_t i = 0; i < 2 * height; i++)
            for (index_t j = 0; j < 2 * width; j++) *y++ = x[(i >> 1) * width + (j >> 1)];
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
    "cumsum": [P, P, N, N],
    "cumsum_last_block": [P, P, N, N],
    "exclusive_scan": [P, P, N],
    "argmax": [P, P, N, N],
    "argmax_lanes": [P, P, N, N],
    "transpose": [P, P, N, N],
    "transpose_whole_tiles": [P, P, N, N],
    "scatter_add": [P, P, P, N, N],
    "bag_mean": [P, P, P, P, N, N],
    "max_pool": [P, P, N, N, N],
    "avg_pool": [P, P, N, N, N],
    "avg_pool_padding": [P, P, N, N, N],
    "nearest_twice": [P, P, N, N, N],
}.items():
    getattr(lib, name).argtypes = types
    getattr(lib, name).restype = None


def run_cumsum(function, x):
    x = x.contiguous()
    y = torch.empty_like(x)
    function(y.data_ptr(), x.data_ptr(), *x.shape)
    return y


@operator(kind="scan", dims={"B": 3, "S": 130}, x=tensor("B S"))
def c_cumsum_blocked_right(x):
    return run_cumsum(lib.cumsum, x)


@c_cumsum_blocked_right.reference("torch")
def _(x):
    return torch.cumsum(x, dim=-1)


@operator(kind="scan", dims={"B": 3, "S": 130}, x=tensor("B S"))
def c_cumsum_carry_overwritten_wrong(x):
    """The carry into a block is the sum of the block before alone, so the third block and later ones are wrong."""
    return run_cumsum(lib.cumsum_last_block, x)


@c_cumsum_carry_overwritten_wrong.reference("torch")
def _(x):
    return torch.cumsum(x, dim=-1)


@operator(kind="exact", dims={"N": 45}, lengths=tensor("N", dtype="int32"))
def c_offsets_from_lengths_right(lengths):
    lengths = lengths.contiguous()
    starts = torch.empty(lengths.numel() + 1, dtype=torch.int64)
    lib.exclusive_scan(starts.data_ptr(), lengths.data_ptr(), lengths.numel())
    return starts


@c_offsets_from_lengths_right.reference("torch")
def _(lengths):
    return fn.pad(torch.cumsum(lengths.long(), 0), (1, 0))


def run_argmax(function, x):
    if x.shape[-1] == 0:
        raise ValueError("argmax of an empty row")
    x = x.contiguous()
    y = torch.empty(x.shape[:-1], dtype=torch.int64)
    function(y.data_ptr(), x.data_ptr(), y.numel(), x.shape[-1])
    return y


@operator(kind="index", dims={"B": 2, "S": 6, "V": 60}, contract=Contract(index=("logits", -1)), logits=tensor("B S V"))
def c_argmax_right(logits):
    return run_argmax(lib.argmax, logits)


@c_argmax_right.reference("torch")
def _(logits):
    return torch.argmax(logits, dim=-1)


@operator(
    kind="index",
    dims={"B": 2, "S": 6, "V": 60},
    contract=Contract(index=("logits", -1), nan="ignore"),
    logits=tensor("B S V"),
)
def c_argmax_lane_missing_wrong(logits):
    """The last of the eight lanes is left out of the final comparison."""
    return run_argmax(lib.argmax_lanes, logits)


@c_argmax_lane_missing_wrong.reference("torch")
def _(logits):
    return torch.argmax(logits, dim=-1)


def run_transpose(function, x):
    x = x.contiguous()
    y = torch.empty(x.shape[1], x.shape[0])
    function(y.data_ptr(), x.data_ptr(), *x.shape)
    return y


@operator(kind="exact", dims={"M": 29, "N": 42}, x=tensor("M N"))
def c_transpose_tiled_right(x):
    return run_transpose(lib.transpose, x)


@c_transpose_tiled_right.reference("torch")
def _(x):
    return x.T.contiguous()


@operator(kind="exact", dims={"M": 29, "N": 42}, x=tensor("M N"))
def c_transpose_whole_tiles_wrong(x):
    """Rows and columns behind the last whole tile are not moved."""
    return run_transpose(lib.transpose_whole_tiles, x)


@c_transpose_whole_tiles_wrong.reference("torch")
def _(x):
    return x.T.contiguous()


def rows_of(size, count):
    def make(seed, dims, args):
        return np.random.default_rng(seed).integers(0, max(dims[size], 1), size=dims[count])

    return make


@operator(
    kind="reduction",
    dims={"V": 12, "T": 40, "H": 18},
    requires=lambda case: case.dims["V"] > 0 or "no rows to point at",
    contract=Contract(mutates=("table",)),
    table=tensor("V H", layouts="contiguous"),
    index=tensor("T", dtype="int64", values=rows_of("V", "T")),
    source=tensor("T H"),
)
def c_scatter_add_right(table, index, source):
    index, source = index.contiguous(), source.contiguous()
    lib.scatter_add(table.data_ptr(), index.data_ptr(), source.data_ptr(), *source.shape)


@c_scatter_add_right.reference("torch")
def _(table, index, source):
    return table.index_add(0, index, source)


def bag_starts(seed, dims, args):
    cuts = np.random.default_rng(seed).integers(0, dims["T"], size=dims["N"] - 1, endpoint=True)
    return np.array([0, *sorted(cuts.tolist()), dims["T"]])


@operator(
    kind="reduction",
    dims={"V": 20, "T": 30, "N": 7, "H": 16},
    requires=lambda case: min(case.dims["V"], case.dims["N"]) > 0 or "no rows or bags",
    table=tensor("V H", values="finite"),
    index=tensor("T", dtype="int64", values=rows_of("V", "T")),
    starts=tensor("N+1", dtype="int64", values=bag_starts),
)
def c_embedding_bag_mean_right(table, index, starts):
    table, index, starts = table.contiguous(), index.contiguous(), starts.contiguous()
    bags = starts.numel() - 1
    y = torch.empty(bags, table.shape[1])
    lib.bag_mean(*(t.data_ptr() for t in (y, table, index, starts)), bags, table.shape[1])
    return y


@c_embedding_bag_mean_right.reference("torch")
def _(table, index, starts):
    return fn.embedding_bag(index, table, starts, mode="mean", include_last_offset=True)


def run_planes(function, x, height, width):
    x = x.contiguous()
    y = torch.empty(*x.shape[:2], height, width)
    function(y.data_ptr(), x.data_ptr(), x.shape[0] * x.shape[1], *x.shape[2:])
    return y


@operator(
    kind="exact",
    dims={"N": 2, "C": 3, "H": 14, "W": 17},
    requires=lambda case: min(case.dims["H"], case.dims["W"]) > 1 or "smaller than a window",
    x=tensor("N C H W"),
)
def c_max_pool_right(x):
    return run_planes(lib.max_pool, x, x.shape[2] // 2, x.shape[3] // 2)


@c_max_pool_right.reference("torch")
def _(x):
    return fn.max_pool2d(x, 2)


@operator(kind="reduction", dims={"N": 2, "C": 3, "H": 11, "W": 13}, x=tensor("N C H W"))
def c_avg_pool_right(x):
    return run_planes(lib.avg_pool, x, x.shape[2], x.shape[3])


@c_avg_pool_right.reference("torch")
def _(x):
    return fn.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)


@operator(kind="reduction", dims={"N": 2, "C": 3, "H": 11, "W": 13}, x=tensor("N C H W"))
def c_avg_pool_counts_padding_wrong(x):
    """Sums at the border are divided by nine although the padding must not be counted."""
    return run_planes(lib.avg_pool_padding, x, x.shape[2], x.shape[3])


@c_avg_pool_counts_padding_wrong.reference("torch")
def _(x):
    return fn.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)


@operator(kind="exact", dims={"N": 2, "C": 3, "H": 7, "W": 9}, x=tensor("N C H W"))
def c_upsample_nearest_right(x):
    return run_planes(lib.nearest_twice, x, 2 * x.shape[2], 2 * x.shape[3])


@c_upsample_nearest_right.reference("torch")
def _(x):
    return fn.interpolate(x, scale_factor=2, mode="nearest")
