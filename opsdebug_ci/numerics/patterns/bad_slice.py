"""Whole slices of an axis that are wrong: a channel, a head, some rows.

Decides which slices. Deliberately names no cause: what is special about them is for the reader, or another rule.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.content import all_zero, content
from opsdebug_ci.numerics.patterns.placement import CLEAN, FULL, placed, rates


def bad_slice(failure: Failure) -> Iterator[Clue]:
    """Fires when every slice of an axis is bad to FULL or right to CLEAN; of several axes, the one with the fewest.

    Slices that hold zeros throughout were skipped, whoever cleared the memory: a hint at `uninitialised`. Silent for
    one-dimensional outputs. Rivals: every rule that says why.
    """
    bad = placed(failure)
    if bad is None or bad.ndim < 2:
        return
    best: tuple[int, list[int]] | None = None
    for axis in range(bad.ndim):
        rate = rates(bad, axis)
        wrong = rate >= FULL
        if bool((wrong | (rate <= CLEAN)).all()) and bool(wrong.any()):
            slices = [int(index) for index in wrong.nonzero().flatten()]
            best = (axis, slices) if best is None or len(slices) < len(best[1]) else best
    if best is None:
        return
    axis, slices = best
    listed = ", ".join(map(str, slices[:6])) + (", ..." if len(slices) > 6 else "")
    holds = content(failure)
    statement = (
        f"axis {axis} is wrong throughout at {len(slices):,} of {bad.shape[axis]:,} indices ({listed}) and right"
    )
    statement += " at all others" + (f"; {holds}" if holds else "")
    cause, confidence = (Cause.UNINITIALISED, 0.5) if all_zero(failure) else (Cause.UNKNOWN, 0.3)
    evidence: dict[str, EvidenceValue] = {
        "bad": int(torch.count_nonzero(bad)),
        "axis": axis,
        "slices": listed,
        "of": bad.shape[axis],
    }
    yield failure.clue("bad_slice", cause, confidence, statement, evidence)
