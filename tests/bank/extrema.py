"""Extrema with their places, any and all."""

import torch

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


def some_columns(case):
    return case.dims["H"] > 0 or "nothing to reduce"


# Extrema.


@operator(
    kind="exact",
    dtypes=("float32", "bfloat16"),
    dims={"S": 9, "H": 70},
    requires=some_columns,
    x=tensor("S H"),
)
def reduce_amax_right(x):
    best = torch.full((x.shape[0],), float("-inf"), dtype=x.dtype)
    for start in range(0, x.shape[1], 32):
        best = torch.maximum(best, torch.amax(x[:, start : start + 32], 1))
    return best


@reduce_amax_right.reference("torch")
def _(x):
    return x.amax(dim=1)


@operator(
    kind="elementwise",
    dtypes=("float32", "bfloat16"),
    dims={"S": 24, "H": 5},
    requires=some_columns,
    x=tensor("S H"),
)
def reduce_amax_padding_wrong(x):
    """The last block is padded with zeros, which win in rows of negative numbers."""
    padded = torch.nn.functional.pad(x, (0, -x.shape[1] % 32))
    return padded.view(x.shape[0], -1, 32).amax(-1).amax(-1)


@reduce_amax_padding_wrong.reference("torch")
def _(x):
    return x.amax(dim=1)


def first_largest(x):
    best = x.amax(dim=1, keepdim=True)
    return (x == best).to(torch.int64).argmax(dim=1)


@operator(
    kind="exact",
    dims={"S": 16, "H": 40},
    requires=some_columns,
    x=tensor("S H", values="finite"),
)
def reduce_argmax_first_right(x):
    rows, columns = x.shape
    best = torch.full((rows,), float("-inf"))
    place = torch.zeros(rows, dtype=torch.int64)
    for i in range(columns):
        better = x[:, i] > best
        best = torch.where(better, x[:, i], best)
        place = torch.where(better, i, place)
    return place


reduce_argmax_first_right.reference("torch")(first_largest)


@operator(
    kind="exact",
    dims={"S": 16, "H": 40},
    requires=some_columns,
    x=tensor("S H", values="finite"),
)
def reduce_argmax_last_wrong(x):
    """Among equal values the last one wins where the first is promised."""
    rows, columns = x.shape
    best = torch.full((rows,), float("-inf"))
    place = torch.zeros(rows, dtype=torch.int64)
    for i in range(columns):
        better = x[:, i] >= best
        best = torch.where(better, x[:, i], best)
        place = torch.where(better, i, place)
    return place


reduce_argmax_last_wrong.reference("torch")(first_largest)


@operator(
    kind={"out0": "exact", "out1": "index"},
    dims={"S": 12, "H": 50},
    requires=some_columns,
    x=tensor("S H", values="finite"),
)
def reduce_min_with_index_right(x):
    values, places = [], []
    for start in range(0, x.shape[1], 16):
        value, place = x[:, start : start + 16].min(1)
        values.append(value)
        places.append(place + start)
    values, places = torch.stack(values, 1), torch.stack(places, 1)
    winner = values.argmin(1, keepdim=True)
    return values.gather(1, winner).squeeze(1), places.gather(1, winner).squeeze(1)


@reduce_min_with_index_right.reference("torch")
def _(x):
    return torch.min(x, dim=1)


@operator(
    kind={"out0": "exact", "out1": "index"},
    dims={"S": 12, "H": 50},
    requires=some_columns,
    x=tensor("S H", values="finite"),
)
def reduce_min_with_index_block_wrong(x):
    """The index is that inside its block of sixteen; the start of the block is not added."""
    values, places = [], []
    for start in range(0, x.shape[1], 16):
        value, place = x[:, start : start + 16].min(1)
        values.append(value)
        places.append(place)
    values, places = torch.stack(values, 1), torch.stack(places, 1)
    winner = values.argmin(1, keepdim=True)
    return values.gather(1, winner).squeeze(1), places.gather(1, winner).squeeze(1)


@reduce_min_with_index_block_wrong.reference("torch")
def _(x):
    return torch.min(x, dim=1)


# Any and all.


@operator(kind="exact", dtypes=("bool",), dims={"S": 10, "H": 6}, x=tensor("S H"))
def reduce_any_all_right(x):
    counts = x.to(torch.int32).sum(1)
    return counts > 0, counts == x.shape[1]


@reduce_any_all_right.reference("torch")
def _(x):
    return x.any(dim=1), x.all(dim=1)
