"""Elements that hold 0 in one stretch: work that was never done.

Decides from the flat stretch of zeros. Deliberately silent about scattered zeros, and about ends of axes, which
`row_tail` tells of.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.content import all_zero
from opsdebug_ci.numerics.patterns.placement import FULL, MANY_BAD, placed
from opsdebug_ci.numerics.patterns.suffix import offsets, wrapped

BLOCKS = tuple(2**power for power in range(4, 13))
"""Sizes of blocks a launch consists of: 16 to 4,096 elements or rows."""


def zero_fill(failure: Failure) -> Iterator[Clue]:
    """Fires when the bad elements are 0 where the reference is not, and all of them lie in one stretch.

    The stretch begins or ends where whole blocks do, in elements or rows. To the end: the launch was too small,
    `tail_mask`; elsewhere: a block was left out. Silent when it begins at a power of two that `suffix` names.
    """
    bad = placed(failure, most=0.99)
    if bad is None or not all_zero(failure):
        return
    flat = bad.flatten()
    count, total = int(torch.count_nonzero(flat)), flat.numel()
    first = int(flat.to(torch.uint8).argmax())
    last = total - 1 - int(flat.flip(0).to(torch.uint8).argmax())
    if count < max(MANY_BAD, FULL * (last - first + 1)) or last - first + 1 == total:
        return
    if any(wrapped(offset, step, widths) is not None for _, offset, step, widths in offsets(failure, first)):
        return
    block, unit = _block(bad, first, last)
    if block is None:
        return
    where = f"from {unit} {first // _row(bad, unit):,} to {last // _row(bad, unit):,}"
    statement = (
        f"the {count:,} bad elements hold 0 and are one stretch {where}, whole blocks of {block}: never computed"
    )
    evidence: dict[str, EvidenceValue] = {"bad": count, "of": total, "first": first, "last": last, "block": block}
    to_end = last == total - 1
    cause = Cause.TAIL_MASK if to_end else Cause.UNINITIALISED
    yield failure.clue("zero_fill", cause, 0.86 if to_end else 0.65, statement, evidence)


def _row(bad: torch.Tensor, unit: str) -> int:
    return bad.numel() // bad.shape[0] if unit == "row" else 1


def _block(bad: torch.Tensor, first: int, last: int) -> tuple[int | None, str]:
    """The largest block both ends of the stretch are multiples of; the output's own ends count as such."""
    total = bad.numel()
    for unit in ("row", "element") if bad.ndim > 1 else ("element",):
        size = _row(bad, unit)
        ends = [end for end in (first, last + 1) if end not in (0, total)]
        if all(end % size == 0 for end in ends):
            fitting = [block for block in BLOCKS if all(end // size % block == 0 for end in ends)]
            if fitting:
                return fitting[-1], unit
    return None, ""
