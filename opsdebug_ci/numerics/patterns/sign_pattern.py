"""The right magnitude with the wrong sign: of the whole output, of a region, or of one term of it.

Decides by arithmetic on the wrong elements alone. Deliberately silent where the element is within its tolerance of 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.sample import Numbers, Sample, aligned, aligned_at, at, sampled, share

MATCH = 0.95
"""Share of wrong elements that must be explained."""

SUPPORT = 8
"""Wrong elements needed before a term is looked for: a coincidence of signs is settled by fewer, one of values not."""

SMALLEST_MATCH = 1e-5
"""Relative difference from twice a term that still counts as it: a few hundred roundings of float32."""

MOST_ARGUMENTS = 4
"""Arguments whose products are tried."""


def sign_pattern(failure: Failure) -> Iterator[Clue]:
    """actual = -expected within tolerance on >= 95 % of the wrong elements; else error = -2 t for one term t of a sum.

    Terms tried: every argument that broadcasts to the output, and products of two of them, one perhaps with its halves
    or its pairs swapped along the last axis (rotary embeddings). Silent about zeros: those are unwritten. A region is
    named when an argument's sign gives it.
    """
    if failure.kind in (Kind.INDEX, Kind.QUANTIZE) or failure.actual.dtype == torch.bool:
        return
    seen = sampled(failure, failure.bad)
    tolerance = _tolerance(failure, seen)
    telling = seen.expected.abs() > tolerance
    opposite = (seen.actual + seen.expected).abs() <= tolerance
    matching = share(opposite & telling)
    if matching >= MATCH:
        yield _negated(failure, seen, matching)
    elif len(seen) >= SUPPORT:
        yield from _term(failure, seen)


def _tolerance(failure: Failure, seen: Sample) -> torch.Tensor:
    if failure.tolerance is None:
        return torch.zeros_like(seen.expected)
    return at(failure.tolerance, seen.places)


def _negated(failure: Failure, seen: Sample, matching: float) -> Clue:
    wrong, total = int(failure.bad.sum()), failure.bad.numel()
    everywhere = wrong >= 0.9 * int((failure.expected != 0).sum())
    region = None if everywhere else _region(failure)
    where = "" if everywhere else f" of {total:,}" if region is None else f", those with {region}"
    statement = (
        f"{'the whole output' if everywhere else f'{wrong:,} wrong elements{where}'}: the negative of the reference "
        f"({100 * matching:.4g} % of the wrong elements)"
    )
    evidence: Numbers = {"wrong": wrong, "compared": total, "negated": matching, "region": region}
    few = len(seen) < SUPPORT and not everywhere
    confidence = 0.95 if everywhere and total >= SUPPORT else 0.9 if region else 0.7 if few else 0.85
    return failure.clue("sign_pattern", Cause.SIGN_FLIP, confidence, statement, evidence)


def _region(failure: Failure) -> str | None:
    """`x < 0` or `x > 0` where the sign of an aligned argument gives the wrong elements."""
    seen = sampled(failure, failure.expected != 0)
    for name, x in aligned_at(failure, seen.places).items():
        for sign, side in (("<", x < 0), (">", x > 0)):
            if bool(side.any()) and not bool(side.all()) and share(side == seen.bad) >= MATCH:
                return f"{name} {sign} 0"
    return None


def _term(failure: Failure, seen: Sample) -> Iterator[Clue]:
    half = -seen.error / 2
    slack = _tolerance(failure, seen) + SMALLEST_MATCH * torch.maximum(half.abs(), seen.expected.abs())
    for words, term in _terms(failure, seen):
        matching = share((half.abs() - term.abs()).abs() <= slack)
        if matching < MATCH or share((term.abs() > 4 * slack) & (seen.actual != 0)) < 0.5:
            continue
        statement = (
            f"the error is twice {words} in {100 * matching:.4g} % of the wrong elements: that term enters with the "
            "wrong sign"
        )
        evidence: Numbers = {"wrong": len(seen), "term": words, "matching": matching}
        yield failure.clue("sign_pattern", Cause.SIGN_FLIP, 0.9, statement, evidence)
        return


def _terms(failure: Failure, seen: Sample) -> Iterator[tuple[str, torch.Tensor]]:
    names = list(aligned(failure))[:MOST_ARGUMENTS]
    plain = aligned_at(failure, seen.places)
    for name in names:
        yield f"`{name}`", plain[name]
    moved = {}
    for how, places in _partners(failure, seen):
        there = aligned_at(failure, places)
        moved.update({f"`{name}` with its {how} swapped": there[name] for name in names})
    for words, values in moved.items():
        for name in names:
            yield f"`{name}` times {words}", plain[name] * values
    for position, name in enumerate(names):
        for other in names[position + 1 :]:
            yield f"`{name}` times `{other}`", plain[name] * plain[other]


def _partners(failure: Failure, seen: Sample) -> Iterator[tuple[str, torch.Tensor]]:
    """Flat positions of the partner of each element along an even last axis."""
    length = failure.actual.shape[-1] if failure.actual.ndim else 1
    if length % 2:
        return
    column = seen.places % length
    yield "halves", seen.places - column + (column + length // 2) % length
    yield "pairs", seen.places ^ 1
