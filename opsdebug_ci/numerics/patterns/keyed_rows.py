"""Rows of an output and the integer or bool arguments that have one entry per row: which condition the bad rows meet.

Decides what an entry of an argument may be asked. Deliberately names no cause: the rules do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.placement import FULL

LEAST_ROWS = 3
"""An argument with fewer entries tells nothing apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRows:
    """An argument whose entries belong to rows of the output, and which of these rows are bad."""

    name: str
    """Name of the argument."""

    keys: torch.Tensor
    """int64: its entries, flat."""

    bad: torch.Tensor
    """bool, flat, as many: the row has a bad element."""

    def meets(self, condition: torch.Tensor) -> bool:
        """The bad rows are those that meet it: none else is bad, and nearly all of these are."""
        return meets(condition, self.bad)


def meets(condition: torch.Tensor, bad: torch.Tensor) -> bool:
    """`bad` is where `condition` is: never elsewhere, and on at least FULL of its places; both True and False occur.

    Args:
        condition: bool, any shape.
        bad: bool, of that shape.
    """
    wanted, wrong = int(torch.count_nonzero(condition)), int(torch.count_nonzero(bad))
    if not 0 < wanted < condition.numel() or not FULL * wanted <= wrong <= wanted:
        return False
    return int(torch.count_nonzero(bad & condition)) == wrong


def integer_arguments(failure: Failure) -> Iterator[tuple[str, torch.Tensor]]:
    """Name and int64 values of every integer tensor argument with at least LEAST_ROWS elements."""
    for name, argument in failure.tensors.items():
        whole = not (argument.is_floating_point() or argument.is_complex() or argument.dtype == torch.bool)
        if whole and argument.numel() >= LEAST_ROWS:
            yield name, argument.detach().to(failure.bad.device, torch.int64)


def keyed_rows(failure: Failure) -> Iterator[KeyedRows]:
    """Every integer argument whose shape is that of the output's leading axes, last ones of size 1 aside."""
    bad = failure.bad
    for name, keys in integer_arguments(failure):
        leading = keys.ndim
        while leading > 1 and keys.shape[leading - 1] == 1:
            leading -= 1
        if 0 < leading <= bad.ndim and keys.shape[:leading] == bad.shape[:leading]:
            yield KeyedRows(name=name, keys=keys.flatten(), bad=rows_with_bad(bad, leading).flatten())


def rows_with_bad(bad: torch.Tensor, leading: int) -> torch.Tensor:
    """bool over the first `leading` axes: some element behind is bad."""
    return bad if leading == bad.ndim else bad.flatten(leading).any(-1)
