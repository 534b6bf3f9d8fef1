"""The search for the smallest dims that still fail for the same cause.

(1) every dim capped at once, then (2) dim by dim, the largest first and equal ones together, to a fixpoint: the
smallest of the sizes worth trying, then bisection down to its border; (3) two dims gathered into one, which shows a
border that lies in their product.

Runs nothing itself: a `Ledger` answers, and answers `unsettled` where the budget is spent, which ends every loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from typing import final

from opsdebug_ci.failures.shrinking.sizes import JOINT_CAPS, sizes_below
from opsdebug_ci.failures.shrinking.space import Space, at, product
from opsdebug_ci.failures.shrinking.trial import Candidate, Outcome

First = Callable[[Iterable[Candidate]], "Candidate | None"]
"""The first of several candidates that fails for the same cause."""

Ask = Callable[[Candidate], Outcome]
"""What a candidate comes to."""

GATHERED = 6
"""Pairs of dims that are gathered at most: all of three dims."""

MOST_GATHERED = 1 << 24
"""Product of all dims up to which they are gathered: outputs may be as large though no argument is."""

Names = tuple[str, ...]


@final
class ShapeSearch:
    """Looks for smaller dims.

    Args:
        first: answers for several candidates.
        ask: answers for one.
        space: what may be varied.
    """

    def __init__(self, first: First, ask: Ask, space: Space) -> None:
        self._first = first
        self._ask = ask
        self._space = space

    def shrink(self, start: Candidate) -> Candidate:
        """The smallest found; `start` itself when nothing smaller fails alike."""
        current = self._fixpoint(self._capped(start))
        gathered = self._gathered(current)
        return current if gathered is None else gathered

    def _capped(self, current: Candidate) -> Candidate:
        dims = current.case.dims
        capped = [{name: min(size, cap) for name, size in dims.items()} for cap in JOINT_CAPS]
        return self._first(self._smaller(current, capped)) or current

    def _fixpoint(self, current: Candidate) -> Candidate:
        while True:
            before = current.key
            for names in groups(current):
                if len({current.case.dims[name] for name in names}) == 1:
                    current = self._lowered(current, names)
            if current.key == before:
                return current

    def _lowered(self, current: Candidate, names: Names) -> Candidate:
        """The smallest size worth trying that fails, then the smallest in one stretch with it."""
        tried = sizes_below(current.case.dims[names[0]])
        found = self._first(self._smaller(current, (dict.fromkeys(names, size) for size in tried)))
        current = found or current
        high = current.case.dims[names[0]]
        return self._bisected(current, names, max((size for size in tried if size < high), default=high - 1))

    def _bisected(self, current: Candidate, names: Names, low: int) -> Candidate:
        """Down to a size whose predecessor does not fail alike, between `low`, which does not either, and the size."""
        high = current.case.dims[names[0]]
        while high - low > 1:
            middle = (low + high) // 2
            candidate = at(current, dict.fromkeys(names, middle))
            if self._ask(candidate) is Outcome.SAME:
                current, high = candidate, middle
            else:
                low = middle
        return current

    def _gathered(self, current: Candidate) -> Candidate | None:
        """All of one dim given to another, so that the elements stay and one dim is left; then down to the border."""
        dims = current.case.dims
        if not self._space.growing or product(dims) > MOST_GATHERED:
            return None
        pairs = [(one, other) for one, other in permutations(dims, 2) if dims[one] > 1 and dims[other] > 1][:GATHERED]
        for one, other in pairs:
            moved = {one: 1, other: dims[one] * dims[other]}
            found = self._first(self._smaller(current, [moved]))
            if found is not None:
                return self._bisected(found, (other,), dims[other])
        return None

    def _smaller(self, current: Candidate, wanted: Iterable[dict[str, int]]) -> Iterator[Candidate]:
        for dims in wanted:
            candidate = at(current, dims)
            if self._space.smaller(candidate.case.dims, current.case.dims):
                yield candidate


def groups(candidate: Candidate) -> tuple[Names, ...]:
    """Dims to lower: those of one size together, since they may have to be equal, then each; the largest first."""
    dims = candidate.case.dims
    sizes = sorted({size for size in dims.values() if size > 0}, reverse=True)
    alike = [tuple(name for name in dims if dims[name] == size) for size in sizes]
    tied = [names for names in alike if len(names) > 1]
    return (*tied, *((name,) for names in alike for name in names))
