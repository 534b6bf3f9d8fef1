"""Softmax with masks: boolean, causal, by length, and with a bias."""

import math

import numpy as np
import torch

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


MASKED = {"x": tensor("B S H"), "mask": tensor("B S H", dtype="bool")}


def masked_reference(x, mask):
    return torch.softmax(x.masked_fill(~mask, -math.inf), dim=-1).masked_fill(~mask, 0.0)


@operator(kind="softmax", dtypes=HALVES, dims={"B": 1, "S": 8, "H": 30}, arguments=MASKED)
def masked_softmax_rows_right(x, mask):
    """True is kept; rows without any are zeros."""
    if x.shape[-1] == 0:
        return torch.empty_like(x)
    logits = torch.where(mask, x.float(), -math.inf)
    top = logits.amax(-1, keepdim=True)
    p = torch.where(mask, torch.exp(logits - torch.where(top == -math.inf, 0.0, top)), 0.0)
    total = p.sum(-1, keepdim=True)
    return (p / torch.where(mask.any(-1, keepdim=True), total, 1.0)).to(x.dtype)


masked_softmax_rows_right.reference("torch")(masked_reference)


@operator(kind="softmax", dtypes=("float16", "bfloat16"), dims={"B": 2, "S": 20}, x=tensor("B S S"), scale=0.25)
def masked_softmax_scaled_causal_right(x, scale):
    """Row i has i + 1 valid columns; the others are neither read nor computed, but set to 0."""
    out = torch.zeros(x.shape, dtype=x.dtype)
    for row in range(x.shape[1]):
        logits = x[:, row, : row + 1].float() * scale
        p = torch.exp(logits - logits.amax(-1, keepdim=True))
        out[:, row, : row + 1] = p / p.sum(-1, keepdim=True)
    return out


@masked_softmax_scaled_causal_right.reference("torch")
def _(x, scale):
    hidden = torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax((x * scale).masked_fill(hidden, -math.inf), dim=-1)


@operator(kind="softmax", dtypes=("float32", "bfloat16"), dims={"B": 1, "S": 8, "H": 30}, arguments=MASKED)
def masked_softmax_multiplied_wrong(x, mask):
    """Masked logits are multiplied by 0 before the exponential, so they take part in the sum."""
    p = torch.softmax(torch.where(mask, x.float(), 0.0), dim=-1)
    return p.masked_fill(~mask, 0.0).to(x.dtype)


masked_softmax_multiplied_wrong.reference("torch")(masked_reference)


@operator(
    kind="softmax",
    dtypes=("float32", "bfloat16"),
    dims={"B": 2, "S": 6, "H": 40},
    x=tensor("B S H"),
    bias=tensor("S H"),
    scale=0.125,
)
def masked_softmax_scale_bias_right(x, bias, scale):
    """Scaled logits and a bias that all batches share; two passes over tiles of 16."""
    top = torch.full(x.shape[:2], -math.inf)
    for start in range(0, x.shape[2], 16):
        part = slice(start, start + 16)
        top = torch.maximum(top, torch.add(bias[:, part].float(), x[..., part].float(), alpha=scale).amax(-1))
    p = torch.exp(torch.add(bias.float(), x.float(), alpha=scale) - top[..., None])
    return (p / p.sum(-1, keepdim=True)).to(x.dtype)


@masked_softmax_scale_bias_right.reference("torch")
def _(x, bias, scale):
    return torch.softmax(x * scale + bias, dim=-1)


def lengths_of(seed, dims, args):
    return np.random.default_rng(seed).integers(0, dims["H"], size=dims["S"], endpoint=True)


PREFIXES = {"x": tensor("S H"), "lengths": tensor("S", dtype="int64", values=lengths_of)}


@operator(kind="softmax", dtypes=HALVES, dims={"S": 8, "H": 24}, arguments=PREFIXES)
def masked_softmax_lengths_right(x, lengths):
    """Rows are padded; each is normalised over its valid columns alone."""
    out = torch.zeros(x.shape, dtype=x.dtype)
    for row, length in enumerate(lengths.tolist()):
        if length:
            logits = x[row, :length].float()
            p = torch.exp(logits - logits.max())
            out[row, :length] = p / p.sum()
    return out


@masked_softmax_lengths_right.reference("torch")
def _(x, lengths):
    hidden = torch.arange(x.shape[1])[None, :] >= lengths[:, None]
    return torch.softmax(x.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)


@operator(kind="softmax", dtypes=("float32", "float16"), dims={"S": 8, "H": 24}, arguments=PREFIXES)
def masked_softmax_stale_padding_wrong(x, lengths):
    """Padding is not set to 0 but holds the exponentials of its logits."""
    hidden = torch.arange(x.shape[1])[None, :] >= lengths[:, None]
    logits = x.float().masked_fill(hidden, -math.inf)
    top = torch.where(lengths[:, None] > 0, logits.amax(-1, keepdim=True), 0.0)
    p = torch.exp(x.float() - top)
    total = p.masked_fill(hidden, 0.0).sum(-1, keepdim=True)
    return (p / torch.where(total == 0, 1.0, total)).to(x.dtype)


@masked_softmax_stale_padding_wrong.reference("torch")
def _(x, lengths):
    hidden = torch.arange(x.shape[1])[None, :] >= lengths[:, None]
    return torch.softmax(x.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)


@operator(kind="softmax", dims={"B": 2, "S": 20}, x=tensor("B S S"), scale=0.25)
def masked_softmax_causal_scale_late_wrong(x, scale):
    """Probabilities are scaled instead of logits."""
    hidden = torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)
    p = torch.softmax(x.masked_fill(hidden, -math.inf), dim=-1) * scale
    return p / p.sum(-1, keepdim=True)


@masked_softmax_causal_scale_late_wrong.reference("torch")
def _(x, scale):
    hidden = torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax((x * scale).masked_fill(hidden, -math.inf), dim=-1)
