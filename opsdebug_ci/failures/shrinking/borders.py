"""What just does not fail: the nearest passing case, and the border between the two in words.

Decides which neighbours of the smallest failing case are looked at: one less of each dim, then more of it, then simpler
settings. Silent about a neighbour that was not seen to pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import final

from opsdebug_ci.failures.shrinking.configuration import contiguous, ordinary, plain_dtype
from opsdebug_ci.failures.shrinking.shape import Ask, Names, groups
from opsdebug_ci.failures.shrinking.space import Space, at
from opsdebug_ci.failures.shrinking.trial import Candidate, Outcome
from opsdebug_ci.model.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """A failing case and a passing one beside it."""

    text: str | None
    """E.g. `fails at n=129, passes at n=128`; None: the passing case is empty, which tells a person nothing."""

    passing: Case
    """The one that passes."""


@final
class BorderSearch:
    """Looks for passing neighbours.

    Args:
        ask: what a candidate comes to.
        space: what may be varied.
        start: what the shrinking began with; nothing larger is run.
    """

    def __init__(self, ask: Ask, space: Space, start: Candidate) -> None:
        self._ask = ask
        self._space = space
        self._start = start

    def find(self, smallest: Candidate) -> tuple[Border, ...]:
        """Borders of the smallest failing case, the most telling first."""
        sizes = list(self._below(smallest)) or list(self._above(smallest))
        return (*sizes, *self._settings(smallest))

    def _below(self, smallest: Candidate) -> Iterator[Border]:
        """One less of each dim, but not none: an empty case passes whatever is wrong.

        Dims of one size together only where none of them tells anything by itself.
        """
        told: set[str] = set()
        for names in sorted(groups(smallest), key=len):
            size = smallest.case.dims[names[0]]
            candidate = at(smallest, dict.fromkeys(names, size - 1))
            if size > 1 and not told & set(names) and self._passes(candidate):
                told |= set(names)
                yield _border("fails at", names, size, candidate)

    def _above(self, smallest: Candidate) -> Iterator[Border]:
        """Twice as much of a dim, up to where the shrinking began; then the border by bisection."""
        for name in smallest.case.dims:
            low = smallest.case.dims[name]
            high = max(1, 2 * low)
            while high <= self._start.case.dims[name]:
                outcome = self._outcome_at(smallest, name, high)
                if outcome is Outcome.PASSES:
                    yield self._between(smallest, name, low, high)
                    break
                if outcome is not Outcome.SAME:
                    break
                low, high = high, 2 * high

    def _between(self, smallest: Candidate, name: str, low: int, high: int) -> Border:
        while high - low > 1:
            middle = (low + high) // 2
            outcome = self._outcome_at(smallest, name, middle)
            if outcome is Outcome.PASSES:
                high = middle
            elif outcome is Outcome.SAME:
                low = middle
            else:
                break
        return _border("fails up to", (name,), low, at(smallest, {name: high}))

    def _outcome_at(self, smallest: Candidate, name: str, size: int) -> Outcome:
        candidate = at(smallest, {name: size})
        most = self._space.elements(self._start.case.dims)
        return Outcome.INVALID if self._space.elements(candidate.case.dims) > most else self._ask(candidate)

    def _settings(self, smallest: Candidate) -> Iterator[Border]:
        case = smallest.case
        for label, failing, passing, other in (
            ("layout", case.layout, contiguous(case).layout, contiguous(case)),
            ("inputs", case.inputs, ordinary(case).inputs, ordinary(case)),
            ("dtype", case.dtype, plain_dtype(case, self._space).dtype, plain_dtype(case, self._space)),
        ):
            if other != case and self._passes(Candidate(case=other)):
                yield Border(text=f"fails with {label} {failing}, passes with {passing}", passing=other)

    def _passes(self, candidate: Candidate) -> bool:
        return self._ask(candidate) is Outcome.PASSES


def nearest(smallest: Candidate, passed: Iterable[Candidate]) -> Border | None:
    """Of the passing cases met on the way, the one with the fewest other dims, the least changed; None: there is none.

    Only cases that differ in dims alone: what else differs would be the reason as well. One that became empty passes
    whatever is wrong, so it is taken where there is no other, and without words.
    """
    case = smallest.case
    alike = [other.case for other in passed if other.case != case and replace(other.case, dims=case.dims) == case]
    best = min(alike, key=lambda other: (_emptied(case, other), _distance(case, other)), default=None)
    if best is None:
        return None
    names = [name for name in case.dims if case.dims[name] != best.dims[name]]
    fails, passes = (" ".join(f"{name}={one.dims[name]}" for name in names) for one in (case, best))
    return Border(text=None if _emptied(case, best) else f"fails at {fails}, passes at {passes}", passing=best)


def _emptied(case: Case, other: Case) -> bool:
    return any(size == 0 != case.dims[name] for name, size in other.dims.items())


def _distance(case: Case, other: Case) -> tuple[int, float]:
    pairs = [(size, other.dims[name]) for name, size in case.dims.items() if size != other.dims[name]]
    return len(pairs), sum(abs(math.log((one + 1) / (two + 1))) for one, two in pairs)


def _border(words: str, names: Names, size: int, passing: Candidate) -> Border:
    label = "=".join(names)
    return Border(text=f"{words} {label}={size}, passes at {label}={passing.case.dims[names[0]]}", passing=passing.case)
