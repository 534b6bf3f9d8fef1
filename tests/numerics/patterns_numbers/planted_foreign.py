"""Failures of other kinds, about which rules of numbers have nothing to say: position, order, scale, missing writes."""

from __future__ import annotations

import torch
from numbers_notation import integers, normal
from numbers_planted import FOREIGN, plant
from planted_precision import product, softmax, sums
from planted_semantics import B, W, layer_norm, mean_square, scaled_rows
from torch.nn import functional


def foreign(name, kind, wrong, right, **arguments) -> None:
    plant(name, FOREIGN, "", kind, wrong, right, **arguments)


def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def changed(function, index, value):
    """`function`, with a part of its output overwritten."""

    def wrong(x: torch.Tensor) -> torch.Tensor:
        output = function(x).clone()
        output[index] = value
        return output

    return wrong


def attention(scale):
    return lambda q, k, v: softmax(q @ k.T * scale) @ v


ALL = slice(None)
SQUARE = normal(64, 64)
LEFT, RIGHT = normal(64, 256), normal(256, 64, seed=1)
HEADS = {"q": normal(32, 16), "k": normal(32, 16, seed=1), "v": normal(32, 16, seed=2)}
foreign("last k dropped", "matmul", lambda a, b: a[:, :-1] @ b[:-1], product, a=LEFT, b=RIGHT)
foreign("block of k dropped", "matmul", lambda a, b: a[:, :-16] @ b[:-16], product, a=LEFT, b=RIGHT)
foreign("last term dropped", "reduction", lambda x: x[:, :-1].sum(-1), sums, x=normal(64, 257))
foreign("padded mean", "reduction", lambda x: x.sum(-1) / 256, lambda x: x.mean(-1), x=normal(64, 257))
foreign("tail not computed", "elementwise", changed(twice, (ALL, slice(56, None)), 0.0), twice, x=normal(16, 61))
foreign("tail of exp", "transcendental", changed(torch.exp, (ALL, slice(56, None)), 0.0), torch.exp, x=normal(16, 61))
foreign("lane", "elementwise", changed(twice, (ALL, slice(3, None, 4)), 0.5), twice, x=SQUARE)
foreign("transposed", "elementwise", lambda x: (x * 2).t().contiguous(), twice, x=SQUARE)
foreign("scale", "elementwise", lambda x: x * 2.01, twice, x=SQUARE)
foreign("scale of attention", "attention", attention(1 / 16), attention(1 / 4), **HEADS)
foreign("half unwritten", "elementwise", changed(twice, slice(32, None), 0.0), twice, x=SQUARE)
foreign("garbage", "elementwise", changed(twice, slice(10, 14), normal(4, 64, seed=8) * 1e20), twice, x=SQUARE)
foreign("one element", "elementwise", changed(twice, (3, 4), 7.5), twice, x=SQUARE)
foreign("stale row", "softmax", changed(softmax, 5, softmax(SQUARE)[4]), softmax, x=SQUARE)
foreign("zero row", "softmax", changed(softmax, -1, 0.0), softmax, x=SQUARE)
foreign("broadcast along rows", "elementwise", lambda x, b: x + b[:, None], torch.add, x=SQUARE, b=W)
foreign("wrong axis", "softmax", lambda x: torch.softmax(x, 0), softmax, x=SQUARE)
foreign("shifted", "exact", lambda x: x.roll(1, -1), lambda x: x.clone(), x=SQUARE)
foreign("halves swapped", "exact", lambda x: x.roll(32, -1), lambda x: x.clone(), x=SQUARE)
foreign(
    "gather off by one", "exact", lambda x, i: x[(i - 1).clamp(0)], lambda x, i: x[i], x=SQUARE, i=integers(0, 64, 32)
)
foreign("slope", "elementwise", lambda x: functional.leaky_relu(x, 0.02), functional.leaky_relu, x=SQUARE)
foreign(
    "mean not subtracted under the root",
    "norm",
    lambda x: scaled_rows(x, lambda c: (mean_square(x) + 1e-5).rsqrt()),
    layer_norm,
    x=SQUARE + 0.5,
)
foreign("lost bias", "norm", lambda x, w, b: layer_norm(x, w), layer_norm, x=SQUARE, w=W, b=B)
foreign("lost update", "reduction", lambda x: x.sum(-1) - x[:, 7] * (torch.arange(64) % 5 == 0), sums, x=SQUARE)
foreign(
    "scan per block",
    "scan",
    lambda x: torch.cat([h.cumsum(-1) for h in x.chunk(2, -1)], -1),
    lambda x: x.cumsum(-1),
    x=SQUARE,
)
foreign("sum for mean", "reduction", lambda x: x.square().sum(), lambda x: x.square().mean(), x=SQUARE)
foreign("integers shifted", "auto", lambda x: x.roll(1), lambda x: x + 0, x=integers(0, 1000, 64))
foreign(
    "last of a histogram",
    "auto",
    lambda x: torch.bincount(x[:-1], minlength=20),
    lambda x: torch.bincount(x, minlength=20),
    x=integers(0, 20, 256),
)
