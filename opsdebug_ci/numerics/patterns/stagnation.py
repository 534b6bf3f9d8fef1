"""Sums that stopped growing: an accumulator so large that a further term is less than half its last bit.

Decides at how many typical terms the sums ended. Deliberately silent about sums that merely lost precision.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.sample import Numbers, Sample, sampled_finite, share, summing

FORMATS = ((11, "float16"), (8, "bfloat16"))
"""Bits of the accumulators that stall within sums people take. Adding t to s changes nothing once t < ulp(s) / 2, which
is s * 2**-p for a power of two s: the sum ends between 2**(p-1) and 2**(p+2) typical terms (a larger term passes)."""

TOWARD_ZERO = 0.98
"""Share of errors that must point towards zero."""

FEWEST_TERMS = 32
"""Terms per sum below which nothing stalls."""

SHORT = 1.25
"""How much more than where they ended the sums should have come to."""


def stagnation(failure: Failure) -> Iterator[Clue]:
    """Nearly every error towards zero, and sums (or means) of an argument's terms that end near 2**p of them.

    Source: 512 ones in bfloat16 sum to 256, 4,096 ones in float16 to 2,048. Rivals, dropped terms, end anywhere.
    """
    if not failure.actual.is_floating_point() or not summing(failure) or not failure.actual.numel():
        return
    seen = sampled_finite(failure)
    if not len(seen) or share(seen.actual.abs() < seen.expected.abs()) < TOWARD_ZERO:
        return
    for name, value in failure.tensors.items():
        terms = value.numel() // failure.actual.numel()
        if value.is_floating_point() and terms >= FEWEST_TERMS:
            yield from _stalled(failure, seen, name, _typical(value), terms)


def _typical(value: torch.Tensor) -> float:
    """Mean magnitude of an argument's finite elements."""
    wide = value.detach().double()
    return float(wide[torch.isfinite(wide)].abs().mean())


def _stalled(failure: Failure, seen: Sample, name: str, size: float, terms: int) -> Iterator[Clue]:
    if not size > 0:
        return
    reached = float(seen.actual.abs().median()) / size
    wanted = float(seen.expected.abs().median()) / size
    divisor = terms if wanted < 2.0 else 1  # a mean of the terms, or their sum
    for bits, kept in FORMATS:
        end = reached * divisor
        if 2.0 ** (bits - 1) <= end <= 2.0 ** (bits + 2) and wanted > SHORT * reached:
            statement = (
                f"sums of {terms:,} terms of `{name}` end at about {end:.4g} typical terms instead of "
                f"{wanted * divisor:.4g}, all too small: a {kept} sum stops growing where a term is half its last bit"
            )
            evidence: Numbers = {
                "terms": terms,
                "ended_at_terms": end,
                "wanted_terms": wanted * divisor,
                "argument": name,
            }
            yield failure.clue("stagnation", Cause.LOW_PRECISION_ACCUM, 0.86, statement, evidence)
