"""Softmax along any axis, online, with temperature, by segment, with one more in the denominator, and backward."""

import math
from itertools import pairwise

import numpy as np
import torch

from opsdebug_ci import operator, tensor

LOG2E = 1.4426950408889634
HALVES = ("float32", "float16", "bfloat16")


@operator(kind="softmax", dtypes=HALVES, dims={"S": 6, "H": 100}, x=tensor("S H"))
def softmax_online_right(x):
    """Maximum and sum in one pass over tiles of 32, in powers of two."""
    top = torch.full((x.shape[0], 1), -math.inf)
    total = torch.zeros(x.shape[0], 1)
    for start in range(0, x.shape[1], 32):
        tile = x[:, start : start + 32].float()
        new_top = torch.maximum(top, tile.amax(1, keepdim=True))
        shift = torch.where(new_top == -math.inf, 0.0, new_top)  # a tile may be masked entirely
        total = total * torch.exp2((top - shift) * LOG2E) + torch.exp2((tile - shift) * LOG2E).sum(1, keepdim=True)
        top = new_top
    return (torch.exp2((x.float() - top) * LOG2E) / total).to(x.dtype)


@softmax_online_right.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@operator(kind="softmax", dtypes=HALVES, dims={"B": 2, "S": 24, "H": 10}, x=tensor("B S H"))
def softmax_middle_axis_right(x):
    """Normalises over the middle axis, whose elements are apart: 8 of them at a time."""
    if x.shape[1] == 0:
        return torch.empty_like(x)
    wide = x.float()
    top = wide[:, 0]
    for part in wide.split(8, dim=1):
        top = torch.maximum(top, part.amax(1))
    p = (wide - top[:, None]).exp_()
    total = torch.zeros_like(top)
    for part in p.split(8, dim=1):
        total += part.sum(1)
    return (p / total[:, None]).to(x.dtype)


@softmax_middle_axis_right.reference("torch")
def _(x):
    return torch.softmax(x, dim=1)


@operator(kind="softmax", dtypes=HALVES, dims={"S": 6, "H": 50}, x=tensor("S H"), temperature=0.7)
def softmax_temperature_right(x, temperature):
    """Differences are divided, after the maximum was taken off."""
    lse = torch.logsumexp((x.float() - x.float().amax(-1, keepdim=True)) / temperature, dim=-1, keepdim=True)
    return torch.exp((x.float() - x.float().amax(-1, keepdim=True)) / temperature - lse).to(x.dtype)


@softmax_temperature_right.reference("torch")
def _(x, temperature):
    return torch.softmax(x / temperature, dim=-1)


@operator(kind="softmax", dtypes=("float32", "bfloat16"), dims={"S": 6, "H": 40}, x=tensor("S H"))
def softmax_plus_one_right(x):
    """The denominator has one more term, exp(0), so a row may sum to less than 1."""
    if x.shape[-1] == 0:
        return torch.empty_like(x)
    top = x.float().amax(-1, keepdim=True).clamp(min=0)
    p = torch.exp(x.float() - top)
    return (p / (p.sum(-1, keepdim=True) + torch.exp(-top))).to(x.dtype)


@softmax_plus_one_right.reference("torch")
def _(x):
    return torch.softmax(torch.cat([x, torch.zeros_like(x[:, :1])], -1), -1)[:, :-1]


def probabilities(seed, dims, args):
    logits = np.random.default_rng(seed).normal(size=(dims["S"], dims["H"]))
    weights = np.exp(logits)
    return weights / np.maximum(weights.sum(1, keepdims=True), 1e-30)


BACKWARD = {"gradient": tensor("S H"), "y": tensor("S H", values=probabilities)}


def backward_reference(gradient, y):
    return y * (gradient - (gradient * y).sum(-1, keepdim=True))


@operator(kind="softmax", dtypes=HALVES, dims={"S": 6, "H": 48}, arguments=BACKWARD)
def softmax_backward_right(gradient, y):
    """The row's sum is a dot product in tiles of 16."""
    dot = torch.zeros(y.shape[0], 1)
    for a, b in zip(gradient.split(16, dim=1), y.split(16, dim=1), strict=True):
        dot += torch.einsum("sh,sh->s", a.float(), b.float())[:, None]
    return ((gradient.float() - dot) * y.float()).to(y.dtype)


softmax_backward_right.reference("torch")(backward_reference)


def offsets(seed, dims, args):
    inner = np.random.default_rng(seed).integers(0, dims["T"], size=dims["N"] - 1, endpoint=True)
    return [0, *sorted(inner.tolist()), dims["T"]]


@operator(
    kind="softmax",
    dims={"T": 40, "N": 6, "H": 3},
    requires=lambda case: case.dims["N"] > 0 or "at least one segment",
    x=tensor("T H"),
    starts=tensor("N+1", dtype="int64", values=offsets),
)
def softmax_segments_right(x, starts):
    """Graph attention: edges of a node are normalised together, by scattered maxima and sums."""
    owner = torch.repeat_interleave(torch.arange(len(starts) - 1), starts.diff())
    index = owner[:, None].expand_as(x)
    shape = (len(starts) - 1, x.shape[1])
    top = torch.full(shape, -math.inf).scatter_reduce(0, index, x, "amax")
    p = torch.exp(x - top[owner])
    return p / torch.zeros(shape).scatter_add(0, index, p)[owner]


@softmax_segments_right.reference("torch")
def _(x, starts):
    return torch.cat([torch.softmax(x[a:b], dim=0) for a, b in pairwise(starts)])


@operator(kind="softmax", dtypes=HALVES, dims={"S": 6, "H": 100}, x=tensor("S H"))
def softmax_swapped_rescale_wrong(x):
    """The sum is rescaled by exp(new - old) instead of exp(old - new) when the maximum grows."""
    top = torch.full((x.shape[0], 1), -math.inf)
    total = torch.zeros(x.shape[0], 1)
    for start in range(0, x.shape[1], 32):
        tile = x[:, start : start + 32].float()
        new_top = torch.maximum(top, tile.amax(1, keepdim=True))
        if start:
            total = total * torch.exp(new_top - top)
        total = total + torch.exp(tile - new_top).sum(1, keepdim=True)
        top = new_top
    return (torch.exp(x.float() - top) / total).to(x.dtype)


@softmax_swapped_rescale_wrong.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@operator(kind="softmax", dtypes=("float32", "float16"), dims={"B": 2, "S": 24, "H": 10}, x=tensor("B S H"))
def softmax_last_for_middle_wrong(x):
    """The maximum is of the middle axis, the sum of the last."""
    p = torch.exp(x.float() - x.float().amax(1, keepdim=True))
    return (p / p.sum(-1, keepdim=True)).to(x.dtype)


@softmax_last_for_middle_wrong.reference("torch")
def _(x):
    return torch.softmax(x, dim=1)


@operator(kind="softmax", dtypes=HALVES, dims={"S": 6, "H": 64}, x=tensor("S H"))
def softmax_no_maximum_wrong(x):
    """Exponentials are taken of the values themselves and overflow from 89 on."""
    p = torch.exp(x.float())
    return (p / p.sum(-1, keepdim=True)).to(x.dtype)


@softmax_no_maximum_wrong.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@operator(kind="softmax", dtypes=HALVES, dims={"S": 6, "H": 50}, x=tensor("S H"), temperature=0.7)
def softmax_temperature_times_wrong(x, temperature):
    """Logits are multiplied by the temperature."""
    return torch.softmax(x.float() * temperature, dim=-1).to(x.dtype)


@softmax_temperature_times_wrong.reference("torch")
def _(x, temperature):
    return torch.softmax(x / temperature, dim=-1)


@operator(kind="softmax", dtypes=("float32", "float16"), dims={"S": 6, "H": 48}, arguments=BACKWARD)
def softmax_backward_unweighted_wrong(gradient, y):
    """The gradient is centred by its plain mean instead of the mean weighted by the probabilities."""
    g = gradient.float()
    return (y.float() * (g - g.mean(-1, keepdim=True))).to(y.dtype)


softmax_backward_unweighted_wrong.reference("torch")(backward_reference)
