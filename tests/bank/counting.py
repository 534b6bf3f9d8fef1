"""Counting and ordering: histograms, weighted counts, sorted search and buckets."""

import numpy as np
import torch

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


# Histogram of values between zero and one, the upper end in the last bin.


def unit_values(seed, dims, args):
    values = np.random.default_rng(seed).integers(0, 65, size=dims["N"]) / 64
    values[:1] = 1
    return values


def histogram_reference(x):
    return torch.histc(x, bins=8, min=0.0, max=1.0)


@operator(kind="exact", dims={"N": 100}, x=tensor("N", values=unit_values))
def index_histogram_right(x):
    counts = torch.zeros(8)
    bins = torch.clamp((x * 8).floor().long(), max=7)
    for start in range(0, x.numel(), 32):
        counts += torch.bincount(bins[start : start + 32], minlength=8)
    return counts


index_histogram_right.reference("torch")(histogram_reference)


@operator(kind="exact", dims={"N": 100}, x=tensor("N", values=unit_values))
def index_histogram_end_wrong(x):
    """The value at the upper end falls into no bin."""
    return torch.bincount((x * 8).floor().long(), minlength=9)[:8].to(x.dtype)


index_histogram_end_wrong.reference("torch")(histogram_reference)


# Weighted counts.


def nine(seed, dims, args):
    return np.random.default_rng(seed).integers(0, 9, size=dims["N"])


@operator(
    kind="reduction",
    dims={"N": 50},
    ids=tensor("N", dtype="int64", values=nine),
    weights=tensor("N"),
)
def index_bincount_weighted_right(ids, weights):
    hits = ids.unsqueeze(0) == torch.arange(9).unsqueeze(1)
    return torch.where(hits, weights, 0.0).sum(1)


@index_bincount_weighted_right.reference("torch")
def _(ids, weights):
    return torch.zeros(9, dtype=weights.dtype).index_add(0, ids, weights)


# Sorted search: how many boundaries are below or at a value.


def ascending(seed, dims, args):
    return np.sort(np.random.default_rng(seed).integers(-6, 7, size=dims["K"])) / 2


def coarse(seed, dims, args):
    return np.random.default_rng(seed + 5).integers(-7, 8, size=dims["N"]) / 2


SEARCH = {"edges": tensor("K", values=ascending), "x": tensor("N", values=coarse)}


def search_reference(edges, x):
    return torch.searchsorted(edges, x, right=True)


@operator(kind="exact", dims={"K": 11, "N": 40}, arguments=SEARCH)
def index_searchsorted_right(edges, x):
    low = torch.zeros(x.shape, dtype=torch.int64)
    high = torch.full(x.shape, edges.numel())
    for _ in range(edges.numel().bit_length()):
        middle = (low + high) // 2
        active = low < high
        goes_up = active & (edges[middle.clamp(max=edges.numel() - 1)] <= x)
        low = torch.where(goes_up, middle + 1, low)
        high = torch.where(active & ~goes_up, middle, high)
    return low


index_searchsorted_right.reference("torch")(search_reference)


@operator(kind="exact", dims={"K": 11, "N": 40}, arguments=SEARCH)
def index_searchsorted_side_wrong(edges, x):
    """A value equal to an edge is put before it, as for the left side."""
    return (edges.unsqueeze(0) < x.unsqueeze(1)).sum(1)


index_searchsorted_side_wrong.reference("torch")(search_reference)


@operator(kind="exact", dtypes=HALVES, dims={"N": 60}, x=tensor("N", values="finite"))
def index_bucketize_right(x):
    edges = (-1.5, -0.5, 0.25, 1.0)
    return sum((x > edge).to(torch.int64) for edge in edges)


@index_bucketize_right.reference("torch")
def _(x):
    return torch.bucketize(x, torch.tensor([-1.5, -0.5, 0.25, 1.0], dtype=x.dtype))
