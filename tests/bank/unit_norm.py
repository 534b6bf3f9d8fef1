"""Norms of vectors: unit length, weight normalisation, query and key heads."""

import torch
from torch.nn import functional

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


HEADS = {"q": tensor("B S H D"), "k": tensor("B S 2 D"), "q_weight": tensor("D"), "k_weight": tensor("D")}


def heads_reference(q, k, q_weight, k_weight):
    return (
        functional.rms_norm(q, q.shape[-1:], q_weight, 1e-6),
        functional.rms_norm(k, k.shape[-1:], k_weight, 1e-6),
    )


@operator(kind="norm", dtypes=HALVES, dims={"B": 1, "S": 5, "H": 4, "D": 32}, arguments=HEADS)
def unit_norm_query_key_right(q, k, q_weight, k_weight):
    """Query and key heads are normalised together, with the weights of each."""
    heads = torch.cat([q, k], dim=2).float()
    weights = torch.cat([q_weight.float().expand(q.shape[2], -1), k_weight.float().expand(k.shape[2], -1)])
    normed = heads * torch.rsqrt(heads.square().mean(-1, keepdim=True) + 1e-6) * weights
    q_out, k_out = normed.to(q.dtype).split([q.shape[2], k.shape[2]], dim=2)
    return q_out, k_out


unit_norm_query_key_right.reference("torch")(heads_reference)


@operator(kind="norm", dtypes=HALVES, dims={"S": 7, "H": 40}, x=tensor("S H"))
def unit_norm_unit_length_right(x):
    """L2 normalisation; the lower bound of the length is a bound of the squared sum."""
    wide = x.float()
    squares = (wide * wide).sum(-1, keepdim=True)
    return (wide * torch.rsqrt(squares.clamp(min=1e-24))).to(x.dtype)


@unit_norm_unit_length_right.reference("torch")
def _(x):
    return functional.normalize(x, dim=-1)


@operator(kind="norm", dtypes=("float32", "bfloat16"), dims={"C": 12, "H": 20}, v=tensor("C H"), g=tensor("C"))
def unit_norm_weight_norm_right(v, g):
    """Weight normalisation: each row has length g."""
    wide = v.float()
    return (wide / torch.linalg.vector_norm(wide, dim=1, keepdim=True) * g.float()[:, None]).to(v.dtype)


@unit_norm_weight_norm_right.reference("torch")
def _(v, g):
    return g[:, None] * v / v.norm(dim=1, keepdim=True)


@operator(kind="norm", dtypes=HALVES, dims={"B": 1, "S": 5, "H": 4, "D": 32}, arguments=HEADS)
def unit_norm_shared_statistics_wrong(q, k, q_weight, k_weight):
    """The mean square is over all heads of a token instead of over each head."""

    def normed(x, weight):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean((-2, -1), keepdim=True) + 1e-6) * weight.float()).to(x.dtype)

    return normed(q, q_weight), normed(k, k_weight)


unit_norm_shared_statistics_wrong.reference("torch")(heads_reference)


@operator(kind="norm", dtypes=("float32", "bfloat16"), dims={"N": 2, "C": 12, "L": 10}, x=tensor("N C L"))
def unit_norm_channels_right(x):
    """L2 over the channels, which are not the last axis, with the reciprocal of a root per position."""
    wide = x.float()
    squares = torch.zeros(x.shape[0], x.shape[2])
    for channel in wide.unbind(1):
        squares = torch.addcmul(squares, channel, channel)
    return (wide / squares.sqrt().clamp(min=1e-12)[:, None]).to(x.dtype)


@unit_norm_channels_right.reference("torch")
def _(x):
    return functional.normalize(x, dim=1)


@operator(kind="norm", dtypes=("float32", "float16"), dims={"S": 7, "H": 40}, x=tensor("S H"), eps=1e-3)
def unit_norm_eps_added_wrong(x, eps):
    """Epsilon is added to the squared length instead of bounding the length from below."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + eps)).to(x.dtype)


@unit_norm_eps_added_wrong.reference("torch")
def _(x, eps):
    return functional.normalize(x, dim=-1, eps=eps)


@operator(kind="norm", dtypes=("float32", "bfloat16"), dims={"C": 12, "H": 20}, v=tensor("C H"), g=tensor("C"))
def unit_norm_weight_axis_wrong(v, g):
    """Lengths are of the columns instead of the rows."""
    wide = v.float()
    return (wide / torch.linalg.vector_norm(wide, dim=0) * g.float()[:, None]).to(v.dtype)


@unit_norm_weight_axis_wrong.reference("torch")
def _(v, g):
    return g[:, None] * v / v.norm(dim=1, keepdim=True)
