"""Dense attention: plain, tiled with a running maximum, with sinks, soft caps and log-sum-exps."""

import math

import torch
from torch.nn import functional

from opsdebug_ci import operator, tensor

LOG2E = 1.4426950408889634
HALVES = ("float32", "float16", "bfloat16")
SIZES = {"B": 1, "H": 2, "S": 24, "T": 40, "D": 16}
QKV = {"q": tensor("B H S D"), "k": tensor("B H T D"), "v": tensor("B H T D")}


@operator(kind="attention", dtypes=HALVES, dims=SIZES, arguments=QKV)
def attention_math_right(q, k, v):
    scores = torch.matmul(q.float(), k.float().transpose(-1, -2)).mul_(1.0 / math.sqrt(q.shape[-1]))
    if scores.shape[-1]:
        scores = scores - scores.amax(-1, keepdim=True)
    weights = torch.exp(scores)
    return (torch.matmul(weights / weights.sum(-1, keepdim=True), v.float())).to(q.dtype)


@attention_math_right.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v)


@operator(kind="attention", dtypes=HALVES, dims=SIZES, arguments=QKV)
def attention_flash_right(q, k, v):
    block = 16
    q32 = q.float() * (LOG2E / math.sqrt(q.shape[-1]))
    top = q32.new_full((*q.shape[:-1], 1), -math.inf)
    total = torch.zeros_like(top)
    acc = torch.zeros_like(q32)
    for start in range(0, k.shape[2], block):
        scores = q32 @ k[:, :, start : start + block].float().transpose(2, 3)
        new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
        p = torch.exp2(scores - new_top)
        shrink = torch.exp2(top - new_top)
        total = total * shrink + p.sum(-1, keepdim=True)
        acc = acc * shrink + p @ v[:, :, start : start + block].float()
        top = new_top
    return (acc / torch.where(total == 0, 1.0, total)).to(q.dtype)


@attention_flash_right.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v)


@operator(kind="attention", dtypes=("float16", "bfloat16"), dims={"S": 20, "T": 50, "H": 2, "D": 32}, arguments=QKV)
def attention_flash_tiles_right(q, k, v):
    """Tiles over queries as well; sum and output are rescaled only when a maximum of the tile grew."""
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    scale = q.shape[-1] ** -0.5
    out = torch.empty_like(q)
    for row in range(0, q.shape[2], 8):
        queries = q[:, :, row : row + 8].float()
        top = torch.full(queries.shape[:-1], -math.inf)
        total = torch.zeros(queries.shape[:-1])
        acc = torch.zeros(queries.shape)
        for column in range(0, k.shape[2], 32):
            scores = torch.einsum("bhqd,bhkd->bhqk", queries, k[:, :, column : column + 32].float()) * scale
            new_top = torch.maximum(top, scores.amax(-1))
            if not torch.equal(new_top, top):
                shrink = torch.exp(top - new_top)
                total *= shrink
                acc *= shrink[..., None]
                top = new_top
            p = (scores - top[..., None]).exp_()
            total += p.sum(-1)
            acc += torch.einsum("bhqk,bhkd->bhqd", p, v[:, :, column : column + 32].float())
        out[:, :, row : row + 8] = (acc / total.masked_fill(total == 0, 1.0)[..., None]).to(out.dtype)
    return out


@attention_flash_tiles_right.reference("torch")
def _(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(scores, dim=-1) @ v


@operator(
    kind="attention",
    dtypes=HALVES,
    dims={"S": 12, "T": 28, "H": 3, "D": 16},
    q=tensor("B S H D"),
    k=tensor("B T H D"),
    v=tensor("B T H D"),
)
def attention_cross_right(q, k, v):
    """Tokens before heads; the decoder's queries on the encoder's keys, one head after another."""
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    for head in range(q.shape[2]):
        logits = torch.bmm(q[:, :, head].float(), k[:, :, head].float().transpose(1, 2)) * q.shape[-1] ** -0.5
        weights = torch.softmax(logits, dim=-1)
        out[:, :, head] = torch.bmm(weights, v[:, :, head].float()).to(q.dtype)
    return out


@attention_cross_right.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(
        1, 2
    )


@operator(kind={"out": "attention", "lse": "log_softmax"}, dtypes=HALVES, dims=SIZES, arguments=QKV)
def attention_with_lse_right(q, k, v):
    """Output and log-sum-exp of the scores, as the backward pass wants them."""
    scores = torch.baddbmm(
        torch.zeros(()),
        q.float().flatten(0, 1),
        k.float().flatten(0, 1).transpose(1, 2),
        beta=0,
        alpha=1.0 / math.sqrt(q.shape[-1]),
    ).unflatten(0, q.shape[:2])
    top = scores.amax(-1, keepdim=True)
    top = top.masked_fill(torch.isinf(top), 0.0)
    p = torch.exp(scores - top)
    total = p.sum(-1, keepdim=True)
    out = (p @ v.float()) / total
    return {"out": out.to(q.dtype), "lse": (top + torch.log(total)).squeeze(-1)}


@attention_with_lse_right.reference("torch")
def _(q, k, v):
    scores = q.float() @ k.float().transpose(-1, -2) / math.sqrt(q.shape[-1])
    return (torch.softmax(scores, -1) @ v.float()).to(q.dtype), torch.logsumexp(scores, -1)


@operator(kind="attention", dtypes=("float32", "bfloat16"), dims=SIZES, **QKV, cap=30.0)
def attention_softcap_right(q, k, v, cap):
    """Logits are squashed by cap * tanh(logits / cap), which bounds them, so that no maximum is needed."""
    logits = q.float() @ k.float().transpose(-1, -2)
    logits = cap * torch.tanh(logits / (math.sqrt(q.shape[-1]) * cap))
    p = torch.exp(logits)
    total = p.sum(-1, keepdim=True)
    return ((p @ v.float()) / total.masked_fill(total == 0, 1.0)).to(q.dtype)


@attention_softcap_right.reference("torch")
def _(q, k, v, cap):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return torch.softmax(cap * torch.tanh(scores / cap), -1) @ v


@operator(kind="attention", dtypes=("float32", "bfloat16"), dims=SIZES, **QKV, sink=tensor("H"))
def attention_sink_right(q, k, v, sink):
    """Each head has a learned logit that takes weight and gives nothing: it starts the running sum."""
    q32 = q.float() / math.sqrt(q.shape[-1])
    top = sink.float()[None, :, None].expand(q.shape[:-1])
    total = torch.ones(q.shape[:-1])
    acc = torch.zeros(q.shape)
    for keys, values in zip(k.split(16, dim=2), v.split(16, dim=2), strict=True):
        if keys.shape[2] == 0:
            break
        scores = torch.einsum("bhqd,bhkd->bhqk", q32, keys.float())
        new_top = torch.maximum(top, scores.amax(-1))
        p = torch.exp(scores - new_top[..., None])
        shrink = torch.exp(top - new_top)
        total = total * shrink + p.sum(-1)
        acc = acc * shrink[..., None] + torch.einsum("bhqk,bhkd->bhqd", p, values.float())
        top = new_top
    return (acc / total[..., None]).to(q.dtype)


@attention_sink_right.reference("torch")
def _(q, k, v, sink):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    column = sink[None, :, None, None].expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, column], -1), -1)[..., :-1] @ v


@operator(kind="attention", dtypes=HALVES, dims=SIZES, arguments=QKV)
def attention_no_rescale_wrong(q, k, v):
    """The output so far is not rescaled when the maximum grows; only the sum is."""
    q32 = q.float() / math.sqrt(q.shape[-1])
    top = q32.new_full((*q.shape[:-1], 1), -math.inf)
    total = torch.zeros_like(top)
    acc = torch.zeros_like(q32)
    for start in range(0, k.shape[2], 16):
        scores = q32 @ k[:, :, start : start + 16].float().transpose(2, 3)
        new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
        p = torch.exp(scores - new_top)
        total = total * torch.exp(top - new_top) + p.sum(-1, keepdim=True)
        acc = acc + p @ v[:, :, start : start + 16].float()
        top = new_top
    return (acc / torch.where(total == 0, 1.0, total)).to(q.dtype)


@attention_no_rescale_wrong.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v)


@operator(kind="attention", dtypes=("float32", "float16"), dims=SIZES, arguments=QKV)
def attention_padded_keys_wrong(q, k, v):
    """The last tile is padded with zero keys whose scores of 0 take part in the sum."""
    missing = -k.shape[2] % 16
    keys = functional.pad(k.float(), (0, 0, 0, missing))
    values = functional.pad(v.float(), (0, 0, 0, missing))
    scores = q.float() @ keys.transpose(-1, -2) * q.shape[-1] ** -0.5
    p = torch.exp(scores - scores.amax(-1, keepdim=True))
    return ((p @ values) / p.sum(-1, keepdim=True)).to(q.dtype)


@attention_padded_keys_wrong.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v)


@operator(kind="attention", dtypes=HALVES, dims={"H": 4, "S": 16, "T": 24, "D": 16}, arguments=QKV)
def attention_model_width_scale_wrong(q, k, v):
    """Scores are scaled by the root of the model's width (heads x head size) instead of the head's."""
    scale = 1.0 / math.sqrt(q.shape[1] * q.shape[-1])
    weights = torch.softmax(q.float() @ k.float().mT * scale, dim=-1)
    return (weights @ v.float()).to(q.dtype)


@attention_model_width_scale_wrong.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v)


@operator(kind="attention", dtypes=("float16", "bfloat16"), dims={"H": 2, "S": 8, "T": 256, "D": 16}, arguments=QKV)
def attention_narrow_accumulator_wrong(q, k, v):
    """The output is accumulated over the key tiles in the dtype of the arguments."""
    scores = q.float() @ k.float().mT * q.shape[-1] ** -0.5
    weights = torch.softmax(scores, dim=-1)
    step = max(4, -(-k.shape[2] // 64))
    acc = torch.zeros_like(q)
    for start in range(0, k.shape[2], step):
        acc += (weights[..., start : start + step] @ v[:, :, start : start + step].float()).to(q.dtype)
    return acc


@attention_narrow_accumulator_wrong.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v)
