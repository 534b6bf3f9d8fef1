"""Moving rows by index: embedding, bags, gather, added rows and a cache written in place."""

from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import Contract, operator, tensor

HALVES = ("float32", "float16", "bfloat16")


def below(limit, *names):
    """Make indices below the dim `limit`."""

    def make(seed, dims, args):
        sizes = [dims[name] for name in names]
        return np.random.default_rng(seed).integers(0, max(dims[limit], 1), size=sizes)

    return make


# Embedding with a row for padding that reads as zeros.


def embedding_reference(table, ids):
    return table[ids] * (ids != 0).unsqueeze(-1).to(table.dtype)


TABLE = {"table": tensor("V H", values="finite"), "ids": tensor("B S", dtype="int64", values=below("V", "B", "S"))}


@operator(dtypes=HALVES, dims={"V": 20, "H": 24, "B": 2, "S": 9}, arguments=TABLE)
def index_embedding_padding_right(table, ids):
    flat = ids.reshape(-1)
    out = torch.zeros(flat.numel(), table.shape[1], dtype=table.dtype)
    rows = (flat != 0).nonzero().squeeze(1)
    out[rows] = table.index_select(0, flat[rows])
    return out.view(*ids.shape, table.shape[1])


index_embedding_padding_right.reference("torch")(embedding_reference)


@operator(dtypes=HALVES, dims={"V": 20, "H": 24, "B": 2, "S": 9}, arguments=TABLE)
def index_embedding_padding_wrong(table, ids):
    """The rows of the padding index are not cleared."""
    return F.embedding(ids, table)


index_embedding_padding_wrong.reference("torch")(embedding_reference)


# Bags of rows, given by offsets; an empty bag is zero.


def bag_offsets(seed, dims, args):
    cuts = np.random.default_rng(seed).integers(0, dims["L"], size=dims["B"], endpoint=True)
    cuts.sort()
    cuts[:1] = 0
    return cuts


def bag_reference(table, ids, offsets):
    return F.embedding_bag(ids, table, offsets, mode="mean")


BAG = {
    "table": tensor("V H"),
    "ids": tensor("L", dtype="int64", values=below("V", "L")),
    "offsets": tensor("B", dtype="int64", values=bag_offsets),
}


@operator(kind="reduction", dims={"V": 30, "H": 16, "L": 40, "B": 7}, arguments=BAG)
def index_embedding_bag_right(table, ids, offsets):
    ends = torch.cat([offsets[1:], torch.tensor([ids.numel()])])
    bag_of = torch.repeat_interleave(torch.arange(offsets.numel()), ends - offsets)
    total = torch.zeros(offsets.numel(), table.shape[1]).index_add_(0, bag_of, table[ids])
    return total / (ends - offsets).clamp(min=1).unsqueeze(1)


index_embedding_bag_right.reference("torch")(bag_reference)


@operator(kind="reduction", dims={"V": 30, "H": 16, "L": 40, "B": 7}, arguments=BAG)
def index_embedding_bag_last_wrong(table, ids, offsets):
    """The last bag ends one index early."""
    bounds = [*offsets.tolist(), ids.numel() - 1]
    bags = [table[ids[a:b]].sum(0) / max(b - a, 1) for a, b in pairwise(bounds)]
    return torch.stack(bags)


index_embedding_bag_last_wrong.reference("torch")(bag_reference)


# Rows added where indices say, several to one place.


def index_add_reference(base, index, rows):
    return base.index_add(0, index, rows)


ADD = {
    "base": tensor("V H"),
    "index": tensor("L", dtype="int64", values=below("V", "L")),
    "rows": tensor("L H"),
}


@operator(kind="reduction", dtypes=("float32", "bfloat16"), dims={"V": 10, "H": 12, "L": 33}, arguments=ADD)
def index_add_sorted_right(base, index, rows):
    out = base.float().clone()
    order = torch.argsort(index, stable=True)
    for place in index.unique().tolist():
        mine = order[index[order] == place]
        out[place] += rows[mine].float().sum(0)
    return out.to(base.dtype)


index_add_sorted_right.reference("torch")(index_add_reference)


@operator(kind="reduction", dtypes=("float32", "bfloat16"), dims={"V": 10, "H": 12, "L": 33}, arguments=ADD)
def index_add_duplicates_wrong(base, index, rows):
    """Of several rows for one place only the last is added."""
    out = base.float().clone()
    out[index] = out[index] + rows.float()
    return out.to(base.dtype)


index_add_duplicates_wrong.reference("torch")(index_add_reference)


# A cache written in place at given slots.


def slots(seed, dims, args):
    return np.random.default_rng(seed).permutation(dims["T"] + dims["P"])[: dims["T"]]


def cache_reference(cache, keys, slot):
    out = cache.clone()
    out[slot] = keys
    return out


CACHE = {
    "cache": tensor("T+P H"),
    "keys": tensor("T H"),
    "slot": tensor("T", dtype="int64", values=slots),
}


@operator(
    kind="exact",
    dtypes=("float32", "bfloat16"),
    dims={"T": 6, "P": 14, "H": 16},
    contract=Contract(mutates=("cache",)),
    arguments=CACHE,
)
def index_cache_write_right(cache, keys, slot):
    for row, place in enumerate(slot.tolist()):
        cache[place].copy_(keys[row])


index_cache_write_right.reference("torch")(cache_reference)


@operator(
    kind="exact",
    dtypes=("float32", "bfloat16"),
    dims={"T": 6, "P": 14, "H": 16},
    contract=Contract(mutates=("cache",)),
    arguments=CACHE,
)
def index_cache_write_copy_wrong(cache, keys, slot):
    """Indexing with a tensor makes a copy, and the keys are written to that."""
    cache[slot].copy_(keys)


index_cache_write_copy_wrong.reference("torch")(cache_reference)


# Gather along the last axis; one hot.


@operator(
    kind="exact",
    dtypes=HALVES,
    dims={"S": 8, "V": 18, "K": 5},
    x=tensor("S V"),
    ids=tensor("S K", dtype="int64", values=below("V", "S", "K")),
)
def index_gather_right(x, ids):
    flat = x.contiguous().view(-1)
    return flat[ids + torch.arange(x.shape[0]).unsqueeze(1) * x.shape[1]]


@index_gather_right.reference("torch")
def _(x, ids):
    return torch.gather(x, 1, ids)


def forty(seed, dims, args):
    return np.random.default_rng(seed).integers(0, 40, size=dims["N"])


@operator(kind="exact", dims={"N": 30}, ids=tensor("N", dtype="int64", values=forty), classes=40)
def index_one_hot_right(ids, classes):
    return (ids.unsqueeze(1) == torch.arange(classes)).to(torch.float32)


@index_one_hot_right.reference("torch")
def _(ids, classes):
    return F.one_hot(ids, classes).to(torch.float32)
