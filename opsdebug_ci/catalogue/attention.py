"""Scaled dot-product attention over heads, full and causal.

The causal mask is aligned at the top left: query i sees keys 0..i. Values are finite only: what a score of -inf
means (a NaN row or a zero row) differs between correct implementations. Attention to no keys is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from opsdebug_ci import Operator, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.cost import flops
from opsdebug_ci.catalogue.elementwise import FLOATS
from opsdebug_ci.catalogue.softmaxes import FLUSHES, log_softmax_rows, softmax_rows

TILE = 16
"""Keys per step."""


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """Online softmax over tiles of keys (Milakov & Gimelshein, arXiv:1805.02867, algorithm 3), rescaling as it goes."""
    query, keys, values = widen(q) / math.sqrt(max(q.shape[-1], 1)), widen(k), widen(v)
    peak = query.new_full((*q.shape[:-1], 1), -math.inf)
    weight = torch.zeros_like(peak)
    total = torch.zeros_like(query)
    for start in range(0, k.shape[-2], TILE):
        tile = slice(start, start + TILE)
        scores = query @ keys[..., tile, :].transpose(-1, -2)
        if causal:
            scores = scores.masked_fill(_future(scores, start), -math.inf)
        new_peak = torch.maximum(peak, scores.amax(dim=-1, keepdim=True))
        p, decay = torch.exp(scores - new_peak), torch.exp(peak - new_peak)
        weight = weight * decay + p.sum(dim=-1, keepdim=True)
        total = total * decay + p @ values[..., tile, :]
        peak = new_peak
    return (total / weight).to(q.dtype)


def _future(scores: torch.Tensor, start: int) -> torch.Tensor:
    """Which keys of the tile that begins at `start` lie after each query."""
    queries = torch.arange(scores.shape[-2], device=scores.device)
    keys = torch.arange(start, start + scores.shape[-1], device=scores.device)
    return keys > queries[:, None]


def _torch_reference(causal: bool) -> Callable[..., torch.Tensor]:
    def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return reference


def _array_reference(causal: bool, softmax: Callable[[Array], Array]) -> Callable[[Array, Array, Array], Array]:
    def reference(q: Array, k: Array, v: Array) -> Array:
        scores = np.einsum("bnsd,bntd->bnst", q, k) / math.sqrt(max(q.shape[-1], 1))
        if causal:
            seen = np.arange(k.shape[-2]) <= np.arange(q.shape[-2])[:, None]
            scores = np.where(seen, scores, -np.inf)
        result: Array = np.einsum("bnst,bntd->bnsd", softmax(scores), v)
        return result

    return reference


def _needs_keys(case: Any) -> bool | str:
    return case.dims["T"] > 0 or "attention to no keys is undefined"


def attention_operator(name: str, function: Callable[..., torch.Tensor], *, causal: bool) -> Operator:
    """Declare `function` as an attention operator with every reference."""
    return Operator(
        name,
        function,
        {
            "q": tensor("B N S D", values="finite"),
            "k": tensor("B N T D", values="finite"),
            "v": tensor("B N T D", values="finite"),
        },
        {
            "torch": _torch_reference(causal),
            "naive": in_float64(_array_reference(causal, softmax_rows)),
            "precise": in_extended(_array_reference(causal, lambda scores: np.exp(log_softmax_rows(scores)))),
        },
        kind="attention",
        dtypes=FLOATS,
        dims={"B": 1, "N": 2, "S": 32, "T": 32, "D": 16},
        contract=FLUSHES,
        requires=_needs_keys,
        cost=flops(4, "B N S T D"),
        devices=("cpu", "cuda"),
    )


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """softmax(q k^T / sqrt(D)) v."""
    return attend(q, k, v, causal=False)


def _attention_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The same with keys after the query masked out."""
    return attend(q, k, v, causal=True)


attention = attention_operator("attention", _attention, causal=False)
attention_causal = attention_operator("attention_causal", _attention_causal, causal=True)

OPERATORS = [attention, attention_causal]
