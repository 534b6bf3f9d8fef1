"""Right elements in wrong places: exchanged axes, halves, pairs, reversed, shifted, repeated, or any other order.

Decides which rearrangement of the reference the output is. Deliberately leaves copies whose places follow no simple
rule to `source_index`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.fit import FITTING, BadElements, bad_elements, varied
from opsdebug_ci.numerics.patterns.placement import MANY_BAD, bad_places, coordinates
from opsdebug_ci.numerics.patterns.rearrangements import Rearrangement, rearrangements

SEEN = 512
"""Bad elements that are looked at."""

KNOWN = 0.9
"""Share of them whose source lies inside the output."""

KNOWN_STRIDED = 0.2
"""The same where a wrong stride leads outside, or between the elements."""

THROUGHOUT = 0.5
"""Share of all elements that a wrong stride moves at least."""

PARTLY = 0.75
"""Confidence in a wrong stride that moves fewer: something else decides which."""

LARGEST = 1 << 17
"""Elements up to which all values are sorted."""


def permutation(failure: Failure) -> Iterator[Clue]:
    """Fires when the bad elements are the reference's elements of other places, by one of `rearrangements`.

    FITTING of the elements whose source is known hold it to the tolerance, and right elements stay right, except where
    a distance is wrong in some place only. Otherwise, when both sides hold the same
    values in another order. Silent when the bad elements hold few distinct values: some place holds these anyway.
    Rivals: `source_index`, `argument_use`.
    """
    seen = bad_elements(failure, SEEN)
    if seen is None or failure.bad.ndim == 0 or not varied(seen.actual):
        return
    count, shape = int(torch.count_nonzero(failure.bad)), tuple(failure.bad.shape)
    evidence: dict[str, EvidenceValue] = {"bad": count, "of": failure.bad.numel()}
    at = coordinates(seen.places, shape)
    for way in rearrangements(shape):
        known = _share_known(failure, seen, at, way)
        if known is not None and (way.cause is Cause.STRIDE_VIEW or _keeps_right(failure, shape, way)):
            statement = f"the {count:,} bad elements are right ones in wrong places: {way.text}"
            confidence = 0.9 if known >= KNOWN else 0.82
            if count < THROUGHOUT * failure.bad.numel() and way.cause is Cause.STRIDE_VIEW:
                confidence = PARTLY
            yield failure.clue("permutation", way.cause, confidence, statement, {**evidence, "way": way.text})
            return
    if _same_values(failure):
        statement = f"the output holds the reference's values in another order; {count:,} are in a wrong place"
        yield failure.clue("permutation", Cause.LAYOUT_PERMUTATION, 0.75, statement, evidence)


def _share_known(failure: Failure, seen: BadElements, at: list[torch.Tensor], way: Rearrangement) -> float | None:
    """Share of elements whose source is known, when these hold it; None when they do not."""
    sources, known = way.sources(at)
    known &= sources != seen.places
    count, least = int(torch.count_nonzero(known)), KNOWN_STRIDED if way.cause is Cause.STRIDE_VIEW else KNOWN
    if count < max(MANY_BAD, least * len(seen)):
        return None
    held = failure.expected.flatten()[sources[known]].double()
    gap = (seen.actual[known] - held).abs()
    close = gap <= torch.maximum(allowed_at(failure, sources[known]), held.abs() * 2.0**-51)
    fits = int(torch.count_nonzero(close)) >= FITTING * count and varied(seen.actual[known])
    return count / len(seen) if fits else None


def _keeps_right(failure: Failure, shape: tuple[int, ...], way: Rearrangement) -> bool:
    """Right elements come out right: everything was rearranged, not a part of it."""
    places = bad_places(~failure.bad, SEEN)
    sources, known = way.sources(coordinates(places, shape))
    held = failure.expected.flatten()[sources[known]].double()
    gap = (failure.actual.flatten()[places[known]].double() - held).abs()
    close = gap <= torch.maximum(allowed_at(failure, sources[known]), held.abs() * 2.0**-51)
    return int(torch.count_nonzero(close)) >= KNOWN * int(torch.count_nonzero(known))


def allowed_at(failure: Failure, places: torch.Tensor) -> torch.Tensor:
    """The tolerance at flat positions; half a unit for integers."""
    if failure.tolerance is None:
        return torch.full(places.shape, 0.5, dtype=torch.float64, device=places.device)
    return failure.tolerance.expand(failure.bad.shape).flatten()[places].double()


def _same_values(failure: Failure) -> bool:
    """Sorted, both sides agree to the tolerance; most bad values are distinct."""
    total = failure.bad.numel()
    if total > LARGEST:
        return False
    got, wanted = failure.actual.flatten().double(), failure.expected.flatten().double()
    if not bool(torch.isfinite(got).all() & torch.isfinite(wanted).all()):
        return False
    room = float(allowed_at(failure, torch.arange(total, device=got.device)).sum())
    if abs(float(got.sum() - wanted.sum())) > room:
        return False
    got, order = got.sort().values, wanted.argsort()
    close = (got - wanted[order]).abs() <= torch.maximum(allowed_at(failure, order), wanted[order].abs() * 2.0**-51)
    distinct = len(torch.unique(failure.actual[failure.bad].double()))
    return bool(close.all()) and distinct >= 0.5 * int(torch.count_nonzero(failure.bad))
