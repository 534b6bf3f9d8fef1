"""Losses: their reduction, what an ignored target counts for, the weights of classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative

REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}
"""torch's numbers of the reductions of a loss."""


BLOCKS = (2, 4, 8, 16, 32, 64, 128)
"""Rows that are reduced at a time."""


def losses(call: Call) -> Iterator[Alternative]:
    """Another reduction of any loss; of the negative log-likelihood also without ignored targets or weights."""
    reduction = call.values.get("reduction")
    if not isinstance(reduction, int) or isinstance(reduction, bool) or reduction not in REDUCTIONS:
        return
    for other, word in REDUCTIONS.items():
        if other and reduction and other != reduction:
            yield Alternative(
                name=f"`{call.name}` reduced by {word}",
                cause=Cause.WRONG_DEFAULT,
                statement=f"`{call.name}` is reduced by {word}, not by {REDUCTIONS[reduction]}",
                result=partial(call.again, reduction=other),
                weight=0.85,
            )
    yield from _branches(call, reduction)
    if call.name.startswith("nll_loss"):
        yield from _likelihood(call, reduction)


def _branches(call: Call, reduction: int) -> Iterator[Alternative]:
    """Other forms of losses that are quadratic near zero and linear beyond."""
    width = call.values.get("delta", call.values.get("beta"))
    if call.name not in ("huber_loss", "smooth_l1_loss") or not isinstance(width, (int, float)) or not width:
        return
    distance = (call.values["self"] - call.values["target"]).abs()
    near, quadratic = distance < width, 0.5 * distance**2
    scale = 1.0 if call.name == "huber_loss" else 1 / width
    forms = {
        "a linear branch without its half": torch.where(near, quadratic, width * distance),
        "a quadratic branch without its half": torch.where(near, distance**2, width * (distance - 0.5 * width)),
        "a linear branch less a whole width": torch.where(near, quadratic, width * (distance - width)),
        "no linear branch": quadratic,
        "no quadratic branch": width * distance,
        "a linear branch that is not scaled": torch.where(near, quadratic, distance - 0.5 * width),
    }
    for words, each in forms.items():
        yield Alternative(
            name=f"`{call.name}` with {words}",
            cause=Cause.WRONG_CONSTANT_EPS,
            statement=f"`{call.name}` has {words}",
            result=partial(_reduced, scale * each, reduction),
            weight=0.8,
        )


def _reduced(each: torch.Tensor, reduction: int) -> torch.Tensor:
    return each if reduction == 0 else each.mean() if reduction == 1 else each.sum()


def _likelihood(call: Call, reduction: int) -> Iterator[Alternative]:
    target, ignored = call.values["target"], call.values.get("ignore_index", -100)
    if call.values.get("weight") is not None:
        yield Alternative(
            name="classes without their weights",
            cause=Cause.WRONG_DEFAULT,
            statement="the weights of the classes are left out",
            result=partial(call.again, weight=None),
            weight=0.8,
        )
        if reduction == 1:
            yield Alternative(
                name="targets counted in the divisor",
                cause=Cause.WRONG_DEFAULT,
                statement="the divisor of the mean is the number of targets, not the sum of their weights",
                result=partial(_over, call, int((target != ignored).sum())),
                weight=0.85,
            )
    for block in (block for block in BLOCKS if reduction == 1 and block < len(target)):
        phrase = f"the means of blocks of {block} are averaged, whatever they count"
        yield alternative(phrase, Cause.WRONG_SCALE, partial(_averaged, call, block), weight=0.7)
    if reduction == 1 and bool((target == ignored).any()):
        yield Alternative(
            name="ignored targets in the divisor",
            cause=Cause.MASK_SEMANTICS,
            statement="the divisor of the mean counts ignored targets",
            result=partial(_over, call, target.numel()),
            weight=0.85,
        )


def _averaged(call: Call, block: int) -> Any:
    """The mean of the means of blocks of rows."""
    rows, targets = call.values["self"].split(block), call.values["target"].split(block)
    parts = [call.again(self=row, target=target) for row, target in zip(rows, targets, strict=True)]
    several = isinstance(parts[0], (tuple, list))
    mean = torch.stack([part[0] if several else part for part in parts]).nanmean()
    return (mean, *call.result[1:]) if several else mean


def _over(call: Call, count: int) -> Any:
    total = call.again(reduction=2)
    return (total[0] / count, *total[1:]) if isinstance(total, (tuple, list)) else total / count
