"""Cheap random numbers for injected rounding errors, all from one seed.

Decides how they are drawn. Deliberately unfit for anything else: numbers are windows into one table, so those of two
calls overlap. Errors of one computation only need to look unrelated to its values and to one another.
"""

from __future__ import annotations

import functools
import random

import torch

TABLE_LENGTH = 131_071
"""Numbers in the table: 2**17 - 1, a prime, so that no stride of a larger tensor meets the same number twice soon."""


class Draws:
    """Uniform numbers on [-1, 1], or their signs."""

    def __init__(self, seed: int, *, signs: bool) -> None:
        self._table = _signs(seed) if signs else _table(seed)
        self._places = random.Random(2 * seed + int(signs))  # noqa: S311 - reproducible, not secret

    def shaped(self, like: torch.Tensor) -> torch.Tensor:
        """float64 numbers shaped like `like` and on its device; larger tensors than the table repeat it."""
        start, count = self._places.randrange(TABLE_LENGTH), like.numel()
        table = self._table
        if count > TABLE_LENGTH:
            table = table[:TABLE_LENGTH].repeat(count // TABLE_LENGTH + 2)
        return table[start : start + count].view(like.shape).to(like.device)


@functools.lru_cache(maxsize=8)
def _table(seed: int) -> torch.Tensor:
    """The table twice over, so that a window may start anywhere in it."""
    drawn = torch.empty(TABLE_LENGTH, dtype=torch.float64, device="cpu")
    drawn.uniform_(-1.0, 1.0, generator=torch.Generator("cpu").manual_seed(seed))
    return drawn.repeat(2)


@functools.lru_cache(maxsize=8)
def _signs(seed: int) -> torch.Tensor:
    return torch.sign(_table(seed))
