"""The search for the fewest values that still make a case fail for the same cause.

(1) all elements 0, (2) all 1, (3) small whole numbers, (4) the smallest set of elements that must stay, by ddmin
(Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, IEEE TSE 28(2), 2002, section 3). Elements
that do not matter become 0, or 1 where the domain has no 0; NaN and infinities are kept throughout. Whole numbers stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from opsdebug_ci.failures.shrinking.shape import Ask, First
from opsdebug_ci.failures.shrinking.space import Space
from opsdebug_ci.failures.shrinking.trial import Candidate, Outcome
from opsdebug_ci.failures.shrinking.values import (
    Slot,
    Values,
    Words,
    index_of,
    rounded,
    slots,
    special,
    with_words,
    words,
    written,
)

MOST_TESTS = 100
"""Tests of one ddmin: one culprit in 2^20 elements takes about 26, four about 300, whose place matters little then."""

NAMED = 4
"""Elements that are named by their index."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """What is left of the values."""

    candidate: Candidate
    """The failing case on its reduced values."""

    kept: int
    """Elements that are neither 0 (or 1, where the domain has no 0) nor special."""

    special: int
    """NaN and infinities, which were kept."""

    capped: bool
    """There were more tests to make, so that fewer may be enough."""

    places: tuple[str, ...]
    """Where the first of them lie, e.g. `x[0, 33]`."""

    @property
    def text(self) -> str:
        """In words."""
        if not self.kept and not self.special:
            return "it fails whatever the values are"
        special = f"{_counted(self.special, 'NaN or infinite element')}" if self.special else ""
        if not self.kept:
            return f"at most {special} decide{'s' if self.special == 1 else ''}, whatever the others are"
        where = f": {', '.join(self.places)}{', ...' if self.kept > len(self.places) else ''}"
        limit, beside = "at most " if self.capped else "", f" beside {special}" if special else ""
        return f"{limit}{_counted(self.kept, 'element')} decide{'s' if self.kept == 1 else ''}{beside}{where}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


@final
class ValueSearch:
    """Looks for fewer values of one candidate.

    Args:
        first: answers for several candidates.
        ask: answers for one.
        space: which values lie in the domain.
    """

    def __init__(self, first: First, ask: Ask, space: Space) -> None:
        self._first = first
        self._ask = ask
        self._space = space
        self._tests = 0

    def reduce(self, candidate: Candidate, values: Values) -> Reduction | None:
        """The reduced candidate; None when it holds nothing that may be changed, or does not fail on kept values."""
        start = Candidate(case=candidate.case, values=values)
        found = slots(values, self._space.domains)
        if not found or self._ask(start) is not Outcome.SAME:
            return None
        field = _Field(start, values, found)
        if self._ask(field.quieted(field.nothing)) is Outcome.SAME:
            return field.reduction(field.nothing, capped=False)
        for simpler in (field.ones(), field.small()):
            if self._ask(simpler.quieted(simpler.everything)) is Outcome.SAME:
                field = simpler
                break
        kept = self._fewest(field)
        return field.reduction(kept, capped=self._tests >= MOST_TESTS)

    def _fewest(self, field: _Field) -> Mask:
        """1-minimal, or what is left after so many tests."""
        kept = np.flatnonzero(field.everything)
        parts = 2
        while len(kept) > 1:
            chunks = [chunk for chunk in np.array_split(kept, parts) if chunk.size]
            smaller = self._any_of(field, chunks)
            if smaller is not None:
                kept, parts = smaller, 2
                continue
            rest = [np.setdiff1d(kept, chunk, assume_unique=True) for chunk in chunks] if parts > 2 else []
            smaller = self._any_of(field, rest)
            if smaller is not None:
                kept, parts = smaller, max(parts - 1, 2)
            elif parts >= len(kept) or self._tests >= MOST_TESTS:
                break
            else:
                parts = min(2 * parts, len(kept))
        return field.mask(kept)

    def _any_of(self, field: _Field, sets: Sequence[npt.NDArray[np.intp]]) -> npt.NDArray[np.intp] | None:
        """The first of these sets of elements that is enough."""
        allowed = sets[: max(0, MOST_TESTS - self._tests)]
        candidates = [field.quieted(field.mask(each)) for each in allowed]
        found = self._first(candidates)
        if found is None:
            self._tests += len(candidates)
            return None
        place = next(i for i, candidate in enumerate(candidates) if candidate is found)
        self._tests += place + 1
        return allowed[place]


@final
class _Field:
    """All elements that may be changed, as one row."""

    def __init__(self, start: Candidate, values: Values, found: Sequence[Slot], base: Words | None = None) -> None:
        self._start = start
        self._values = values
        self._slots = found
        self._base: Sequence[Words] = [words(values, slot) for slot in found] if base is None else list(base)
        self._special = [special(row, slot.format) for row, slot in zip(self._base, found, strict=True)]

    @property
    def nothing(self) -> Mask:
        """No element is kept."""
        return np.zeros(sum(row.size for row in self._base), dtype=bool)

    @property
    def everything(self) -> Mask:
        """Every element that is not quiet already, and not special."""
        rows = zip(self._base, self._special, self._slots, strict=True)
        return np.concatenate([(row != slot.quiet) & ~odd for row, odd, slot in rows])

    def mask(self, kept: npt.NDArray[np.intp]) -> Mask:
        """Elements by their position in the row."""
        chosen = self.nothing
        chosen[kept] = True
        return chosen

    def ones(self) -> _Field:
        """Every element that is not special is 1."""
        return self._with([np.full_like(row, written(1, slot.format)) for row, slot in self._rows()])

    def small(self) -> _Field:
        """Every element that is not special is a small whole number."""
        return self._with([rounded(row, slot) for row, slot in self._rows()])

    def quieted(self, kept: Mask) -> Candidate:
        """The candidate in which only these elements are not quiet."""
        changed: list[tuple[Slot, Words]] = []
        for (row, slot), odd, chosen in zip(self._rows(), self._special, self._split(kept), strict=True):
            changed.append((slot, np.where(chosen | odd, row, np.array(slot.quiet, dtype=row.dtype))))
        return Candidate(case=self._start.case, values=with_words(self._values, changed))

    def reduction(self, kept: Mask, *, capped: bool) -> Reduction:
        """What is told of a set of elements."""
        named = [
            index_of(self._values, slot, int(place))
            for slot, chosen in zip(self._slots, self._split(kept), strict=True)
            for place in slot.places[np.flatnonzero(chosen)[:NAMED]]
        ]
        return Reduction(
            candidate=self.quieted(kept),
            kept=int(kept.sum()),
            special=sum(int(odd.sum()) for odd in self._special),
            capped=capped,
            places=tuple(named[:NAMED]),
        )

    def _rows(self) -> list[tuple[Words, Slot]]:
        return list(zip(self._base, self._slots, strict=True))

    def _split(self, kept: Mask) -> list[Mask]:
        return np.split(kept, np.cumsum([row.size for row in self._base])[:-1])

    def _with(self, rows: Sequence[Words]) -> _Field:
        """The same elements, special ones aside, from other numbers."""
        whole: Any = [np.where(odd, old, new) for odd, old, new in zip(self._special, self._base, rows, strict=True)]
        return _Field(self._start, self._values, self._slots, whole)
