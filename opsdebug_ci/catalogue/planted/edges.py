"""Defects at an edge: of a vector, of the inner dimension, of a mask, of the output."""

from __future__ import annotations

import math

import torch

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.catalogue.arithmetic import widen
from opsdebug_ci.catalogue.arrays import Array, in_extended, in_float64
from opsdebug_ci.catalogue.attention import attention_causal
from opsdebug_ci.catalogue.elementwise import FLOATS, SHAPE, add
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.catalogue.products import matmul

VECTOR = 8
BLOCK = 16


def _wrong_tail(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    left, right = widen(x).reshape(-1), widen(y).reshape(-1)
    out = torch.zeros_like(left)
    whole = left.numel() // VECTOR * VECTOR
    out[:whole] = left[:whole] + right[:whole]
    return out.reshape(x.shape).to(x.dtype)


def _right_tail(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    left, right = widen(x).reshape(-1), widen(y).reshape(-1)
    out = torch.zeros_like(left)
    whole = left.numel() // VECTOR * VECTOR
    out[:whole] = left[:whole] + right[:whole]
    out[whole:] = left[whole:] + right[whole:]
    return out.reshape(x.shape).to(x.dtype)


def _blocks(a: torch.Tensor, b: torch.Tensor, inner: int) -> torch.Tensor:
    left, right = widen(a), widen(b)
    total = left.new_zeros((a.shape[0], b.shape[1]))
    for start in range(0, inner, BLOCK):
        total += left[:, start : start + BLOCK] @ right[start : start + BLOCK]
    return total.to(a.dtype)


def _wrong_last_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _blocks(a, b, a.shape[1] // BLOCK * BLOCK)


def _right_last_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _blocks(a, b, a.shape[1])


def _masked_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, diagonal: int) -> torch.Tensor:
    scores = widen(q) @ widen(k).transpose(-1, -2) / math.sqrt(max(q.shape[-1], 1))
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)
    return (torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1) @ widen(v)).to(q.dtype)


def _wrong_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return _masked_attention(q, k, v, diagonal=2)


def _right_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return _masked_attention(q, k, v, diagonal=1)


def _wrong_unwritten(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    out.view(-1)[:-1] = (widen(x) + widen(y)).to(x.dtype).reshape(-1)[:-1]
    return out


def _right_unwritten(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    out.view(-1)[:] = (widen(x) + widen(y)).to(x.dtype).reshape(-1)
    return out


def _wrong_unwritten_out(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    out[..., :-1] = (widen(x) + widen(y)).to(x.dtype)[..., :-1]


def _right_unwritten_out(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    out[...] = (widen(x) + widen(y)).to(x.dtype)


def _sum_into(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> torch.Tensor:  # noqa: ARG001 - not read
    return torch.add(x, y)


def _sum_of_arrays(x: Array, y: Array, out: Array) -> Array:  # noqa: ARG001 - not read
    return x + y


ADD_INTO = Operator(
    "add_into",
    _right_unwritten_out,
    {
        "x": tensor(SHAPE),
        "y": tensor(SHAPE),
        "out": tensor(SHAPE, layouts=("contiguous", "transposed", "strided", "offset", "padded")),
    },
    {"torch": _sum_into, "naive": in_float64(_sum_of_arrays), "precise": in_extended(_sum_of_arrays)},
    kind="elementwise",
    dtypes=FLOATS,
    contract=Contract(out="out"),
    cost=add.cost_function,
)
"""x + y written to `out`; what both twins of `unwritten_out` are declared like."""

PLANTED = [
    plant(
        add,
        "tail",
        wrong=_wrong_tail,
        right=_right_tail,
        dtypes=FLOATS,
        dims={"B": 1, "S": 7, "H": 19},
    ),
    plant(
        matmul,
        "last_k",
        wrong=_wrong_last_k,
        right=_right_last_k,
        dtypes=FLOATS,
        dims={"M": 16, "K": 33, "N": 16},
    ),
    plant(
        attention_causal,
        "causal",
        wrong=_wrong_causal,
        right=_right_causal,
    ),
    plant(
        add,
        "unwritten",
        wrong=_wrong_unwritten,
        right=_right_unwritten,
        dtypes=FLOATS,
        dims={"B": 1, "S": 5, "H": 16},
    ),
    plant(
        ADD_INTO,
        "unwritten_out",
        wrong=_wrong_unwritten_out,
        right=_right_unwritten_out,
        dims={"B": 1, "S": 5, "H": 16},
    ),
]
