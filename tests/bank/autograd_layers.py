"""Convolution, attention and embedding with hand-written backward passes."""

import numpy as np
import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor


class Conv1d(torch.autograd.Function):
    """Correlation without padding as a sum over the taps."""

    @staticmethod
    def forward(ctx, x, weight, flip):
        taps = weight.shape[2]
        ctx.save_for_backward(x, weight)
        ctx.flip = flip
        length = x.shape[2] - taps + 1
        return sum(torch.einsum("oc,ncl->nol", weight[:, :, t], x[:, :, t : t + length]) for t in range(taps))

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        taps, length = weight.shape[2], grad.shape[2]
        grad_x, grad_weight = torch.zeros_like(x), torch.zeros_like(weight)
        for t in range(taps):
            place = taps - 1 - t if ctx.flip else t
            grad_x[:, :, place : place + length] += torch.einsum("oc,nol->ncl", weight[:, :, t], grad)
            grad_weight[:, :, t] = torch.einsum("nol,ncl->oc", grad, x[:, :, t : t + length])
        return grad_x, grad_weight, None


@operator(
    kind="matmul",
    dims={"N": 2, "C": 4, "L": 20, "O": 5},
    requires=lambda case: (case.dims["L"] >= 3 and case.dims["C"] > 0 and case.dims["O"] > 0) or "nothing to convolve",
    backward=True,
    x=tensor("N C L"),
    weight=tensor("O C 3"),
)
def grad_conv1d_right(x, weight):
    return Conv1d.apply(x, weight, False)


@grad_conv1d_right.reference("torch")
def _(x, weight):
    return fn.conv1d(x, weight)


@operator(
    kind="matmul",
    dims={"N": 2, "C": 4, "L": 20, "O": 5},
    requires=lambda case: (case.dims["L"] >= 3 and case.dims["C"] > 0 and case.dims["O"] > 0) or "nothing to convolve",
    backward=True,
    x=tensor("N C L"),
    weight=tensor("O C 3"),
)
def grad_conv1d_flipped_twice_wrong(x, weight):
    """The input's gradient uses the kernel flipped once too often."""
    return Conv1d.apply(x, weight, True)


@grad_conv1d_flipped_twice_wrong.reference("torch")
def _(x, weight):
    return fn.conv1d(x, weight)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, scale_keys):
        scale = q.shape[-1] ** -0.5
        scores = (q * scale) @ k.mT
        largest = scores.amax(-1, keepdim=True)
        p = torch.exp(scores - largest)
        total = p.sum(-1, keepdim=True)
        out = (p @ v) / total
        ctx.save_for_backward(q, k, v, out, largest, total)
        ctx.scale, ctx.scale_keys = scale, scale_keys
        return out

    @staticmethod
    def backward(ctx, grad):
        # The probabilities are computed anew from the saved maxima and sums.
        q, k, v, out, largest, total = ctx.saved_tensors
        p = torch.exp((q * ctx.scale) @ k.mT - largest) / total
        delta = (grad * out).sum(-1, keepdim=True)
        grad_scores = p * (grad @ v.mT - delta)
        grad_k = grad_scores.mT @ q
        return grad_scores @ k * ctx.scale, grad_k * ctx.scale if ctx.scale_keys else grad_k, p.mT @ grad, None


QKV = {
    "q": tensor("B A S D", values="finite"),
    "k": tensor("B A K D", values="finite"),
    "v": tensor("B A K D", values="finite"),
}
SIZES = {"A": 2, "S": 10, "K": 12, "D": 16}


def some(case):
    return min(case.dims["K"], case.dims["D"]) > 0 or "no keys"


@operator(kind="attention", dims=SIZES, requires=some, backward=True, **QKV)
def grad_attention_right(q, k, v):
    return Attention.apply(q, k, v, True)


@grad_attention_right.reference("torch")
def _(q, k, v):
    return fn.scaled_dot_product_attention(q, k, v)


@operator(kind="attention", dims=SIZES, requires=some, backward=True, **QKV)
def grad_attention_keys_unscaled_wrong(q, k, v):
    """The keys' gradient lacks the factor 1 / sqrt(D)."""
    return Attention.apply(q, k, v, False)


@grad_attention_keys_unscaled_wrong.reference("torch")
def _(q, k, v):
    return fn.scaled_dot_product_attention(q, k, v)


class Embedding(torch.autograd.Function):
    @staticmethod
    def forward(ctx, ids, table, accumulate):
        ctx.save_for_backward(ids)
        ctx.rows, ctx.accumulate = table.shape[0], accumulate
        return table[ids]

    @staticmethod
    def backward(ctx, grad):
        (ids,) = ctx.saved_tensors
        table = grad.new_zeros(ctx.rows, grad.shape[-1])
        if ctx.accumulate:
            table.index_add_(0, ids, grad)
        else:
            table[ids] = grad
        return None, table, None


def token_ids(seed, dims, args):
    return np.random.default_rng(seed).integers(0, max(dims["V"], 1), size=dims["T"])


EMBEDDING = {"ids": tensor("T", dtype="int64", values=token_ids), "table": tensor("V H")}


@operator(
    kind="exact",
    dims={"T": 20, "V": 12, "H": 8},
    requires=lambda case: case.dims["V"] > 0 or "no rows",
    backward=True,
    **EMBEDDING,
)
def grad_embedding_right(ids, table):
    return Embedding.apply(ids, table, True)


@grad_embedding_right.reference("torch")
def _(ids, table):
    return fn.embedding(ids, table)


@operator(
    kind="exact",
    dims={"T": 20, "V": 12, "H": 8},
    requires=lambda case: case.dims["V"] > 0 or "no rows",
    backward=True,
    **EMBEDDING,
)
def grad_embedding_last_token_wrong(ids, table):
    """Of several tokens with one id, only the last contributes to the table's gradient."""
    return Embedding.apply(ids, table, False)


@grad_embedding_last_token_wrong.reference("torch")
def _(ids, table):
    return fn.embedding(ids, table)
