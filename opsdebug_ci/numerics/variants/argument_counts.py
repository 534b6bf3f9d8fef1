"""An argument that counts something: elements, rows, the length of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, alternative

WIDTHS = (8, 15, 16)
"""Bits of integers that a count or a place is kept in."""

BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256)
"""Sizes of blocks and pages that are counted in."""

MOST_COUNTS = 1024
"""Elements of an argument up to which it may hold counts."""


def counted_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Integers one too high or low; in whole blocks: rounded down or up, what is left over, one block more or less
    where they are full."""
    del others
    tensor = isinstance(value, torch.Tensor)
    if tensor and (value.is_floating_point() or value.is_complex() or value.dtype is torch.bool):
        return
    if not tensor and (not isinstance(value, int) or isinstance(value, bool)):
        return
    if tensor and not 0 < value.numel() <= MOST_COUNTS:
        return
    for step, which in ((1, "high"), (-1, "low")):
        yield _counted(f"`{name}` is one too {which}", partial(lambda step: value + step, step), 0.6)
    largest = int(value.max()) if tensor else value
    for block in BLOCKS if not tensor or bool((value >= 0).all()) else ():
        yield _counted(f"`{name}` is rounded down to a multiple of {block}", partial(_down, value, block), 0.5)
        if block > largest:
            continue
        full = (value % block == 0) & (value > 0)
        phrase = f"where `{name}` is a multiple of {block}, it is taken for {block}"
        yield _counted(f"{phrase} more", partial(lambda b, f: value + b * f, block, full), 0.6)
        yield _counted(f"{phrase} less", partial(lambda b, f: value - b * f, block, full), 0.6)
        yield _counted(f"`{name}` is rounded up to a multiple of {block}", partial(_down, value, block, block - 1), 0.5)
        yield _counted(f"`{name}` is taken modulo {block}", partial(lambda b: value % b, block), 0.5)
    for bits in WIDTHS:
        if largest >> bits:
            yield alternative(
                f"`{name}` is kept in {bits} bits and wraps at 2**{bits}",
                Cause.INDEX_OVERFLOW,
                partial(lambda n: value % n, 1 << bits),
                weight=0.8,
            )


def _down(value: Any, block: int, more: int = 0) -> Any:
    return (value + more) // block * block


def _counted(phrase: str, result: Callable[[], Any], weight: float) -> Alternative:
    return alternative(phrase, Cause.TAIL_MASK, result, weight=weight)
