"""Sequences of different lengths: packed behind each other with offsets, and padded with lengths."""

import math
from itertools import pairwise

import numpy as np
import torch
from torch.nn import functional

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


def at_least_one(*names):
    return lambda case: all(case.dims[name] > 0 for name in names) or f"{', '.join(names)} must not be 0"


def cuts(seed, dims, args):
    inner = np.random.default_rng(seed).integers(0, dims["T"], size=dims["N"] - 1, endpoint=True)
    return [0, *sorted(inner.tolist()), dims["T"]]


PACKED = {
    **dict.fromkeys("qkv", tensor("T H D")),
    "cu_seqlens": tensor("N+1", dtype="int32", values=cuts),
}


def key_lengths(seed, dims, args):
    return np.random.default_rng(seed).integers(1, dims["T"], size=dims["B"], endpoint=True)


CROSS = {"q": tensor("B H S D"), "k": tensor("B H T D"), "v": tensor("B H T D")}


@operator(
    kind="attention",
    dtypes=HALVES,
    dims={"T": 48, "H": 2, "D": 16, "N": 4},
    requires=at_least_one("N"),
    arguments=PACKED,
)
def packed_attention_causal_right(q, k, v, cu_seqlens):
    """Rows of a sequence are done 8 at a time, on the keys from its start to the last of them."""
    out = torch.zeros(q.shape, dtype=q.dtype)
    for start, stop in pairwise(cu_seqlens.tolist()):
        for row in range(start, stop, 8):
            end = min(row + 8, stop)
            ahead = torch.arange(row, end)[:, None] < torch.arange(start, end)[None, :]
            scores = torch.einsum("qhd,khd->hqk", q[row:end].float(), k[start:end].float()) * q.shape[-1] ** -0.5
            scores = scores.masked_fill(ahead, -math.inf)
            p = torch.exp(scores - scores.amax(-1, keepdim=True))
            weighted = torch.einsum("hqk,khd->qhd", p, v[start:end].float())
            out[row:end] = (weighted / p.sum(-1).t().unsqueeze(-1)).to(q.dtype)
    return out


@packed_attention_causal_right.reference("torch")
def _(q, k, v, cu_seqlens):
    out = torch.zeros_like(q)
    for a, b in zip(cu_seqlens.tolist()[:-1], cu_seqlens.tolist()[1:], strict=True):
        if b > a:
            part = (x[a:b].transpose(0, 1) for x in (q, k, v))
            out[a:b] = functional.scaled_dot_product_attention(*part, is_causal=True).transpose(0, 1)
    return out


@operator(
    kind="attention",
    dtypes=HALVES,
    dims={"T": 48, "H": 2, "D": 16, "N": 4},
    requires=at_least_one("N"),
    arguments=PACKED,
)
def packed_attention_leak_wrong(q, k, v, cu_seqlens):
    """Only the causal mask is applied: a token sees the sequences packed before its own."""
    tokens = torch.arange(q.shape[0])
    scores = torch.einsum("qhd,khd->hqk", q.float(), k.float()) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(tokens[:, None] < tokens[None, :], -math.inf)
    return torch.einsum("hqk,khd->qhd", torch.softmax(scores, -1), v.float()).to(q.dtype)


@packed_attention_leak_wrong.reference("torch")
def _(q, k, v, cu_seqlens):
    out = torch.zeros_like(q)
    for a, b in zip(cu_seqlens.tolist()[:-1], cu_seqlens.tolist()[1:], strict=True):
        if b > a:
            part = (x[a:b].transpose(0, 1) for x in (q, k, v))
            out[a:b] = functional.scaled_dot_product_attention(*part, is_causal=True).transpose(0, 1)
    return out


@operator(
    kind="attention",
    dtypes=("float32", "float16"),
    dims={"B": 3, "H": 2, "S": 8, "T": 24, "D": 16},
    requires=lambda case: case.dims["T"] > 0 or "no keys",
    **CROSS,
    lengths=tensor("B", dtype="int64", values=key_lengths),
)
def packed_attention_key_padding_right(q, k, v, lengths):
    """Batches are done one by one, each on its valid keys only."""
    out = torch.empty(q.shape, dtype=q.dtype)
    for batch, length in enumerate(lengths.tolist()):
        scores = q[batch].float() @ k[batch, :, :length].float().mT * q.shape[-1] ** -0.5
        p = torch.exp(scores - scores.amax(-1, keepdim=True))
        out[batch] = ((p / p.sum(-1, keepdim=True)) @ v[batch, :, :length].float()).to(q.dtype)
    return out


@packed_attention_key_padding_right.reference("torch")
def _(q, k, v, lengths):
    valid = torch.arange(k.shape[2])[None, :] < lengths[:, None]
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=valid[:, None, None, :])


def filled_cuts(seed, dims, args):
    inner = np.random.default_rng(seed + 1).choice(dims["N"] + dims["M"] - 1, size=dims["N"] - 1, replace=False) + 1
    return [0, *sorted(inner.tolist()), dims["N"] + dims["M"]]


CROSSED = {
    "q": tensor("T H D"),
    "k": tensor("N+M H D"),
    "v": tensor("N+M H D"),
    "cu_q": tensor("N+1", dtype="int32", values=cuts),
    "cu_k": tensor("N+1", dtype="int32", values=filled_cuts),
}
CROSSED_SIZES = {"T": 20, "M": 30, "N": 4, "H": 2, "D": 16}


def crossed_reference(q, k, v, cu_q, cu_k):
    out = torch.zeros_like(q)
    for i in range(len(cu_q) - 1):
        rows, keys = slice(cu_q[i], cu_q[i + 1]), slice(cu_k[i], cu_k[i + 1])
        part = (q[rows].transpose(0, 1), k[keys].transpose(0, 1), v[keys].transpose(0, 1))
        out[rows] = functional.scaled_dot_product_attention(*part).transpose(0, 1)
    return out


@operator(
    kind="attention",
    dtypes=("float32", "float16"),
    dims=CROSSED_SIZES,
    requires=lambda case: case.dims["N"] > 0 or "no sequences",
    arguments=CROSSED,
)
def packed_attention_cross_right(q, k, v, cu_q, cu_k):
    """Every sequence has queries and keys of its own number (at least one key)."""
    out = torch.empty(q.shape, dtype=q.dtype)
    scale = q.shape[-1] ** -0.5
    bounds = zip(pairwise(cu_q.tolist()), pairwise(cu_k.tolist()), strict=True)
    for (first, last), (start, stop) in bounds:
        scores = torch.einsum("qhd,khd->qhk", q[first:last].float() * scale, k[start:stop].float())
        p = torch.exp(scores - scores.amax(-1, keepdim=True))
        weighted = torch.einsum("qhk,khd->qhd", p, v[start:stop].float())
        out[first:last] = (weighted / p.sum(-1, keepdim=True)).to(q.dtype)
    return out


packed_attention_cross_right.reference("torch")(crossed_reference)


@operator(
    kind="attention",
    dtypes=("float32", "bfloat16"),
    dims=CROSSED_SIZES,
    requires=lambda case: case.dims["N"] > 0 or "no sequences",
    arguments=CROSSED,
)
def packed_attention_query_offsets_wrong(q, k, v, cu_q, cu_k):
    """The keys of a sequence are taken from where its queries start."""
    out = torch.empty(q.shape, dtype=q.dtype)
    for i in range(len(cu_q) - 1):
        first, last, length = int(cu_q[i]), int(cu_q[i + 1]), int(cu_k[i + 1] - cu_k[i])
        start = min(first, k.shape[0] - length)
        scores = torch.einsum("qhd,khd->qhk", q[first:last].float(), k[start : start + length].float())
        p = torch.softmax(scores * q.shape[-1] ** -0.5, dim=-1)
        out[first:last] = torch.einsum("qhk,khd->qhd", p, v[start : start + length].float()).to(q.dtype)
    return out


packed_attention_query_offsets_wrong.reference("torch")(crossed_reference)
