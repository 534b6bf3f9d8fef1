"""Linear attention: feature maps, chunks with a carried state, and retention as a recurrence."""

import torch
from torch.nn import functional

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")
QKV = {"q": tensor("B H S D"), "k": tensor("B H T D"), "v": tensor("B H T D")}
SIZES = {"B": 1, "H": 2, "S": 24, "T": 40, "D": 16}


@operator(kind="attention", dtypes=("float32", "float16"), dims=SIZES, arguments=QKV)
def linear_attention_elu_right(q, k, v):
    """The feature map is elu + 1; keys and values are summed first, which makes the cost linear."""
    if k.shape[2] == 0:
        raise ValueError("linear attention needs at least one key")
    phi_q = torch.where(q > 0, q.float() + 1, torch.exp(q.float().clamp(max=0)))
    phi_k = torch.where(k > 0, k.float() + 1, torch.exp(k.float().clamp(max=0)))
    state = phi_k.transpose(2, 3) @ v.float()
    norm = phi_q @ phi_k.sum(2).unsqueeze(-1)
    return ((phi_q @ state) / norm).to(q.dtype)


@linear_attention_elu_right.reference("torch")
def _(q, k, v):
    weights = (functional.elu(q) + 1) @ (functional.elu(k) + 1).transpose(-1, -2)
    return (weights / weights.sum(-1, keepdim=True)) @ v


@operator(kind="attention", dims={"H": 2, "S": 40, "D": 8}, **dict.fromkeys("qkv", tensor("B H S D")))
def linear_attention_chunked_right(q, k, v):
    """Causal and without normalisation: a state is carried from chunk to chunk, within one the product is masked."""
    state = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    pieces = []
    for start in range(0, q.shape[2], 16):
        a, b, c = (x[:, :, start : start + 16] for x in (q, k, v))
        pieces.append(a @ state + (a @ b.mT).tril() @ c)
        state = state + b.mT @ c
    return torch.cat(pieces, dim=2) if pieces else torch.zeros_like(q)


@linear_attention_chunked_right.reference("torch")
def _(q, k, v):
    return (q @ k.mT).tril() @ v


def decays(seed, dims, args):
    return [1 - 2.0 ** (-2 - head) for head in range(dims["H"])]


DECAYED = {**dict.fromkeys("qkv", tensor("B H S D")), "decay": tensor("H", dtype="float32", values=decays)}


def decayed_reference(q, k, v, decay):
    position = torch.arange(q.shape[2])
    distance = position[:, None] - position[None, :]
    weights = torch.where(distance >= 0, decay[:, None, None] ** distance.clamp(min=0), 0.0)
    return ((q @ k.mT) * weights.to(q.dtype)) @ v


@operator(kind="attention", dtypes=("float32", "bfloat16"), dims={"H": 2, "S": 30, "D": 8}, arguments=DECAYED)
def linear_attention_retention_right(q, k, v, decay):
    """The recurrent form: one outer product per token, on a state that fades at a rate of each head."""
    state = torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    out = torch.empty(q.shape, dtype=q.dtype)
    for token in range(q.shape[2]):
        state = decay[:, None, None] * state + k[:, :, token, :, None].float() * v[:, :, token, None, :].float()
        out[:, :, token] = (q[:, :, token, None, :].float() @ state).squeeze(2)
    return out


linear_attention_retention_right.reference("torch")(decayed_reference)


@operator(kind="attention", dims={"H": 2, "S": 40, "D": 8}, **dict.fromkeys("qkv", tensor("B H S D")))
def linear_attention_chunk_state_wrong(q, k, v):
    """Each chunk begins with the state of the one before it alone, not of all before it."""
    state = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    pieces = []
    for start in range(0, q.shape[2], 16):
        a, b, c = (x[:, :, start : start + 16] for x in (q, k, v))
        pieces.append(a @ state + (a @ b.mT).tril() @ c)
        state = b.mT @ c
    return torch.cat(pieces, dim=2) if pieces else torch.zeros_like(q)


@linear_attention_chunk_state_wrong.reference("torch")
def _(q, k, v):
    return (q @ k.mT).tril() @ v


@operator(kind="attention", dtypes=("float32", "bfloat16"), dims={"H": 2, "S": 30, "D": 8}, arguments=DECAYED)
def linear_attention_decay_late_wrong(q, k, v, decay):
    """The token's own outer product fades as well, because the decay comes after the update."""
    state = torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    out = torch.empty(q.shape, dtype=q.dtype)
    for token in range(q.shape[2]):
        state = decay[:, None, None] * (state + k[:, :, token, :, None].float() * v[:, :, token, None, :].float())
        out[:, :, token] = (q[:, :, token, None, :].float() @ state).squeeze(2)
    return out


linear_attention_decay_late_wrong.reference("torch")(decayed_reference)
