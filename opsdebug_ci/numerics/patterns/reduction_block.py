"""Sums that lack some of their terms, or have them twice: the remainder of a block, a split, the last one.

Decides which terms. Deliberately asks only for contiguous stretches: the first t, the last t, one whole block.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.fit import BadElements, bad_elements, elements_at
from opsdebug_ci.numerics.patterns.placement import LEAST_BAD, bad_places
from opsdebug_ci.numerics.patterns.terms import Terms, terms

SEEN = 64
"""Bad elements looked at: each has a whole sum."""

LEFT = 1e-3
"""Largest share of the error's energy the missing terms may leave: R**2 of 0.999."""

FINE = 1e-4
"""Tolerance relative to the error at which one element tells a few stretches apart by itself."""

BLOCKS = tuple(2**power for power in range(2, 11))
"""Blocks of a reduction."""

SUMS = (Kind.REDUCTION, Kind.MATMUL, Kind.AUTO)
"""Kinds whose elements can be sums of visible terms."""


def reduction_block(failure: Failure) -> Iterator[Clue]:
    """Fires when the error is minus, or plus, the sum of a stretch of the terms, alone or divided by their number.

    Stretches: the last t, the first t, and single blocks of 4 to 1,024; LEFT bounds what stays, the tolerance too.
    Some stretch fits anything when there are fewer than LEAST_BAD bad elements: then only remainders of blocks and the
    last term are tried, and the tolerance must be as fine as FINE. Rivals: `argument_use`.
    """
    if failure.kind not in SUMS or failure.actual.is_complex():
        return
    seen = bad_elements(failure, SEEN) or elements_at(failure, bad_places(failure.bad, SEEN))
    if not len(seen) or (_few(seen) and not bool((4 * seen.allowed <= FINE * seen.error.abs()).all())):
        return
    for summed in terms(failure, seen.places):
        found = _stretch(seen, summed)
        if found is not None:
            yield _clue(failure, summed, *found)
            return


def _stretch(seen: BadElements, summed: Terms) -> tuple[str, int, int] | None:
    """What is wrong with which stretch: word, first and last term."""
    values = summed.values
    if len(values) != len(seen) or values.shape[1] < 2 or not bool(torch.isfinite(values).all()):
        return None
    count = values.shape[1]
    before = torch.nn.functional.pad(values.cumsum(1), (1, 0))
    whole = before[:, -1:]
    for sums, bounds in _remainders(before, count) if _few(seen) else _candidates(before, count):
        best = _best(seen, sums, whole, count, [last - first for first, last in bounds])
        if best is not None:
            word, place = best
            first, last = bounds[place]
            return word, first, last - 1
    return None


Bounds = list[tuple[int, int]]


def _candidates(before: torch.Tensor, count: int) -> Iterator[tuple[torch.Tensor, Bounds]]:
    """Sums of stretches, elements x stretches, and where each begins and ends."""
    yield before[:, -1:] - before[:, 1:-1], [(first, count) for first in range(1, count)]
    yield before[:, 1:-1], [(0, last) for last in range(1, count)]
    for block in reversed(BLOCKS):
        if 2 * block <= count:
            edges = torch.arange(0, count - block + 1, block)
            bounds = [(int(edge), int(edge) + block) for edge in edges]
            yield before[:, edges + block] - before[:, edges], bounds


def _few(seen: BadElements) -> bool:
    return len(seen) < LEAST_BAD


def _remainders(before: torch.Tensor, count: int) -> Iterator[tuple[torch.Tensor, Bounds]]:
    """The last term, and what blocks leave over."""
    lengths = sorted({1, *(count % block for block in BLOCKS if block < count)} - {0})
    edges = torch.tensor([count - length for length in lengths])
    yield before[:, -1:] - before[:, edges], [(count - length, count) for length in lengths]


def _best(
    seen: BadElements, sums: torch.Tensor, whole: torch.Tensor, count: int, lengths: list[int]
) -> tuple[str, int] | None:
    """The stretch that explains the error, and in which way."""
    error, energy = seen.error[:, None], seen.error.square().sum()
    rest = torch.tensor([count - length for length in lengths], dtype=torch.float64, device=sums.device)
    ways = (
        ("missing", -sums),
        ("counted twice", sums),
        ("missing", -sums / count),
        ("counted twice", sums / count),
        ("missing, and the divisor with them", (whole - sums) / rest - whole / count),
    )
    for word, change in ways:
        left = (error - change).square().sum(0)
        place = int(left.argmin())
        if bool(left[place] <= LEFT * energy) and seen.fits(seen.expected + change[:, place], 4.0, LEFT):
            return word, place
    return None


def _clue(failure: Failure, summed: Terms, word: str, first: int, last: int) -> Clue:
    count, length = summed.values.shape[1], last - first + 1
    block = next((size for size in BLOCKS if last == count - 1 and count % size == length), None)
    if last == count - 1:
        where = f"the last {length:,} of {count:,}"
    elif first == 0:
        where = f"the first {length:,} of {count:,}"
    else:
        where = f"{first:,}..{last:,} of {count:,}"
    wrong = int(torch.count_nonzero(failure.bad))
    confidence = (0.9 if block else 0.87) if wrong >= LEAST_BAD else 0.8
    statement = f"terms {where} of the sum over {summed.text} are {word}"
    statement += f"; {count:,} % {block} = {length}" if block else ""
    evidence: dict[str, EvidenceValue] = {
        "terms": count,
        "first": first,
        "last": last,
        "bad": wrong,
    }
    return failure.clue("reduction_block", Cause.TAIL_MASK, confidence, statement, evidence)
