"""Losses over classes, with ignored targets and reductions."""

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor

HALVES = ("float32", "bfloat16")


def labels(ignored):
    def make(seed, dims, args):
        generator = np.random.default_rng(seed)
        targets = generator.integers(0, max(dims["C"], 1), size=dims["N"])
        if ignored:
            targets[generator.random(dims["N"]) < 0.25] = -100
        return targets

    return make


def some_class(case):
    return case.dims["C"] > 0 or "at least one class"


def log_sum_parts(logits, block=32):
    """Take each row's maximum and the logarithm of its sum of shifted exponentials, online over blocks of columns."""
    top = torch.full(logits.shape[:1], float("-inf"))
    total = torch.zeros(logits.shape[:1])
    for start in range(0, logits.shape[1], block):
        part = logits[:, start : start + block].float()
        new = torch.maximum(top, part.amax(1))
        total = total * torch.exp(top - new) + torch.exp(part - new.unsqueeze(1)).sum(1)
        top = new
    return top, torch.log(total)


def log_sum(logits, block=32):
    return sum(log_sum_parts(logits, block))


def log_softmax(logits):
    top, rest = log_sum_parts(logits, 16)
    return (logits.float() - top.unsqueeze(1)) - rest.unsqueeze(1)


# Cross entropy with ignore_index, mean over what is left.


def cross_entropy_reference(logits, target):
    return F.cross_entropy(logits, target, ignore_index=-100)


IGNORING = {
    "logits": tensor("N C", values="finite"),
    "target": tensor("N", dtype="int64", values=labels(True)),
}


@operator(kind="log_softmax", dtypes=HALVES, dims={"N": 24, "C": 50}, requires=some_class, arguments=IGNORING)
def loss_cross_entropy_right(logits, target):
    kept = target != -100
    picked = logits.gather(1, target.clamp(min=0).unsqueeze(1)).squeeze(1).float()
    top, rest = log_sum_parts(logits)
    losses = torch.where(kept, (top - picked) + rest, 0.0)
    return (losses.sum() / kept.sum()).to(logits.dtype)


loss_cross_entropy_right.reference("torch")(cross_entropy_reference)


@operator(kind="log_softmax", dtypes=HALVES, dims={"N": 24, "C": 50}, requires=some_class, arguments=IGNORING)
def loss_cross_entropy_count_wrong(logits, target):
    """Ignored rows are left out of the sum but counted in the mean."""
    kept = target != -100
    picked = logits.gather(1, target.clamp(min=0).unsqueeze(1)).squeeze(1).float()
    top, rest = log_sum_parts(logits)
    return torch.where(kept, (top - picked) + rest, 0.0).mean().to(logits.dtype)


loss_cross_entropy_count_wrong.reference("torch")(cross_entropy_reference)


# Cross entropy with label smoothing, unreduced.


def smoothing_reference(logits, target):
    return F.cross_entropy(logits, target, label_smoothing=0.1, reduction="none")


ALL_TARGETS = {
    "logits": tensor("N C", values="finite"),
    "target": tensor("N", dtype="int64", values=labels(False)),
}


@operator(kind="log_softmax", dims={"N": 16, "C": 12}, requires=some_class, arguments=ALL_TARGETS)
def loss_label_smoothing_right(logits, target):
    top, rest = log_sum_parts(logits, block=8)
    below = logits - top.unsqueeze(1)
    picked = below.gather(1, target.unsqueeze(1)).squeeze(1)
    return rest - 0.9 * picked - 0.1 * below.mean(1)


loss_label_smoothing_right.reference("torch")(smoothing_reference)


@operator(kind="log_softmax", dims={"N": 16, "C": 12}, requires=some_class, arguments=ALL_TARGETS)
def loss_label_smoothing_share_wrong(logits, target):
    """The smoothed mass goes to the other classes only, where the true class has its share of it too."""
    logp = log_softmax(logits)
    picked = logp.gather(1, target.unsqueeze(1)).squeeze(1)
    others = (logp.sum(1) - picked) / max(logits.shape[1] - 1, 1)
    return -0.9 * picked - 0.1 * others


loss_label_smoothing_share_wrong.reference("torch")(smoothing_reference)


# Weighted NLL.


def nll_reference(logp, target, weight):
    return F.nll_loss(logp, target, weight=weight)


def class_weights(seed, dims, args):
    return 0.5 + np.random.default_rng(seed).random(dims["C"])


NLL = {
    "logp": tensor("N C", values="finite"),
    "target": tensor("N", dtype="int64", values=labels(True)),
    "weight": tensor("C", values=class_weights),
}


@operator(kind="reduction", dims={"N": 40, "C": 10}, requires=some_class, arguments=NLL)
def loss_nll_weighted_right(logp, target, weight):
    rows = (target != -100).nonzero().squeeze(1)
    classes = target[rows]
    weights = weight[classes]
    return -torch.dot(logp[rows, classes], weights) / weights.sum()


loss_nll_weighted_right.reference("torch")(nll_reference)


@operator(kind="reduction", dims={"N": 40, "C": 10}, requires=some_class, arguments=NLL)
def loss_nll_weighted_mean_wrong(logp, target, weight):
    """The weighted sum is divided by the number of rows and not by the sum of their weights."""
    rows = (target != -100).nonzero().squeeze(1)
    classes = target[rows]
    return -(logp[rows, classes] * weight[classes]).mean()


loss_nll_weighted_mean_wrong.reference("torch")(nll_reference)


# KL divergence of two sets of logits, per batch.


def kl_reference(student, teacher):
    target = torch.log_softmax(teacher, -1)
    return F.kl_div(torch.log_softmax(student, -1), target, reduction="batchmean", log_target=True)


KL = {"student": tensor("N C", values="finite"), "teacher": tensor("N C", values="finite")}


@operator(kind="log_softmax", dims={"N": 10, "C": 40}, requires=some_class, arguments=KL)
def loss_kl_right(student, teacher):
    total = torch.zeros(())
    for start in range(0, student.shape[0], 4):
        q, p = log_softmax(teacher[start : start + 4]), log_softmax(student[start : start + 4])
        total = total + (torch.exp(q) * (q - p)).sum()
    return total / student.shape[0]


loss_kl_right.reference("torch")(kl_reference)


@operator(kind="log_softmax", dims={"N": 10, "C": 40}, requires=some_class, arguments=KL)
def loss_kl_reversed_wrong(student, teacher):
    """The divergence is taken in the other direction."""
    q, p = log_softmax(teacher), log_softmax(student)
    return (torch.exp(p) * (p - q)).sum() / student.shape[0]


loss_kl_reversed_wrong.reference("torch")(kl_reference)


# z-loss: the mean of the squared log partition function.


def z_reference(logits):
    return 1e-2 * torch.logsumexp(logits, dim=-1).square().mean()


@operator(kind="log_softmax", dtypes=HALVES, dims={"N": 12, "C": 70}, logits=tensor("N C", values="finite"))
def loss_z_right(logits):
    if not logits.numel():
        raise ValueError("z-loss needs logits")
    return (torch.dot(log_sum(logits), log_sum(logits)) * (1e-2 / logits.shape[0])).to(logits.dtype)


loss_z_right.reference("torch")(z_reference)


@operator(kind="log_softmax", dtypes=HALVES, dims={"N": 12, "C": 70}, logits=tensor("N C", values="finite"))
def loss_z_shift_wrong(logits):
    """The row maximum is subtracted for the exponentials and never added back."""
    if not logits.numel():
        raise ValueError("z-loss needs logits")
    shifted = logits.float() - logits.float().amax(1, keepdim=True)
    return (1e-2 * torch.log(torch.exp(shifted).sum(1)).square().mean()).to(logits.dtype)


loss_z_shift_wrong.reference("torch")(z_reference)


# InfoNCE within the batch.


def info_nce_reference(query, key):
    scores = F.normalize(query, dim=1) @ F.normalize(key, dim=1).t() / 0.2
    return F.cross_entropy(scores, torch.arange(query.shape[0]))


PAIRS = {"query": tensor("N H", values="finite"), "key": tensor("N H", values="finite")}


@operator(dims={"N": 20, "H": 16}, arguments=PAIRS)
def loss_info_nce_right(query, key):
    query = F.normalize(query, dim=1)
    key = F.normalize(key, dim=1)
    total = torch.zeros(())
    for start in range(0, query.shape[0], 8):
        scores = (query[start : start + 8] * 5.0) @ key.t()
        total = total + (log_sum(scores, 8) - torch.diagonal(scores, offset=start)).sum()
    return total / query.shape[0]


loss_info_nce_right.reference("torch")(info_nce_reference)


@operator(dims={"N": 20, "H": 16}, arguments=PAIRS)
def loss_info_nce_temperature_wrong(query, key):
    """The scores are divided by the square root of the temperature."""
    scores = F.normalize(query, dim=1) @ F.normalize(key, dim=1).t() / math.sqrt(0.2)
    return (torch.logsumexp(scores, 1) - scores.diagonal()).sum() / query.shape[0]


loss_info_nce_temperature_wrong.reference("torch")(info_nce_reference)
