"""Ratios to the reference that are one number per block, another one in the next: scales of the wrong block.

Decides the block's length. Deliberately leaves one ratio for all to `scale`, and ratios an argument explains to
`argument_use`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.placement import MANY_BAD

BLOCKS = (512, 256, 128, 64, 32, 16, 8)
"""Block lengths of quantisation, longest first: a shorter one fits as well where a longer one does."""

LEFT = 1e-4
"""Largest share of the error's energy the ratios may leave; a ratio per eight random numbers takes an eighth."""

APART = 1e-3
"""Least relative difference of the factors of bad blocks: less is one factor, or zeros, in some place."""

LEAST_BLOCKS = 4
"""Blocks needed."""

NEAR_ONE = 5e-3
"""Largest deviation from 1 of the factors of a norm that a coarse inverse root makes: one Newton step from a guess
taken from the exponent leaves 1.75e-3."""

SEEN = 1 << 15
"""Elements looked at, the first ones, in whole rows."""


def block_scale(failure: Failure) -> Iterator[Clue]:
    """Fires when one factor per block of the last axis takes the error away, and the factors of bad blocks differ.

    Where whole rows have one factor each, that is a hint only: a wrong statistic of the row does that as well.
    Rivals: `scale`, `argument_use`.
    """
    if int(torch.count_nonzero(failure.bad)) < MANY_BAD or failure.bad.ndim == 0 or failure.actual.is_complex():
        return
    length = failure.bad.shape[-1]
    rows = max(1, SEEN // length)
    got = failure.actual.reshape(-1, length)[:rows].double()
    wanted = failure.expected.reshape(-1, length)[:rows].double()
    if not bool((torch.isfinite(got) & torch.isfinite(wanted)).all()):
        return
    count, total = int(torch.count_nonzero(failure.bad)), failure.bad.numel()
    for block in (length, *(block for block in BLOCKS if block < length and length % block == 0)):
        factors = _factors(got, wanted, block)
        if factors is None:
            continue
        least, most = float(factors.min()), float(factors.max())
        whole = block == length
        unit = f"row of {length:,}" if whole else f"block of {block}"
        statement = f"every {unit} elements is the reference times a number of its own, from {least:.6g} to {most:.6g}"
        evidence: dict[str, EvidenceValue] = {"block": block, "least": least, "most": most, "bad": count, "of": total}
        if whole and failure.kind is Kind.NORM and max(abs(least - 1), abs(most - 1)) <= NEAR_ONE:
            approximate = f"{statement}: the root or its inverse is coarse"
            yield failure.clue("block_scale", Cause.APPROXIMATION, 0.6, approximate, evidence)
        yield failure.clue("block_scale", Cause.WRONG_SCALE, 0.4 if whole else 0.82, statement, evidence)
        return


def _factors(got: torch.Tensor, wanted: torch.Tensor, block: int) -> torch.Tensor | None:
    """The factors, when they explain the error and differ; None otherwise."""
    have, want = got.reshape(-1, block), wanted.reshape(-1, block)
    power = want.square().sum(1)
    live = power > 0
    if int(torch.count_nonzero(live)) < LEAST_BLOCKS or block < 8:
        return None
    factors = torch.where(live, (have * want).sum(1) / power.clamp(min=1e-300), 1.0)
    wrong = factors[live & ((factors - 1).abs() > 1e-5)]
    if not len(wrong) or float(wrong.max() - wrong.min()) <= APART * float(wrong.abs().max()):
        return None
    error = (have - want).square().sum()
    left = (have - factors[:, None] * want).square().sum()
    held = have.square().sum()  # a factor near 0 takes all error away from what is small anyway
    return factors[live] if bool(left <= LEFT * error) and bool(left <= LEFT * held) else None
