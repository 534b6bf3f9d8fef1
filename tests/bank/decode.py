"""Decoding: split keys with a log-sum-exp merge, grouped queries, pages, latent and int8 caches."""

import math

import numpy as np
import torch
from torch.nn import functional

from opsdebug_ci import operator, tensor

LOG2E = 1.4426950408889634
PAGE = 8
HALVES = ("float32", "float16", "bfloat16")
ONE_QUERY = {"q": tensor("B H D"), "k": tensor("B T H D"), "v": tensor("B T H D")}


def at_least_one(*names):
    return lambda case: all(case.dims[name] > 0 for name in names) or f"{', '.join(names)} must not be 0"


def partial_attention(q, k, v):
    """The normalised output of some keys, and the natural log-sum-exp of their scores."""
    scores = torch.einsum("bhd,bthd->bht", q.float(), k.float()) * q.shape[-1] ** -0.5
    lse = torch.logsumexp(scores, dim=-1)
    return torch.einsum("bht,bthd->bhd", torch.softmax(scores, dim=-1), v.float()), lse


@operator(kind="attention", dtypes=HALVES, dims={"H": 4, "T": 100, "D": 16}, **ONE_QUERY, splits=4)
def decode_split_kv_right(q, k, v, splits):
    if k.shape[1] == 0:
        raise ValueError("an empty cache")
    size = -(-k.shape[1] // splits)
    parts = [partial_attention(q, ks, vs) for ks, vs in zip(k.split(size, 1), v.split(size, 1), strict=True)]
    outs = torch.stack([out for out, _ in parts])
    lses = torch.stack([lse for _, lse in parts])
    weights = torch.exp(lses - lses.amax(0))
    merged = (outs * weights[..., None]).sum(0) / weights.sum(0)[..., None]
    return merged.to(q.dtype)


@decode_split_kv_right.reference("torch")
def _(q, k, v, splits):
    return functional.scaled_dot_product_attention(q.unsqueeze(2), k.transpose(1, 2), v.transpose(1, 2)).squeeze(2)


@operator(
    kind="attention",
    dtypes=HALVES,
    dims={"K": 2, "S": 6, "T": 30, "D": 16},
    q=tensor("B 4*K S D"),
    k=tensor("B K T D"),
    v=tensor("B K T D"),
)
def decode_grouped_query_right(q, k, v):
    """Queries that share a key head are folded into its rows, so that keys are not repeated."""
    batch, heads, length, width = q.shape
    if heads == 0:
        return torch.zeros_like(q)
    folded = q.reshape(batch, heads // 4, 4 * length, width).float()
    scores = folded @ k.float().transpose(2, 3)
    weights = torch.softmax(scores * (1 / math.sqrt(width)), dim=-1)
    return (weights @ v.float()).reshape(q.shape).to(q.dtype)


@decode_grouped_query_right.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k.repeat_interleave(4, dim=1), v.repeat_interleave(4, dim=1))


@operator(
    kind="attention",
    dtypes=HALVES,
    dims={"H": 4, "T": 48, "D": 32},
    q=tensor("B H D"),
    k=tensor("B T D"),
    v=tensor("B T D"),
)
def decode_multi_query_right(q, k, v):
    """All heads read the same keys, so one matrix product serves them; the softmax is online, in steps of 16 keys."""
    q32 = q.float() * (LOG2E / math.sqrt(q.shape[-1]))
    top = torch.full(q.shape[:2], -math.inf)
    total = torch.zeros(q.shape[:2])
    acc = torch.zeros(q.shape)
    for start in range(0, k.shape[1], 16):
        scores = torch.bmm(q32, k[:, start : start + 16].float().mT)
        new_top = torch.maximum(top, scores.amax(-1))
        p = torch.exp2(scores - new_top[..., None])
        shrink = torch.exp2(top - new_top)
        total = torch.addcmul(p.sum(-1), total, shrink)
        acc = torch.baddbmm(acc * shrink[..., None], p, v[:, start : start + 16].float())
        top = new_top
    return (acc / total.clamp(min=1e-30)[..., None]).to(q.dtype)


@decode_multi_query_right.reference("torch")
def _(q, k, v):
    return torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]), dim=-1) @ v


def pages_of(seed, dims, args):
    return np.random.default_rng(seed).integers(0, dims["P"], size=(dims["B"], dims["M"]))


def lengths_of(seed, dims, args):
    return np.random.default_rng(seed + 1).integers(1, PAGE * dims["M"], size=dims["B"], endpoint=True)


PAGED = {
    "q": tensor("B H D"),
    "k_pages": tensor("P 8 H D"),
    "v_pages": tensor("P 8 H D"),
    "table": tensor("B M", dtype="int64", values=pages_of),
    "lengths": tensor("B", dtype="int64", values=lengths_of),
}
PAGED_SIZES = {"B": 3, "H": 2, "D": 16, "P": 12, "M": 4}


def paged_reference(q, k_pages, v_pages, table, lengths):
    outs = []
    for i in range(q.shape[0]):
        k = k_pages[table[i]].flatten(0, 1)[: lengths[i]]
        v = v_pages[table[i]].flatten(0, 1)[: lengths[i]]
        outs.append(functional.scaled_dot_product_attention(q[i, :, None], k.transpose(0, 1), v.transpose(0, 1))[:, 0])
    return torch.stack(outs) if outs else torch.zeros_like(q)


@operator(kind="attention", dtypes=HALVES, dims=PAGED_SIZES, requires=at_least_one("P", "M"), arguments=PAGED)
def decode_paged_right(q, k_pages, v_pages, table, lengths):
    """Page by page over the whole batch; sequences that ended are masked."""
    top = torch.full(q.shape[:2], -math.inf)
    total = torch.zeros(q.shape[:2])
    acc = torch.zeros(q.shape)
    q32 = q.float() * q.shape[-1] ** -0.5
    for page in range(table.shape[1]):
        valid = (page * PAGE + torch.arange(PAGE))[None, :] < lengths[:, None]
        k = k_pages[table[:, page]].float()
        v = v_pages[table[:, page]].float().masked_fill(~valid[:, :, None, None], 0.0)
        scores = torch.einsum("bhd,bthd->bht", q32, k).masked_fill(~valid[:, None, :], -math.inf)
        new_top = torch.maximum(top, scores.amax(-1))
        p = torch.exp(scores - new_top[..., None])
        shrink = torch.exp(top - new_top)
        total = total * shrink + p.sum(-1)
        acc = acc * shrink[..., None] + torch.einsum("bht,bthd->bhd", p, v)
        top = new_top
    return (acc / total[..., None]).to(q.dtype)


decode_paged_right.reference("torch")(paged_reference)


STATES = {
    "left": tensor("B H D"),
    "left_lse": tensor("B H", dtype="float32", values="finite"),
    "right": tensor("B H D"),
    "right_lse": tensor("B H", dtype="float32", values="finite"),
}


@operator(
    kind={"out": "attention", "lse": "log_softmax"}, dtypes=HALVES, dims={"B": 4, "H": 4, "D": 16}, arguments=STATES
)
def decode_merge_states_right(left, left_lse, right, right_lse):
    """Two partial outputs over different keys become one."""
    top = torch.maximum(left_lse, right_lse)
    a, b = torch.exp(left_lse - top), torch.exp(right_lse - top)
    out = (left.float() * a[..., None] + right.float() * b[..., None]) / (a + b)[..., None]
    return {"out": out.to(left.dtype), "lse": top + torch.log1p(torch.exp(-torch.abs(left_lse - right_lse)))}


@decode_merge_states_right.reference("torch")
def _(left, left_lse, right, right_lse):
    lses = torch.stack([left_lse, right_lse])
    weights = torch.softmax(lses, dim=0)[..., None]
    return (left * weights[0] + right * weights[1]).to(left.dtype), torch.logsumexp(lses, dim=0)


@operator(
    kind="attention",
    dtypes=("float32", "bfloat16"),
    dims={"H": 4, "T": 32, "R": 32, "E": 8},
    q_latent=tensor("B H R"),
    q_rope=tensor("B H E"),
    latent=tensor("B T R"),
    k_rope=tensor("B T E"),
)
def decode_latent_right(q_latent, q_rope, latent, k_rope):
    """Multi-head latent attention, absorbed: the compressed cache is key and value, a few columns carry positions."""
    scores = torch.baddbmm(
        torch.bmm(q_rope.float(), k_rope.float().mT),
        q_latent.float(),
        latent.float().mT,
    )
    scores *= 1.0 / math.sqrt(q_latent.shape[-1] + q_rope.shape[-1])
    p = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (torch.bmm(p, latent.float()) / p.sum(-1, keepdim=True)).to(q_latent.dtype)


@decode_latent_right.reference("torch")
def _(q_latent, q_rope, latent, k_rope):
    q = torch.cat([q_latent, q_rope], -1)
    k = torch.cat([latent, k_rope], -1)
    return functional.scaled_dot_product_attention(q[:, None], k[:, None], latent[:, None])[:, 0]


INT8_CACHE = {
    "q": tensor("B H D"),
    "k": tensor("B T H D", dtype="int8"),
    "k_scale": tensor("B T H", dtype="float32", values="positive"),
    "v": tensor("B T H D", dtype="int8"),
    "v_scale": tensor("B T H", dtype="float32", values="positive"),
}


@operator(
    kind="attention", dtypes=("float32", "float16"), dims={"B": 2, "H": 2, "T": 40, "D": 16}, arguments=INT8_CACHE
)
def decode_int8_cache_right(q, k, k_scale, v, v_scale):
    """Scales are applied to scores and weights, never to the cache."""
    scores = torch.einsum("bhd,bthd->bht", q.float(), k.float()) * (k_scale.transpose(1, 2) / math.sqrt(q.shape[-1]))
    weights = torch.softmax(scores, dim=-1) * v_scale.transpose(1, 2)
    return torch.einsum("bht,bthd->bhd", weights, v.float()).to(q.dtype)


@decode_int8_cache_right.reference("torch")
def _(q, k, k_scale, v, v_scale):
    keys = k.float() * k_scale[..., None]
    values = v.float() * v_scale[..., None]
    weights = torch.softmax(torch.einsum("bhd,bthd->bht", q.float(), keys) / math.sqrt(q.shape[-1]), -1)
    return torch.einsum("bht,bthd->bhd", weights, values).to(q.dtype)


@operator(kind="attention", dtypes=HALVES, dims={"H": 4, "T": 100, "D": 16}, **ONE_QUERY, splits=4)
def decode_split_by_length_wrong(q, k, v, splits):
    """Parts are merged by how many keys they have instead of by their log-sum-exps."""
    size = max(1, -(-k.shape[1] // splits))
    parts = zip(k.split(size, 1), v.split(size, 1), strict=True)
    outs = [partial_attention(q, ks, vs)[0] * (ks.shape[1] / k.shape[1]) for ks, vs in parts]
    return torch.stack(outs).sum(0).to(q.dtype)


@decode_split_by_length_wrong.reference("torch")
def _(q, k, v, splits):
    return functional.scaled_dot_product_attention(q.unsqueeze(2), k.transpose(1, 2), v.transpose(1, 2)).squeeze(2)


@operator(
    kind="attention",
    dtypes=("float32", "bfloat16"),
    dims={"K": 2, "S": 6, "T": 30, "D": 16},
    q=tensor("B 4*K S D"),
    k=tensor("B K T D"),
    v=tensor("B K T D"),
)
def decode_group_mapping_wrong(q, k, v):
    """Query head h reads key head h modulo the number of key heads instead of h // 4."""
    k, v = k.float().repeat(1, 4, 1, 1), v.float().repeat(1, 4, 1, 1)
    weights = torch.softmax(q.float() @ k.mT * q.shape[-1] ** -0.5, dim=-1)
    return (weights @ v).to(q.dtype)


@decode_group_mapping_wrong.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k.repeat_interleave(4, dim=1), v.repeat_interleave(4, dim=1))


@operator(
    kind="attention", dtypes=("float32", "float16"), dims=PAGED_SIZES, requires=at_least_one("P", "M"), arguments=PAGED
)
def decode_whole_pages_wrong(q, k_pages, v_pages, table, lengths):
    """The last page of a sequence is read to its end, stale rows included."""
    out = torch.empty(q.shape, dtype=q.dtype)
    for i, length in enumerate(lengths.tolist()):
        pages = table[i, : -(-length // PAGE)]
        k, v = k_pages[pages].flatten(0, 1).float(), v_pages[pages].flatten(0, 1).float()
        weights = torch.softmax(torch.einsum("hd,thd->ht", q[i].float(), k) * q.shape[-1] ** -0.5, dim=-1)
        out[i] = torch.einsum("ht,thd->hd", weights, v).to(q.dtype)
    return out


decode_whole_pages_wrong.reference("torch")(paged_reference)


@operator(kind={"out": "attention", "lse": "log_softmax"}, dims={"B": 4, "H": 4, "D": 16}, arguments=STATES)
def decode_merge_base_wrong(left, left_lse, right, right_lse):
    """Natural logarithms are merged as if they were of base 2."""
    top = torch.maximum(left_lse, right_lse)
    a, b = torch.exp2(left_lse - top), torch.exp2(right_lse - top)
    out = (left.float() * a[..., None] + right.float() * b[..., None]) / (a + b)[..., None]
    return {"out": out.to(left.dtype), "lse": top + torch.log2(a + b)}


@decode_merge_base_wrong.reference("torch")
def _(left, left_lse, right, right_lse):
    lses = torch.stack([left_lse, right_lse])
    weights = torch.softmax(lses, dim=0)[..., None]
    return (left * weights[0] + right * weights[1]).to(left.dtype), torch.logsumexp(lses, dim=0)
