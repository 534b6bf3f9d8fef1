"""Largest and smallest values that were sought among some of the elements only: a remainder that was left out.

Decides how many elements at which end were not looked at. Deliberately leaves sums to `reduction_block`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.fit import BadElements, elements_at
from opsdebug_ci.numerics.patterns.placement import LEAST_BAD, bad_places
from opsdebug_ci.numerics.patterns.terms import terms

SEEN = 64
"""Bad elements, and right ones, that are looked at: each has a whole row."""


def extreme_block(failure: Failure) -> Iterator[Clue]:
    """Fires when the reference is the maximum, or the minimum, over an axis and the output that of all but its end.

    To the tolerance, on every element looked at, right ones included: with random rows a remainder of t in n is
    visible in t of n rows only. Rivals: none; needs LEAST_BAD bad elements.
    """
    if int(torch.count_nonzero(failure.bad)) < LEAST_BAD or failure.actual.is_complex():
        return
    places = torch.cat([bad_places(failure.bad, SEEN), bad_places(~failure.bad, SEEN)])
    seen = elements_at(failure, places)
    if len(seen) < len(places):
        return
    for summed in terms(failure, seen.places):
        values = summed.values
        if len(values) != len(seen) or values.shape[1] < 2 or not bool(torch.isfinite(values).all()):
            continue
        for word, sign in (("maximum", 1.0), ("minimum", -1.0)):
            found = _looked_at(seen, sign * values, sign)
            if found is not None:
                yield _clue(failure, word, summed.text, values.shape[1], *found)
                return


def _looked_at(seen: BadElements, values: torch.Tensor, sign: float) -> tuple[str, int] | None:
    """Which end was left out, and how many elements of it at least."""
    if not bool(((sign * seen.expected - values.amax(1)).abs() <= seen.allowed).all()):
        return None
    for end, ordered in (("last", values), ("first", values.flip(1))):
        upto = ordered.cummax(1).values
        gap = (upto - sign * seen.actual[:, None]).abs()
        fitting = (gap <= seen.allowed[:, None]).all(0).nonzero().flatten()
        if len(fitting):
            return end, values.shape[1] - 1 - int(fitting[-1])
    return None


def _clue(failure: Failure, word: str, text: str, count: int, end: str, length: int) -> Clue:
    statement = f"the output is the {word} of {text} without the {end} {length:,} of {count:,}"
    evidence: dict[str, EvidenceValue] = {
        "terms": count,
        "left out": length,
        "end": end,
        "bad": int(torch.count_nonzero(failure.bad)),
    }
    return failure.clue("extreme_block", Cause.TAIL_MASK, 0.9, statement, evidence)
