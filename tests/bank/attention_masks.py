"""Attention with masks and biases: causal, windows, ALiBi, additive and boolean masks, prefixes."""

import math

import torch
from torch.nn import functional

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")
SELF = dict.fromkeys("qkv", tensor("B H S D"))
CROSS = {"q": tensor("B H S D"), "k": tensor("B H T D"), "v": tensor("B H T D")}
SELF_SIZES = {"H": 2, "S": 40, "D": 16}
CROSS_SIZES = {"H": 2, "S": 24, "T": 36, "D": 16}


def tile_update(scores, values, top, total, acc):
    """One step of the running softmax; rows without any key yet have the maximum -inf."""
    new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
    base = torch.where(new_top == -math.inf, 0.0, new_top)
    p = torch.exp(scores - base)
    shrink = torch.exp(top - base)
    return new_top, total * shrink + p.sum(-1, keepdim=True), acc * shrink + p @ values.float()


def fresh(queries):
    total = torch.zeros(*queries.shape[:-1], 1)
    return torch.full_like(total, -math.inf), total, torch.zeros(queries.shape)


def finish(total, acc, dtype):
    return (acc / torch.where(total == 0, 1.0, total)).to(dtype)


def causal_tiles(q, k, v, reach, block=16):
    """Tiles above the diagonal are skipped; only those crossed by it are masked."""
    scale = q.shape[-1] ** -0.5
    out = torch.empty(q.shape, dtype=q.dtype)
    for row in range(0, q.shape[2], block):
        queries = q[:, :, row : row + block].float() * scale
        rows = torch.arange(row, row + queries.shape[2])[:, None]
        state = fresh(queries)
        for column in range(0, min(row + block, k.shape[2]), block):
            keys = k[:, :, column : column + block].float()
            scores = queries @ keys.mT
            if column + block > row:
                columns = torch.arange(column, column + keys.shape[2])[None, :]
                scores = scores.masked_fill(columns > rows + reach, -math.inf)
            state = tile_update(scores, v[:, :, column : column + block], *state)
        out[:, :, row : row + block] = finish(state[1], state[2], q.dtype)
    return out


@operator(kind="attention", dtypes=HALVES, dims=SELF_SIZES, arguments=SELF)
def attention_masks_causal_right(q, k, v):
    return causal_tiles(q, k, v, reach=0)


@attention_masks_causal_right.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@operator(
    kind="attention",
    dtypes=HALVES,
    dims={"H": 2, "S": 12, "P": 20, "D": 16},
    q=tensor("B H S D"),
    k=tensor("B H P+S D"),
    v=tensor("B H P+S D"),
)
def attention_masks_causal_with_past_right(q, k, v):
    """The last query sees all keys: the diagonal ends in the lower right corner. The past needs no mask."""
    past = k.shape[2] - q.shape[2]
    scale = q.shape[-1] ** -0.5
    state = fresh(q)
    queries = q.float() * scale
    for start in range(0, past, 16):
        stop = min(start + 16, past)
        state = tile_update(queries @ k[:, :, start:stop].float().mT, v[:, :, start:stop], *state)
    if q.shape[2]:
        hidden = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).triu(1)
        scores = (queries @ k[:, :, past:].float().mT).masked_fill(hidden, -math.inf)
        state = tile_update(scores, v[:, :, past:], *state)
    return finish(state[1], state[2], q.dtype)


@attention_masks_causal_with_past_right.reference("torch")
def _(q, k, v):
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def window_rows(q, k, v, window, past):
    """For each query only the keys of its window are read, as views that slide by one."""
    keys = functional.pad(k.float(), (0, 0, past, 0)).unfold(2, past + 1, 1)
    values = functional.pad(v.float(), (0, 0, past, 0)).unfold(2, past + 1, 1)
    scores = torch.einsum("bhsd,bhsdw->bhsw", q.float(), keys) / math.sqrt(q.shape[-1])
    outside = torch.arange(q.shape[2])[:, None] + torch.arange(past + 1)[None, :] < past
    p = torch.softmax(scores.masked_fill(outside, -math.inf), dim=-1)
    return torch.einsum("bhsw,bhsdw->bhsd", p, values.masked_fill(outside[:, None], 0.0)).to(q.dtype)


@operator(kind="attention", dtypes=("float32", "bfloat16"), dims=SELF_SIZES, **SELF, window=8)
def attention_masks_window_right(q, k, v, window):
    """A query sees itself and the window - 1 keys before it."""
    if q.shape[2] == 0:
        return torch.zeros_like(q)
    return window_rows(q, k, v, window, window - 1)


@attention_masks_window_right.reference("torch")
def _(q, k, v, window):
    distance = torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])[None, :]
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=(distance >= 0) & (distance < window))


@operator(kind="attention", dtypes=HALVES, dims={"H": 4, "S": 32, "D": 16}, arguments=SELF)
def attention_masks_alibi_right(q, k, v):
    """Causal with a bias linear in the distance, of slope 2^(-8 i / heads) for head i = 1, 2, ..."""
    heads, length = q.shape[1], q.shape[2]
    slopes = torch.tensor([2.0 ** (-8.0 * (head + 1) / heads) for head in range(heads)])
    out = torch.empty(q.shape, dtype=q.dtype)
    for row in range(0, length, 8):
        seen = min(row + 8, length)
        distance = torch.arange(row, seen)[:, None] - torch.arange(seen)[None, :]
        bias = (-slopes[:, None, None] * distance).masked_fill(distance < 0, -math.inf)
        scores = q[:, :, row:seen].float() @ k[:, :, :seen].float().mT * q.shape[-1] ** -0.5 + bias
        out[:, :, row:seen] = (torch.softmax(scores, -1) @ v[:, :, :seen].float()).to(q.dtype)
    return out


@attention_masks_alibi_right.reference("torch")
def _(q, k, v):
    heads, length = q.shape[1], q.shape[2]
    slopes = torch.tensor([2 ** (-8 * (i + 1) / heads) for i in range(heads)], dtype=q.dtype)
    distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + slopes[:, None, None] * distance
    return torch.softmax(scores.masked_fill(distance > 0, -math.inf), -1) @ v


@operator(kind="attention", dtypes=HALVES, dims=CROSS_SIZES, **CROSS, bias=tensor("H S T"))
def attention_masks_additive_right(q, k, v, bias):
    state = fresh(q)
    queries = q.float()
    for start in range(0, k.shape[2], 12):
        scores = queries @ k[:, :, start : start + 12].float().mT * (1 / math.sqrt(q.shape[-1]))
        state = tile_update(scores + bias[:, :, start : start + 12].float(), v[:, :, start : start + 12], *state)
    return finish(state[1], state[2], q.dtype)


@attention_masks_additive_right.reference("torch")
def _(q, k, v, bias):
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


@operator(kind="attention", dtypes=HALVES, dims=CROSS_SIZES, **CROSS, mask=tensor("B 1 S T", dtype="bool"))
def attention_masks_boolean_right(q, k, v, mask):
    """True takes part; a query without any key gives zeros."""
    scores = (q.float() @ k.float().mT) / math.sqrt(q.shape[-1])
    hidden = ~mask
    if k.shape[2] == 0:
        return torch.zeros_like(q)
    top = scores.masked_fill(hidden, -math.inf).amax(-1, keepdim=True)
    p = torch.exp(scores - top.masked_fill(top == -math.inf, 0.0)).masked_fill(hidden, 0.0)
    total = p.sum(-1, keepdim=True)
    return ((p @ v.float()) / total.masked_fill(total == 0, 1.0)).to(q.dtype)


@attention_masks_boolean_right.reference("torch")
def _(q, k, v, mask):
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@operator(kind="attention", dtypes=("float32", "bfloat16"), dims={"H": 2, "S": 30, "D": 16}, **SELF, prefix=10)
def attention_masks_prefix_right(q, k, v, prefix):
    """The first tokens see each other in both directions, the others are causal."""
    scores = torch.einsum("bhqd,bhkd->bhkq", q.float(), k.float()) * q.shape[-1] ** -0.5
    position = torch.arange(q.shape[2])
    hidden = (position[:, None] > position[None, :]) & (position[:, None] >= prefix)
    p = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=2)
    return torch.einsum("bhkq,bhkd->bhqd", p, v.float()).to(q.dtype)


@attention_masks_prefix_right.reference("torch")
def _(q, k, v, prefix):
    mask = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).tril()
    mask[:, :prefix] = True
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@operator(kind="attention", dtypes=HALVES, dims=SELF_SIZES, arguments=SELF)
def attention_masks_causal_one_ahead_wrong(q, k, v):
    """The comparison on the diagonal is off by one: a query sees the key after it, within its tile."""
    return causal_tiles(q, k, v, reach=1)


@attention_masks_causal_one_ahead_wrong.reference("torch")
def _(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@operator(
    kind="attention",
    dtypes=("float32", "float16"),
    dims={"H": 2, "S": 12, "P": 20, "D": 16},
    q=tensor("B H S D"),
    k=tensor("B H P+S D"),
    v=tensor("B H P+S D"),
)
def attention_masks_top_left_wrong(q, k, v):
    """With a past, the diagonal starts in the upper left corner, so that the newest keys are hidden."""
    scores = q.float() @ k.float().mT * q.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return (torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ v.float()).to(q.dtype)


@attention_masks_top_left_wrong.reference("torch")
def _(q, k, v):
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@operator(kind="attention", dtypes=("float32", "bfloat16"), dims=SELF_SIZES, **SELF, window=8)
def attention_masks_window_wrong(q, k, v, window):
    """A query sees window keys besides itself instead of window keys with itself."""
    if q.shape[2] == 0:
        return torch.zeros_like(q)
    return window_rows(q, k, v, window, window)


@attention_masks_window_wrong.reference("torch")
def _(q, k, v, window):
    distance = torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])[None, :]
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=(distance >= 0) & (distance < window))


@operator(kind="attention", dtypes=HALVES, dims={"H": 4, "S": 32, "D": 16}, arguments=SELF)
def attention_masks_alibi_slopes_wrong(q, k, v):
    """Slopes start with head 0, so that the first is 1 and each is 2^(8 / heads) times too steep."""
    heads, length = q.shape[1], q.shape[2]
    slopes = torch.tensor([2.0 ** (-8.0 * head / heads) for head in range(heads)])
    distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    bias = (-slopes[:, None, None] * distance).masked_fill(distance < 0, -math.inf)
    scores = q.float() @ k.float().mT * q.shape[-1] ** -0.5 + bias
    return (torch.softmax(scores, -1) @ v.float()).to(q.dtype)


@attention_masks_alibi_slopes_wrong.reference("torch")
def _(q, k, v):
    heads, length = q.shape[1], q.shape[2]
    slopes = torch.tensor([2 ** (-8 * (i + 1) / heads) for i in range(heads)], dtype=q.dtype)
    distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + slopes[:, None, None] * distance
    return torch.softmax(scores.masked_fill(distance > 0, -math.inf), -1) @ v


@operator(kind="attention", dtypes=("float32", "float16"), dims=CROSS_SIZES, **CROSS, bias=tensor("H S T"))
def attention_masks_bias_scaled_wrong(q, k, v, bias):
    """The bias is added before the scale, which shrinks it as well."""
    scores = (q.float() @ k.float().mT + bias.float()) * q.shape[-1] ** -0.5
    return (torch.softmax(scores, -1) @ v.float()).to(q.dtype)


@attention_masks_bias_scaled_wrong.reference("torch")
def _(q, k, v, bias):
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
