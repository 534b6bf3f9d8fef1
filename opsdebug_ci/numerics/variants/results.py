"""What may have been written for a result: cut off, or with what an accumulator still held."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, alternative

TILES = (4, 8, 16, 32, 64, 128)
"""Elements of a tile along one axis."""


def bounded_result(value: torch.Tensor) -> Iterator[Alternative]:
    """What is returned cut off at 0: where a running maximum or minimum starts from."""
    if value.is_floating_point() and value.numel() > 1:
        for words, start, cut in (
            ("negative", "maximum", partial(value.clamp, min=0.0)),
            ("positive", "minimum", partial(value.clamp, max=0.0)),
        ):
            phrase = f"what is {words} is 0, as where a running {start} starts from 0"
            yield alternative(phrase, Cause.WRONG_DEFAULT, cut, weight=0.6)


def accumulated_result(value: torch.Tensor) -> Iterator[Alternative]:
    """Every tile with what the accumulator held of those before it."""
    for axis, size in enumerate(value.shape) if value.is_floating_point() else ():
        for tile in (tile for tile in TILES if tile < size):
            phrase = f"each tile of {tile} along axis {axis} also holds those before it: the sum is not started anew"
            yield alternative(phrase, Cause.WRONG_DEFAULT, partial(_running, value, axis, tile), weight=0.4)


def _running(value: torch.Tensor, axis: int, tile: int) -> torch.Tensor:
    """Of tiles that are not full, the elements there are."""
    rows = value.movedim(axis, -1)
    whole = torch.nn.functional.pad(rows, (0, -rows.shape[-1] % tile))
    summed = whole.reshape(*rows.shape[:-1], -1, tile).cumsum(-2).reshape(whole.shape)
    return summed[..., : rows.shape[-1]].movedim(-1, axis)
