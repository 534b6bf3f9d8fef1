"""What of a failing case may be varied, and which of two cases is smaller.

Decides the order in which cases are called smaller: the largest tensor first, because it is what a person reads and a
machine computes; then dims that are not 1; then the sum of the dims.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from opsdebug_ci.failures.shrinking.trial import Candidate
from opsdebug_ci.model.vocabulary import ValueDomain

Dims = Mapping[str, int]

Measure = tuple[int, int, int, tuple[int, ...]]
"""Elements, dims that are not 1, sum of the dims, dims."""


def product(dims: Dims) -> int:
    """All dims multiplied: what is taken for the elements where no shape is declared."""
    return math.prod(dims.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What may be varied of a case."""

    elements: Callable[[Dims], int] = product
    """Elements of its largest tensor at these dims."""

    growing: bool = False
    """One dim may grow where another shrinks and no tensor does; only where every tensor's shape is known."""

    dtypes: tuple[str, ...] = ()
    """Dtypes the operator supports."""

    domains: Mapping[str, ValueDomain | None] = field(default_factory=dict)
    """Values that an argument may hold, by its name; None: a function of the operator's own makes them."""

    def measure(self, dims: Dims) -> Measure:
        """How large a case is."""
        sizes = tuple(dims.values())
        return self.elements(dims), sum(size != 1 for size in sizes), sum(sizes), sizes

    def smaller(self, dims: Dims, than: Dims) -> bool:
        """Whether a case is smaller in every respect that counts: no larger tensor, and earlier in the order."""
        return self.measure(dims) < self.measure(than)


def at(candidate: Candidate, dims: Dims) -> Candidate:
    """The candidate at other dims, on values made from the case."""
    return Candidate(case=replace(candidate.case, dims={**candidate.case.dims, **dims}))
