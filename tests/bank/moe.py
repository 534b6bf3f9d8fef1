"""Mixture of experts: permutation of tokens, grouped products and capacity."""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor


def expert_ids(*names):
    def make(seed, dims, args):
        return np.random.default_rng(seed).integers(0, max(dims.get("E", 6), 1), size=[dims[name] for name in names])

    return make


def enough_experts(case):
    return case.dims["E"] >= 2 or "two experts are chosen"


# Tokens sorted by expert, and where each went.


@operator(
    kind="exact",
    dtypes=("float32", "bfloat16"),
    dims={"T": 24, "H": 16},
    x=tensor("T H"),
    experts=tensor("T", dtype="int64", values=expert_ids("T")),
)
def moe_permute_right(x, experts):
    counts = torch.bincount(experts, minlength=1)
    starts = torch.cumsum(counts, 0) - counts
    hot = (experts.unsqueeze(1) == torch.arange(counts.numel())).to(torch.int64)
    rank = (torch.cumsum(hot, 0) - hot).gather(1, experts.unsqueeze(1)).squeeze(1)
    place = starts[experts] + rank
    out = torch.empty(x.shape, dtype=x.dtype)
    out[place] = x
    return out, place


@moe_permute_right.reference("torch")
def _(x, experts):
    order = torch.sort(experts, stable=True).indices
    return x[order], torch.argsort(order)


# Back to the order of tokens, both copies of a token weighted and summed.


def unpermute_reference(rows, places, weights):
    out = torch.zeros(weights.shape[0], rows.shape[1], dtype=rows.dtype)
    for k in range(2):
        out = out + rows[places[:, k]] * weights[:, k : k + 1]
    return out


def slots(seed, dims, args):
    return np.random.default_rng(seed).permutation(2 * dims["T"]).reshape(dims["T"], 2)


UNPERMUTE = {
    "rows": tensor("2*T H"),
    "places": tensor("T 2", dtype="int64", values=slots),
    "weights": tensor("T 2"),
}


@operator(dtypes=("float32", "bfloat16"), dims={"T": 14, "H": 24}, arguments=UNPERMUTE)
def moe_unpermute_right(rows, places, weights):
    token_of = torch.empty(rows.shape[0], dtype=torch.int64)
    token_of[places.reshape(-1)] = torch.arange(rows.shape[0]) // 2
    weight_of = torch.empty(rows.shape[0])
    weight_of[places.reshape(-1)] = weights.reshape(-1).float()
    out = torch.zeros(weights.shape[0], rows.shape[1])
    out.index_add_(0, token_of, rows.float() * weight_of.unsqueeze(1))
    return out.to(rows.dtype)


moe_unpermute_right.reference("torch")(unpermute_reference)


@operator(dtypes=("float32", "bfloat16"), dims={"T": 14, "H": 24}, arguments=UNPERMUTE)
def moe_unpermute_overwrite_wrong(rows, places, weights):
    """The second expert of a token overwrites the first where both should be added."""
    out = torch.zeros(weights.shape[0], rows.shape[1], dtype=rows.dtype)
    for k in range(2):
        out.copy_(rows[places[:, k]].float() * weights[:, k : k + 1].float())
    return out


moe_unpermute_overwrite_wrong.reference("torch")(unpermute_reference)


# Rows sorted by expert, each group times its own matrix.


def group_ends(seed, dims, args):
    cuts = np.random.default_rng(seed).integers(0, dims["T"], size=max(dims["E"] - 1, 0), endpoint=True)
    return [*sorted(cuts.tolist()), dims["T"]][: dims["E"]]


def grouped_reference(x, ends, w):
    out, start = [], 0
    for expert, end in enumerate(ends.tolist()):
        out.append(x[start:end] @ w[expert])
        start = end
    return torch.cat(out)


GROUPED = {"x": tensor("T H"), "ends": tensor("E", dtype="int64", values=group_ends), "w": tensor("E H N")}


@operator(
    kind="matmul",
    dtypes=("float32", "float16", "bfloat16"),
    dims={"T": 28, "H": 24, "N": 12, "E": 4},
    requires=lambda case: case.dims["E"] > 0 or "at least one expert",
    arguments=GROUPED,
)
def moe_grouped_matmul_right(x, ends, w):
    out = torch.zeros(x.shape[0], w.shape[2], dtype=x.dtype)
    rows = torch.arange(x.shape[0])
    expert_of = torch.searchsorted(ends, rows, right=True)
    for start in range(0, x.shape[0], 8):
        tile, owner = x[start : start + 8].float(), expert_of[start : start + 8]
        for expert in owner.unique().tolist():
            mine = (owner == expert).nonzero().squeeze(1)
            out[start + mine] = (tile[mine] @ w[expert].float()).to(x.dtype)
    return out


moe_grouped_matmul_right.reference("torch")(grouped_reference)


@operator(
    kind="matmul",
    dtypes=("float32", "float16", "bfloat16"),
    dims={"T": 28, "H": 24, "N": 12, "E": 4},
    requires=lambda case: case.dims["E"] > 0 or "at least one expert",
    arguments=GROUPED,
)
def moe_grouped_matmul_tile_wrong(x, ends, w):
    """A tile of eight rows that straddles two groups uses the expert of its first row throughout."""
    out = torch.empty(x.shape[0], w.shape[2], dtype=x.dtype)
    for start in range(0, x.shape[0], 8):
        expert = int(torch.searchsorted(ends, torch.tensor([start]), right=True))
        out[start : start + 8] = (x[start : start + 8].float() @ w[expert].float()).to(x.dtype)
    return out


moe_grouped_matmul_tile_wrong.reference("torch")(grouped_reference)


# First come, first served: an expert takes so many tokens.


def capacity_reference(experts, capacity):
    taken, keep = {}, []
    for expert in experts.tolist():
        keep.append(taken.get(expert, 0) < capacity)
        taken[expert] = taken.get(expert, 0) + 1
    return torch.tensor(keep, dtype=torch.bool)


CAPACITY = {"experts": tensor("T", dtype="int64", values=expert_ids("T")), "capacity": 4}


@operator(kind="exact", dims={"T": 40}, arguments=CAPACITY)
def moe_capacity_mask_right(experts, capacity):
    order = torch.sort(experts, stable=True).indices
    ordered = experts[order]
    first = torch.searchsorted(ordered, ordered)
    keep = torch.empty(experts.shape, dtype=torch.bool)
    keep[order] = torch.arange(experts.numel()) - first < capacity
    return keep


moe_capacity_mask_right.reference("torch")(capacity_reference)


@operator(kind="exact", dims={"T": 40}, arguments=CAPACITY)
def moe_capacity_mask_one_more_wrong(experts, capacity):
    """The position counts from zero but is compared with <=, so an expert takes one token too many."""
    hot = F.one_hot(experts, 6).cumsum(0)
    position = hot.gather(1, experts.unsqueeze(1)).squeeze(1) - 1
    return position <= capacity


moe_capacity_mask_one_more_wrong.reference("torch")(capacity_reference)
