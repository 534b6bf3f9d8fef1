"""Integers that are those of the reference modulo a number: one side wrapped, or counts from the start of a block.

Decides how many bits the narrower side had, or how long the block is. Deliberately says nothing of offsets, which wrap
unseen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.placement import LEAST_BAD

WIDTHS = (32, 16, 8)
"""Bits of the integers that wrap, widest first: a multiple of 2**32 is one of 2**8 as well."""


def wraparound(failure: Failure) -> Iterator[Clue]:
    """Fires when both sides are integers, and all differences are nonzero multiples of 2**8, 2**16 or 2**32.

    Or where every element, bad or not, is the reference's modulo a smaller number. By chance, k differences are
    multiples of m with probability m**-k. Rivals: `offset` (all differ by 256).
    """
    if failure.actual.is_floating_point() or failure.expected.is_floating_point() or failure.actual.is_complex():
        return
    got, wanted = failure.actual[failure.bad].to(torch.int64), failure.expected[failure.bad].to(torch.int64)
    apart = got - wanted
    if len(apart) < LEAST_BAD:
        return
    for width in WIDTHS:
        if bool((apart % 2**width == 0).all()):
            widest = max(int(got.abs().max()), int(wanted.abs().max()))
            narrow = "the operator" if int(got.abs().max()) < widest else "the reference"
            statement = f"all {len(apart):,} differences are multiples of 2**{width}: {narrow} wraps at {width} bits,"
            statement += " the other side does not"
            evidence: dict[str, EvidenceValue] = {"bits": width, "bad": len(apart), "of": failure.bad.numel()}
            yield failure.clue("wraparound", Cause.DTYPE_PROMOTION, 0.9, statement, evidence)
            return
    yield from _within_blocks(failure, apart)


def _within_blocks(failure: Failure, apart: torch.Tensor) -> Iterator[Clue]:
    """The longest block all differences are multiples of, where no element of the output reaches its end."""
    length = math.gcd(*apart.tolist())
    got, wanted = failure.actual.to(torch.int64), failure.expected.to(torch.int64)
    if length < 2 or not bool((got == wanted.remainder(length)).all()) or int(got.max()) == 0:
        return
    statement = f"all {len(apart):,} bad elements are what they should be modulo {length}: they count from the start of"
    statement += f" their block of {length}, which is not added"
    evidence: dict[str, EvidenceValue] = {"block": length, "bad": len(apart), "of": failure.bad.numel()}
    yield failure.clue("wraparound", Cause.WRONG_DEFAULT, 0.9, statement, evidence)
