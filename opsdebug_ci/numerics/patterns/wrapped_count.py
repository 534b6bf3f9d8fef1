"""A count that wrapped: only the first N mod 2**k rows, elements or blocks were computed, and the rest never was.

Decides from where right elements end. Deliberately leaves offsets that wrap to `suffix`: they go wrong from 2**k on.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.content import content
from opsdebug_ci.numerics.patterns.placement import FULL, MANY_BAD

WIDTHS = (32, 31, 16, 15, 8)
"""Bits that counts are kept in: of unsigned and signed 32- and 16-bit integers, and of bytes. The widest is named."""

BLOCKS = tuple(2**power for power in range(10, 3, -1))
"""Elements that one of a number of blocks computes, the most first."""


def wrapped_count(failure: Failure) -> Iterator[Clue]:
    """Fires when all before index N mod 2**k is right, and what follows is bad to FULL or holds one value.

    Indices are those of an axis of length N, flat ones, or of blocks of BLOCKS flat elements. By chance one count in
    2**k is so. Rivals: `row_tail`, `zero_fill`, `suffix`, which see a stretch to the end without a reason for its
    beginning.
    """
    bad = failure.bad
    if bad.ndim == 0 or int(torch.count_nonzero(bad)) < MANY_BAD:
        return
    for unit, view, got, blocks in _views(failure):
        found = {block: bits for block in blocks if (bits := _bits(view, got, block)) is not None}
        if not found:
            continue
        size, largest = view.shape[0], max(found)
        bits = found[largest]
        fitting = [block for block, other in found.items() if other == bits]
        done = -(-size // largest) % 2**bits * largest
        of = f" of {min(fitting)} to {largest}" if len(fitting) > 1 else f" of {largest}" if largest > 1 else ""
        what = f"blocks{of} {unit}" if blocks != (1,) else unit
        words = f"the number of {what} is kept in {bits} bits: of {size:,} {unit} the first {done:,}"
        words += f" = {size:,} mod 2**{bits}" if largest == 1 else ""
        holds = content(failure)
        statement = f"{words} are computed, and no others" + (f"; {holds}" if holds else "")
        evidence: dict[str, EvidenceValue] = {"bits": bits, "count": size, "computed": done, "bad": int(bad.sum())}
        yield failure.clue("wrapped_count", Cause.INDEX_OVERFLOW, 0.9 if done else 0.8, statement, evidence)
        return


def _views(failure: Failure) -> Iterator[tuple[str, torch.Tensor, torch.Tensor, tuple[int, ...]]]:
    """Unit in words, the bad elements and the output by that unit, and how many of them may be counted as one."""
    bad, got = failure.bad, failure.actual
    for axis in range(bad.ndim if bad.ndim > 1 else 0):
        name = "rows" if axis == 0 else f"indices of axis {axis}"
        at = bad.movedim(axis, 0).reshape(bad.shape[axis], -1)
        yield name, at, got.movedim(axis, 0).reshape(at.shape), (1,)
    for blocks in ((1,), BLOCKS):
        yield "elements", bad.reshape(-1, 1), got.reshape(-1, 1), blocks


def _bits(bad: torch.Tensor, got: torch.Tensor, block: int) -> int | None:
    """The width that the number of blocks was cut to; None where it was not, or not so."""
    count = -(-len(bad) // block)
    first = int(bad.any(1).to(torch.uint8).argmax())
    for width in WIDTHS:
        start = count % 2**width * block
        if count < 2**width or start > first:
            continue
        held = got[start:] == got[-1].reshape(-1)[-1]
        untouched = bool(held[: first - start].all()) and (start > 0 or bool(held.all()))  # and right by chance
        if untouched and _left_undone(bad[start:], got[start:]):
            return width
    return None


def _left_undone(bad: torch.Tensor, got: torch.Tensor) -> bool:
    """Nearly all of it is wrong; or all of it holds what it held before, which may be right here and there."""
    return float(bad.double().mean()) >= FULL or (bool(bad[-1].any()) and bool((got == got.reshape(-1)[0]).all()))
