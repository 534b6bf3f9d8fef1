"""Gates of a mixture of experts, and the loss that balances them."""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import Contract, operator, tensor


def expert_ids(*names):
    def make(seed, dims, args):
        return np.random.default_rng(seed).integers(0, max(dims.get("E", 6), 1), size=[dims[name] for name in names])

    return make


def enough_experts(case):
    return case.dims["E"] >= 2 or "two experts are chosen"


# Softmax over the two largest; as dense weights, zero where an expert was not chosen.


def top2_reference(logits):
    top, order = torch.sort(logits, dim=-1, descending=True, stable=True)
    return torch.zeros_like(logits).scatter(-1, order[:, :2], torch.softmax(top[:, :2], dim=-1))


@operator(
    kind="softmax",
    dtypes=("float32", "bfloat16"),
    dims={"T": 20, "E": 8},
    requires=enough_experts,
    logits=tensor("T E", values="finite"),
)
def moe_top2_gate_right(logits):
    wide = logits.float()
    order = torch.argsort(wide, dim=-1, descending=True, stable=True)
    chosen = order[:, :2]
    top = wide.gather(-1, chosen)
    ratio = torch.exp(top[:, 1:] - top[:, :1])  # at most one
    first = 1 / (1 + ratio)
    weights = torch.cat([first, ratio * first], dim=-1).to(logits.dtype)
    return torch.zeros(logits.shape, dtype=logits.dtype).scatter_(-1, chosen, weights)


moe_top2_gate_right.reference("torch")(top2_reference)


@operator(
    kind="softmax",
    dtypes=("float32", "bfloat16"),
    dims={"T": 20, "E": 8},
    requires=enough_experts,
    logits=tensor("T E", values="finite"),
)
def moe_top2_gate_unnormalised_wrong(logits):
    """The two probabilities are not renormalised to sum to one."""
    top, chosen = torch.topk(torch.softmax(logits.float(), dim=-1), 2, dim=-1)
    return torch.zeros_like(logits).scatter_(-1, chosen, top.to(logits.dtype))


moe_top2_gate_unnormalised_wrong.reference("torch")(top2_reference)


# The gate that returns weights and expert numbers.


@operator(
    kind={"weights": "softmax", "experts": "index"},
    dims={"T": 20, "E": 12},
    requires=lambda case: case.dims["E"] >= 3 or "three experts are chosen",
    contract=Contract(index=("logits", -1)),
    logits=tensor("T E", values="finite"),
)
def moe_top3_weights_right(logits):
    work = logits.clone()
    values, experts = [], []
    for _ in range(3):  # a maximum at a time, as a warp does it
        value, expert = work.max(dim=-1, keepdim=True)
        values.append(value)
        experts.append(expert)
        work.scatter_(-1, expert, float("-inf"))
    values = torch.cat(values, -1)
    powers = torch.exp2((values - values[:, :1]) * 1.4426950408889634)
    return {"weights": powers / powers.sum(-1, keepdim=True), "experts": torch.cat(experts, -1)}


@moe_top3_weights_right.reference("torch")
def _(logits):
    top, experts = torch.topk(logits, 3, dim=-1)
    return torch.softmax(top, dim=-1), experts


# Sigmoid scores; a bias takes part in the choice, not in the weights.


def sigmoid_reference(logits, bias):
    scores = torch.sigmoid(logits)
    chosen = torch.argsort(scores + bias, dim=-1, descending=True, stable=True)[:, :2]
    weights = scores.gather(-1, chosen)
    weights = 2.5 * weights / (weights.sum(-1, keepdim=True) + 1e-20)
    return torch.zeros_like(scores).scatter(-1, chosen, weights)


def spread_bias(seed, dims, args):
    return np.random.default_rng(seed).normal(0, 0.3, size=dims["E"]).astype(np.float32)


SIGMOID = {"logits": tensor("T E", values="finite"), "bias": tensor("E", values=spread_bias)}


@operator(dims={"T": 16, "E": 8}, requires=enough_experts, arguments=SIGMOID)
def moe_sigmoid_routing_right(logits, bias):
    out = torch.zeros(logits.shape)
    for start in range(0, logits.shape[0], 8):
        scores = 1 / (1 + torch.exp(-logits[start : start + 8]))
        order = torch.argsort(scores + bias, dim=-1, descending=True, stable=True)
        first, second = order[:, 0:1], order[:, 1:2]
        a, b = scores.gather(-1, first), scores.gather(-1, second)
        total = (a + b + 1e-20) / 2.5
        out[start : start + 8].scatter_(-1, first, a / total).scatter_(-1, second, b / total)
    return out


moe_sigmoid_routing_right.reference("torch")(sigmoid_reference)


@operator(dims={"T": 16, "E": 8}, requires=enough_experts, arguments=SIGMOID)
def moe_sigmoid_routing_bias_wrong(logits, bias):
    """The correction bias leaks from the choice into the weights."""
    top, chosen = torch.topk(torch.sigmoid(logits) + bias, 2, dim=-1)
    return torch.zeros_like(logits).scatter_(-1, chosen, 2.5 * top / (top.sum(-1, keepdim=True) + 1e-20))


moe_sigmoid_routing_bias_wrong.reference("torch")(sigmoid_reference)


# Load balance: experts * sum over experts of (share of tokens) * (mean probability).


def balance_reference(logits, experts):
    count = logits.shape[1]
    share = F.one_hot(experts, count).to(logits.dtype).mean(0)
    return count * (share * torch.softmax(logits, -1).mean(0)).sum()


BALANCE = {
    "logits": tensor("T E", values="finite"),
    "experts": tensor("T", dtype="int64", values=expert_ids("T")),
}


@operator(kind="softmax", dims={"T": 32, "E": 6}, arguments=BALANCE)
def moe_load_balance_loss_right(logits, experts):
    tokens, count = logits.shape
    powers = torch.exp(logits - logits.amax(-1, keepdim=True))
    probability_sum = (powers / powers.sum(-1, keepdim=True)).sum(0)
    tokens_per_expert = torch.zeros(count).index_add_(0, experts, torch.ones(tokens))
    return torch.dot(tokens_per_expert, probability_sum) * count / max(tokens, 1) ** 2 if tokens else logits.sum() / 0


moe_load_balance_loss_right.reference("torch")(balance_reference)


@operator(kind="softmax", dims={"T": 32, "E": 6}, arguments=BALANCE)
def moe_load_balance_loss_scale_wrong(logits, experts):
    """The factor of the number of experts is missing, as the mean over experts replaces their sum."""
    count = logits.shape[1]
    share = F.one_hot(experts, count).float().mean(0)
    return count * (share * torch.softmax(logits, -1).mean(0)).mean()


moe_load_balance_loss_scale_wrong.reference("torch")(balance_reference)
