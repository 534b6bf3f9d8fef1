"""Log-softmax, log-sum-exp and entropies, in tiles and along other axes."""

import math

import numpy as np
import torch
from torch.nn import functional

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


@operator(kind="log_softmax", dtypes=HALVES, dims={"S": 6, "H": 72}, x=tensor("S H", values="finite"))
def log_softmax_online_right(x):
    top = torch.full((x.shape[0], 1), -math.inf)
    total = torch.zeros(x.shape[0], 1)
    for tile in x.split(16, dim=1):
        if tile.shape[1] == 0:
            break
        new_top = torch.maximum(top, tile.amax(1, keepdim=True).float())
        total = total * torch.exp(top - new_top) + torch.exp(tile.float() - new_top).sum(1, keepdim=True)
        top = new_top
    return ((x.float() - top) - torch.log(total)).to(x.dtype)


@log_softmax_online_right.reference("torch")
def _(x):
    return functional.log_softmax(x, dim=-1)


@operator(kind="log_softmax", dtypes=("float32", "bfloat16"), dims={"N": 2, "C": 12, "L": 9}, x=tensor("N C L"))
def log_softmax_channels_right(x):
    """Over the channels of a segmentation map."""
    wide = x.float().movedim(1, -1).contiguous()
    shifted = wide - wide.max(-1, keepdim=True).values
    total = shifted.exp() @ torch.ones(x.shape[1], 1)
    return (shifted - total.log()).movedim(-1, 1).to(x.dtype)


@log_softmax_channels_right.reference("torch")
def _(x):
    return torch.log_softmax(x, dim=1)


@operator(kind="log_softmax", dtypes=HALVES, dims={"S": 8, "H": 90}, x=tensor("S H", values="finite"))
def log_softmax_logsumexp_right(x):
    """Halves are reduced by themselves and merged like a tree."""
    if x.shape[1] == 0:
        return torch.full((x.shape[0],), -math.inf, dtype=x.dtype)
    top, total = x.float(), torch.ones(x.shape)
    while top.shape[1] > 1:
        if top.shape[1] % 2:
            top, total = functional.pad(top, (0, 1), value=-math.inf), functional.pad(total, (0, 1))
        half = top.shape[1] // 2
        a, b = top[:, :half], top[:, half:]
        merged = torch.maximum(a, b)
        total = total[:, :half] * torch.exp(a - merged) + total[:, half:] * torch.exp(b - merged)
        top = merged
    return (top + total.log()).squeeze(1).to(x.dtype)


@log_softmax_logsumexp_right.reference("torch")
def _(x):
    return torch.logsumexp(x, dim=1)


@operator(
    kind="log_softmax",
    dtypes=("float32", "float16"),
    dims={"T": 20, "B": 3, "H": 5},
    x=tensor("T B H", values="finite"),
)
def log_softmax_leading_logsumexp_right(x):
    """Over the first axis, one step after another, as in a forward algorithm."""
    if x.shape[0] == 0:
        raise ValueError("no steps")
    top, total = x[0].float(), torch.ones(x.shape[1:])
    for step in x[1:].float():
        total = torch.where(step > top, torch.exp(top - step) * total + 1, total + torch.exp(step - top))
        top = torch.maximum(top, step)
    return (top + total.log()).to(x.dtype)


@log_softmax_leading_logsumexp_right.reference("torch")
def _(x):
    return torch.logsumexp(x, dim=0)


def entropy_reference(x):
    log_p = functional.log_softmax(x, dim=-1)
    return -(log_p.exp() * log_p).sum(-1)


@operator(kind="log_softmax", dtypes=HALVES, dims={"S": 6, "H": 64}, x=tensor("S H", values="finite"))
def log_softmax_entropy_right(x):
    """log Z + sum p (max - x): both terms are positive, so nothing cancels."""
    if x.shape[-1] == 0:
        return torch.zeros(x.shape[0], dtype=x.dtype)
    below = x.float().amax(-1, keepdim=True) - x.float()
    weights = torch.exp(-below)
    total = weights.sum(-1)
    moment = torch.where(weights > 0, weights * below, 0.0).sum(-1)
    return (torch.log(total) + moment / total).to(x.dtype)


log_softmax_entropy_right.reference("torch")(entropy_reference)


def classes(seed, dims, args):
    return np.random.default_rng(seed).integers(0, dims["C"], size=dims["N"])


PICKED = {"x": tensor("N C"), "target": tensor("N", dtype="int64", values=classes)}


@operator(
    kind="log_softmax",
    dtypes=HALVES,
    dims={"N": 8, "C": 50},
    requires=lambda case: case.dims["C"] > 0 or "no classes",
    arguments=PICKED,
)
def log_softmax_token_log_probability_right(x, target):
    """Only the target's log probability; the matrix of all is never made."""
    wide = x.float()
    top = wide.amax(-1)
    total = torch.zeros(x.shape[0])
    for tile in wide.split(16, dim=-1):
        total += torch.exp(tile - top[:, None]).sum(-1)
    return (wide.gather(-1, target[:, None]).squeeze(-1) - top - total.log()).to(x.dtype)


@log_softmax_token_log_probability_right.reference("torch")
def _(x, target):
    return functional.log_softmax(x, dim=-1)[torch.arange(len(target)), target]


@operator(kind="log_softmax", dtypes=("float32", "bfloat16"), dims={"S": 8, "H": 40}, x=tensor("S H"), y=tensor("S H"))
def log_softmax_divergence_right(x, y):
    """Kullback-Leibler divergence of two rows of logits, from differences of logits."""
    a, b = torch.log_softmax(x.float(), -1), torch.log_softmax(y.float(), -1)
    return torch.einsum("sh,sh->s", a.exp(), a - b).to(x.dtype)


@log_softmax_divergence_right.reference("torch")
def _(x, y):
    return functional.kl_div(
        functional.log_softmax(y, -1), functional.log_softmax(x, -1), reduction="none", log_target=True
    ).sum(-1)


@operator(kind="log_softmax", dtypes=HALVES, dims={"S": 6, "H": 72}, x=tensor("S H"))
def log_softmax_of_softmax_wrong(x):
    """The logarithm is taken of the probabilities, which underflow to 0 far below the maximum."""
    return torch.log(torch.softmax(x.float(), dim=-1)).to(x.dtype)


@log_softmax_of_softmax_wrong.reference("torch")
def _(x):
    return functional.log_softmax(x, dim=-1)


@operator(kind="log_softmax", dtypes=("float32", "float16"), dims={"S": 8, "H": 90}, x=tensor("S H", values="finite"))
def log_softmax_logsumexp_shift_wrong(x):
    """The maximum that was taken off is not added again."""
    if x.shape[1] == 0:
        return torch.full((x.shape[0],), -math.inf, dtype=x.dtype)
    return torch.exp(x.float() - x.float().amax(1, keepdim=True)).sum(1).log().to(x.dtype)


@log_softmax_logsumexp_shift_wrong.reference("torch")
def _(x):
    return torch.logsumexp(x, dim=1)


@operator(kind="log_softmax", dtypes=HALVES, dims={"S": 6, "H": 64}, x=tensor("S H", values="finite"))
def log_softmax_entropy_bits_wrong(x):
    """The entropy is in bits instead of nats."""
    log_p = torch.log_softmax(x.float(), dim=-1)
    return (-(log_p.exp() * log_p).sum(-1) / math.log(2)).to(x.dtype)


log_softmax_entropy_bits_wrong.reference("torch")(entropy_reference)


@operator(
    kind="log_softmax",
    dtypes=("float32", "bfloat16"),
    dims={"N": 8, "C": 50},
    requires=lambda case: case.dims["C"] > 0 or "no classes",
    arguments=PICKED,
)
def log_softmax_dropped_tail_wrong(x, target):
    """Only whole tiles of 16 classes are summed."""
    wide = x.float()
    top = wide.amax(-1)
    total = torch.zeros(x.shape[0])
    for start in range(0, x.shape[1] - 15, 16):
        total += torch.exp(wide[:, start : start + 16] - top[:, None]).sum(-1)
    return (wide.gather(-1, target[:, None]).squeeze(-1) - top - total.log()).to(x.dtype)


@log_softmax_dropped_tail_wrong.reference("torch")
def _(x, target):
    return functional.log_softmax(x, dim=-1)[torch.arange(len(target)), target]
