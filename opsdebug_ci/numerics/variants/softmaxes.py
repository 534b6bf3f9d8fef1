"""Softmax and log-softmax: their axis, their statistics, their dead rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call

NAMES = ("_softmax", "_log_softmax", "_safe_softmax", "softmax", "log_softmax")


def softmaxes(call: Call) -> Iterator[Alternative]:
    """Another axis, statistics spread along the wrong axis, no shift by the maximum, another base, dead rows."""
    x = call.tensor("self")
    if call.name not in NAMES or x is None or x.ndim == 0 or x.numel() == 0:
        return
    axis = call.values["dim"] % x.ndim
    logarithmic = "log" in call.name
    for other in range(x.ndim):
        if other != axis:
            yield _alternative(
                f"a softmax over axis {other}, not {axis}",
                Cause.WRONG_AXIS,
                partial(lambda other: call.again(dim=other), other),
                also=(Cause.BROADCASTING,),
            )
            if x.shape[other] == x.shape[axis]:
                yield _alternative(
                    f"maximum and sum over axis {axis} spread along axis {other}",
                    Cause.BROADCASTING,
                    partial(lambda other: _misspread(x, axis, other, logarithmic), other),
                    also=(Cause.WRONG_AXIS,),
                )
    yield _alternative(
        "exponentials that are not shifted by the row's maximum",
        Cause.NAN_INF_HANDLING,
        lambda: _unshifted(x, axis, logarithmic),
    )
    yield _alternative(
        "a softmax in base 2", Cause.WRONG_SCALE, lambda: call.again(self=x * 0.6931471805599453), also=()
    )
    yield _alternative(
        "zeros in rows that are masked entirely",
        Cause.MASK_SEMANTICS,
        lambda: torch.where(torch.isneginf(x).all(axis, keepdim=True), torch.zeros_like(x), call.result),
        also=(Cause.NAN_INF_HANDLING,),
    )
    yield _alternative(
        "equal shares in rows that are masked entirely",
        Cause.MASK_SEMANTICS,
        lambda: torch.where(
            torch.isneginf(x).all(axis, keepdim=True), torch.full_like(x, 1 / x.shape[axis]), call.result
        ),
        also=(Cause.NAN_INF_HANDLING,),
    )


def _misspread(x: torch.Tensor, axis: int, other: int, logarithmic: bool) -> torch.Tensor:
    def spread(statistic: torch.Tensor) -> torch.Tensor:
        return statistic.transpose(axis, other)

    shifted = x - spread(x.amax(axis, keepdim=True))
    total = spread(shifted.exp().sum(axis, keepdim=True))
    return shifted - total.log() if logarithmic else shifted.exp() / total


def _unshifted(x: torch.Tensor, axis: int, logarithmic: bool) -> torch.Tensor:
    narrow = x.float().exp()
    total = narrow.sum(axis, keepdim=True)
    return (x - total.log()).double() if logarithmic else (narrow / total).double()


def _alternative(
    phrase: str, cause: Cause, result: Callable[[], torch.Tensor], *, also: tuple[Cause, ...] = ()
) -> Alternative:
    return Alternative(name=phrase, cause=cause, statement=phrase, result=result, also=also, weight=0.85)
