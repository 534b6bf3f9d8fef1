"""Losses of single numbers and of pairs of vectors."""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor

HALVES = ("float32", "bfloat16")


# Binary cross entropy with logits.


def between_zero_and_one(seed, dims, args):
    return np.random.default_rng(seed).random((dims["N"], dims["C"]))


BINARY = {"x": tensor("N C", values="finite"), "y": tensor("N C", values=between_zero_and_one)}


@operator(kind="transcendental", dtypes=("float32", "float16"), dims={"N": 8, "C": 24}, arguments=BINARY)
def loss_bce_logits_right(x, y):
    wide = x.float()
    return (torch.clamp(wide, min=0) - wide * y.float() + torch.log1p(torch.exp(-wide.abs()))).to(x.dtype)


@loss_bce_logits_right.reference("torch")
def _(x, y):
    return F.binary_cross_entropy_with_logits(x, y, reduction="none")


@operator(kind="transcendental", dtypes=("float32", "float16"), dims={"N": 8, "C": 24}, arguments=BINARY)
def loss_bce_logits_unstable_wrong(x, y):
    """It takes logarithms of the sigmoid, which is 0 or 1 for large logits."""
    p = torch.sigmoid(x.float())
    return -(y.float() * torch.log(p) + (1 - y.float()) * torch.log(1 - p)).to(x.dtype)


@loss_bce_logits_unstable_wrong.reference("torch")
def _(x, y):
    return F.binary_cross_entropy_with_logits(x, y, reduction="none")


# Focal loss for hard binary targets.


@operator(
    kind="transcendental",
    dims={"N": 64},
    x=tensor("N", values="finite"),
    y=tensor("N", dtype="bool"),
)
def loss_focal_right(x, y):
    signed = torch.where(y, x, -x)
    alpha = torch.where(y, 0.25, 0.75)
    return alpha * torch.sigmoid(-signed).square() * F.softplus(-signed)


@loss_focal_right.reference("torch")
def _(x, y):
    y = y.to(x.dtype)
    p = torch.sigmoid(x)
    ce = F.binary_cross_entropy_with_logits(x, y, reduction="none")
    miss = p * (1 - y) + torch.sigmoid(-x) * y
    return (0.25 * y + 0.75 * (1 - y)) * ce * miss**2


# Huber.


def huber_reference(x, y):
    return F.huber_loss(x, y, delta=0.5, reduction="sum")


@operator(kind="reduction", dtypes=HALVES, dims={"N": 90}, x=tensor("N"), y=tensor("N"))
def loss_huber_right(x, y):
    gap = (x.float() - y.float()).abs()
    near = gap.clamp(max=0.5)
    return (near * (gap - 0.5 * near)).sum().to(x.dtype)


loss_huber_right.reference("torch")(huber_reference)


@operator(kind="reduction", dtypes=HALVES, dims={"N": 90}, x=tensor("N"), y=tensor("N"))
def loss_huber_delta_wrong(x, y):
    """The linear branch lacks the factor delta, as smooth L1 divides by it."""
    gap = (x.float() - y.float()).abs()
    return torch.where(gap < 0.5, 0.5 * gap * gap, gap - 0.25).sum().to(x.dtype)


loss_huber_delta_wrong.reference("torch")(huber_reference)


# Cosine embedding loss.


def pair_labels(seed, dims, args):
    return 2 * np.random.default_rng(seed).integers(0, 2, size=dims["N"]) - 1


COSINE = {
    "a": tensor("N H", values="finite"),
    "b": tensor("N H", values="finite"),
    "label": tensor("N", dtype="int64", values=pair_labels),
}


@operator(kind="norm", dims={"N": 16, "H": 20}, arguments=COSINE)
def loss_cosine_embedding_right(a, b, label):
    unit_a, unit_b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    cosine = torch.einsum("nh,nh->n", unit_a, unit_b)
    return torch.where(label == 1, 1 - cosine, torch.relu(cosine - 0.1))


@loss_cosine_embedding_right.reference("torch")
def _(a, b, label):
    cosine = (a * b).sum(1) / (a.norm(dim=1).clamp(min=1e-12) * b.norm(dim=1).clamp(min=1e-12))
    return torch.where(label > 0, 1 - cosine, (cosine - 0.1).clamp(min=0))
