"""Softmax and log-softmax: their statistics, their dead rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative

NAMES = ("_softmax", "_log_softmax", "_safe_softmax", "softmax", "log_softmax")
"""Calls that are a softmax or its logarithm."""

UNSHIFTED = "the exponentials are not shifted by the row's maximum, so that they overflow or vanish"

WEIGHT = 0.85
"""How telling these are."""


def softmaxes(call: Call) -> Iterator[Alternative]:
    """Statistics spread along the wrong axis, no shift by the maximum, another base, dead rows."""
    x = call.tensor("self")
    if call.name == "logsumexp" and x is not None and x.numel():
        yield alternative(UNSHIFTED, Cause.NAN_INF_HANDLING, lambda: call.again(self=_reaching(x)), weight=WEIGHT)
    if call.name not in NAMES or x is None or x.ndim == 0 or x.numel() == 0:
        return
    axis = call.values["dim"] % x.ndim
    logarithmic = "log" in call.name
    yield from _misspreads(x, axis, logarithmic=logarithmic)
    yield from _dead_rows(call, x, axis)
    yield alternative(
        UNSHIFTED, Cause.NAN_INF_HANDLING, lambda: _unshifted(x, axis, logarithmic=logarithmic), weight=WEIGHT
    )
    if logarithmic:
        yield alternative(
            "the logarithm of the denominator is to base 2",
            Cause.WRONG_CONSTANT_EPS,
            lambda: call.result - (1 / math.log(2) - 1) * (x - call.result - x.amax(axis, keepdim=True)),
            weight=WEIGHT,
        )
    in_base_2 = partial(call.again, self=x * math.log(2))
    yield alternative("the softmax is in base 2", Cause.WRONG_SCALE, in_base_2, weight=WEIGHT)


def _misspreads(x: torch.Tensor, axis: int, *, logarithmic: bool) -> Iterator[Alternative]:
    for other in range(x.ndim):
        if other != axis and x.shape[other] == x.shape[axis]:
            yield alternative(
                f"maximum and sum over axis {axis} are spread along axis {other}",
                Cause.BROADCASTING,
                partial(_misspread, x, axis, other, logarithmic=logarithmic),
                weight=WEIGHT,
            )


def _dead_rows(call: Call, x: torch.Tensor, axis: int) -> Iterator[Alternative]:
    for words, value in (("zeros", 0.0), ("equal shares", 1 / x.shape[axis])):
        yield alternative(
            f"rows that are masked entirely hold {words}",
            Cause.MASK_SEMANTICS,
            partial(_filled, call.result, x, axis, value),
            weight=WEIGHT,
        )


def _filled(result: torch.Tensor, x: torch.Tensor, axis: int, value: float) -> torch.Tensor:
    return torch.where(torch.isneginf(x).all(axis, keepdim=True), torch.full_like(x, value), result)


def _misspread(x: torch.Tensor, axis: int, other: int, *, logarithmic: bool) -> torch.Tensor:
    def spread(statistic: torch.Tensor) -> torch.Tensor:
        return statistic.transpose(axis, other)

    shifted = x - spread(x.amax(axis, keepdim=True))
    total = spread(shifted.exp().sum(axis, keepdim=True))
    return shifted - total.log() if logarithmic else shifted.exp() / total


def _reaching(x: torch.Tensor) -> torch.Tensor:
    """What the logarithm of a single precision exponential is."""
    return x.float().exp().double().log()


def _unshifted(x: torch.Tensor, axis: int, *, logarithmic: bool) -> torch.Tensor:
    narrow = x.float().exp()
    total = narrow.sum(axis, keepdim=True)
    return (x - total.log()).double() if logarithmic else (narrow / total).double()
