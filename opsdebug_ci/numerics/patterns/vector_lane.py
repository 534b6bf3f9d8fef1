"""Bad elements that come back with a period: one lane of every vector, the edge of every block, every fourth row.

Decides the period and which of its places are bad. Deliberately silent when an argument's values have that period too.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.content import content
from opsdebug_ci.numerics.patterns.placement import CLEAN, FULL, placed, rates

PERIODS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)
"""Lanes of a vector, threads of a group, columns of a block."""

LEAST_PERIODS = 4
"""A lane is told from a column when it comes back so often."""


def vector_lane(failure: Failure) -> Iterator[Clue]:
    """Fires when, for some period m of an axis, residues are bad to FULL or right to CLEAN, at most half of them bad.

    The smallest such m is the one of the largest lift: a lane that is wrong in every fourth place fills only half of
    its residue modulo 2 and a half of two residues modulo 8. The first or last lane is a block's edge. Rivals: a single
    slice (`row_tail`, `bad_slice`), values that are periodic themselves.
    """
    bad = placed(failure)
    if bad is None:
        return
    for axis in reversed(range(bad.ndim)):
        found = _period(rates(bad, axis))
        if found is None:
            continue
        period, lanes = found
        if not _periodic_values(failure, axis, period, lanes):
            yield _clue(failure, axis, period, lanes)
        return


def _period(rate: torch.Tensor) -> tuple[int, list[int]] | None:
    """The smallest period and its bad residues."""
    if not bool(((rate >= FULL) | (rate <= CLEAN)).all()):
        return None
    for period in PERIODS:
        whole = len(rate) // period
        if whole < LEAST_PERIODS:
            return None
        # Whole periods, then the remainder must agree with them.
        lanes = rate[: whole * period].reshape(whole, period)
        worst, best = lanes.amax(0), lanes.amin(0)
        wrong, right = best >= FULL, worst <= CLEAN
        rest = rate[whole * period :]
        agrees = bool(((rest >= FULL) == wrong[: len(rest)]).all())
        count = int(torch.count_nonzero(wrong))
        if bool((wrong | right).all()) and agrees and 0 < count <= period // 2:
            return period, [int(lane) for lane in wrong.nonzero().flatten()]
    return None


def _periodic_values(failure: Failure, axis: int, period: int, lanes: list[int]) -> bool:
    """Some argument is set apart at these places by its own values: by their range or their spread."""
    size = failure.bad.shape[axis]
    chosen = torch.isin(torch.arange(size) % period, torch.tensor(lanes))
    for argument in failure.tensors.values():
        if argument.ndim <= axis or argument.shape[axis] != size or argument.is_complex():
            continue
        slices = argument.detach().cpu().double().movedim(axis, 0).reshape(size, -1)
        spread = slices.amax(1) - slices.amin(1)
        for measure in (slices.amax(1), slices.amin(1), spread):
            within, without = measure[chosen].nan_to_num(), measure[~chosen].nan_to_num()
            if bool(within.min() > without.max()) or bool(within.max() < without.min()):
                return True
        if bool(torch.isnan(slices).any()):
            return True
    return False


def _clue(failure: Failure, axis: int, period: int, lanes: list[int]) -> Clue:
    count = int(torch.count_nonzero(failure.bad))
    edge = len(lanes) == 1 and lanes[0] in (0, period - 1) and period > 2
    cause, confidence = (Cause.TAIL_MASK, 0.6) if edge else (Cause.LAYOUT_PERMUTATION, 0.45)
    which = ", ".join(map(str, lanes[:8])) + (", ..." if len(lanes) > 8 else "")
    holds = content(failure)
    statement = f"the {count:,} bad elements are those whose index along axis {axis} is {which} modulo {period}"
    statement += (", an edge of every block" if edge else "") + (f"; {holds}" if holds else "")
    evidence: dict[str, EvidenceValue] = {
        "bad": count,
        "of": failure.bad.numel(),
        "axis": axis,
        "period": period,
        "lanes": which,
    }
    return failure.clue("vector_lane", cause, confidence, statement, evidence)
