"""Bad elements from one flat position on: an offset that wrapped, or a tail that rows do not show.

Decides that everything behind one position is wrong and what that position equals. Deliberately leaves thresholds of
an index argument to `index_argument`, and whole last rows to `row_tail`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.content import content
from opsdebug_ci.numerics.patterns.placement import FULL, MANY_BAD, placed

WIDTHS = (15, 16, 24, 31, 32)
"""Bits after which an offset wraps: of signed and unsigned 16- and 32-bit integers, and of a float32's significand."""

BYTE_WIDTHS = (31, 32)
"""The same for offsets in bytes, which nobody counts in 16 bits."""

FINEST = 16
"""A threshold is told from its neighbours when so many rows fit below it."""

MOST_BAD = 0.97
"""A suffix that begins at a power of two is believed even when it is most of the output."""

BLOCKS = tuple(2**power for power in range(2, 11))


def suffix(failure: Failure) -> Iterator[Clue]:
    """Fires when all before flat position f is right, all from f on is bad to FULL, and f means something.

    f as an offset into the output or into an argument with as many rows, in elements or bytes, is a power of two to
    within one row: `index_overflow`. Else f is where whole blocks of the flat output end, inside a row: `tail_mask`.
    Rivals: `row_tail`, `zero_fill`.
    """
    bad = placed(failure, MOST_BAD)
    if bad is None:
        return
    count, total = int(torch.count_nonzero(bad)), bad.numel()
    first = int(bad.flatten().to(torch.uint8).argmax())
    if first == 0 or count < FULL * (total - first):
        return
    holds = content(failure)
    ending = f"; {holds}" if holds else ""
    evidence: dict[str, EvidenceValue] = {"bad": count, "of": total, "first": first}
    for what, offset, step, widths in offsets(failure, first):
        width = wrapped(offset, step, widths)
        if width is not None:
            statement = f"all is right before flat position {first:,} and wrong from there on, where {what} reaches"
            statement += f" 2**{width} ({offset:,}){ending}"
            confidence = 0.88 if count >= MANY_BAD else 0.7
            yield failure.clue("suffix", Cause.INDEX_OVERFLOW, confidence, statement, {**evidence, "bits": width})
            return
    block = next((block for block in BLOCKS if total % block == total - first), None)
    if block is not None and bad.ndim > 1 and first % bad.shape[-1]:
        statement = f"the last {total - first:,} of {total:,} elements are wrong; {total:,} % {block} = {total - first}"
        yield failure.clue("suffix", Cause.TAIL_MASK, 0.8, statement + ending, {**evidence, "block": block})


def offsets(failure: Failure, first: int) -> Iterator[tuple[str, int, int, tuple[int, ...]]]:
    """What `first` is as an offset: words, value, how much one row adds, and the bits it may be kept in."""
    shape = failure.bad.shape
    row = failure.bad.numel() // shape[0]
    for unit, size, widths in units(failure.actual):
        yield f"the offset into the output{unit}", first * size, (row if len(shape) > 1 else 1) * size, widths
    for name, argument in failure.tensors.items():
        for axis in range(min(argument.ndim - 1, len(shape))):
            each = math.prod(shape[axis + 1 :])
            if argument.shape[: axis + 1] == shape[: axis + 1] and shape[axis] > 1 and first % max(each, 1) == 0:
                for unit, size, widths in units(argument):
                    step = argument.stride(axis) * size
                    yield f"the offset into `{name}`{unit}", first // each * step, step, widths


def units(tensor: torch.Tensor) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
    """How offsets into a tensor are counted: words, size of an element, and the bits they may be kept in."""
    return ("", 1, WIDTHS), (" in bytes", tensor.element_size(), BYTE_WIDTHS)


def wrapped(offset: int, step: int, widths: tuple[int, ...]) -> int | None:
    """Which of `widths` bits `offset` fills, to within one `step`; None when it is no such threshold."""
    for width in widths:
        wanted = 2**width
        if (offset == wanted and step <= wanted) or abs(offset - wanted) < step <= wanted // FINEST:
            return width
    return None
