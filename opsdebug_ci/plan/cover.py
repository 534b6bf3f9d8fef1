"""A pairwise cover: few rows in which every two values of different axes meet.

Decides rows, deterministically, by the greedy construction of AETG (Cohen, Dalal, Fredman, Patton: "The AETG System:
An Approach to Testing Based on Combinatorial Design", IEEE Transactions on Software Engineering 23(7), 1997, section 3,
doi:10.1109/32.605761): each row starts from an uncovered pair and takes, axis by axis, the value that covers most.
Two differences: no random restarts, so that a plan is the same everywhere, and pairs carry weights, so that a row
budget drops the least important pairs first. Deliberately knows nothing about operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

Row = tuple[int, ...]
"""Index of a value on every axis."""

Spot = tuple[int, int]
"""(axis, index of a value on it)."""

Target = tuple[Spot, ...]
"""What a row can cover: one spot, or a pair of spots on different axes."""

SINGLE_WEIGHT = 16
"""Weight of a value not seen yet: above the sum of what its pairs can weigh, so values come before pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The space to cover."""

    axes: Mapping[str, int]
    """Number of values by axis name, each at least 1."""

    admits: Callable[[str, int, str, int], bool] = field(default=lambda *_: True)
    """Whether two values (axis, index, axis, index) may meet; called with the axes in their order."""

    weights: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Importance of the pairs of two axes, named in their order; 1 where not given."""

    def meets(self, left: Spot, right: Spot) -> bool:
        """Whether two values on different axes, the earlier axis first, may be in one row."""
        names = tuple(self.axes)
        return self.admits(names[left[0]], left[1], names[right[0]], right[1])

    def weight(self, target: Target) -> int:
        """How much covering this value, or this pair of values, is worth."""
        if len(target) == 1:
            return SINGLE_WEIGHT
        names = tuple(self.axes)
        return self.weights.get((names[target[0][0]], names[target[1][0]]), 1)

    def targets(self) -> Iterator[Target]:
        """Every value and every pair that some admissible row holds."""
        spots = [(axis, index) for axis, count in enumerate(self.axes.values()) for index in range(count)]
        pairs = ((left, right) for left, right in combinations(spots, 2) if left[0] != right[0])
        for target in (*((spot,) for spot in spots), *(pair for pair in pairs if self.meets(*pair))):
            if next(_completions(self, dict(target)), None) is not None:
                yield target


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCoverage:
    """How many pairs of two axes the rows hold."""

    axes: tuple[str, str]
    """Names of the two axes."""

    possible: int
    """Pairs that some admissible row holds."""

    covered: int
    """Those of them in the rows."""


def pairwise(grid: Grid, *, first: Sequence[Row] = (), budget: int | None = None) -> tuple[Row, ...]:
    """Rows that hold every admissible pair, or as many as `budget` rows can, by weight.

    Args:
        grid: the space.
        first: admissible rows the cover starts with, kept even beyond the budget.
        budget: most rows; None: as many as it takes.
    """
    rows = list(dict.fromkeys(first))
    missing = {target: grid.weight(target) for target in grid.targets()}
    uses: Counter[Spot] = Counter()
    for row in rows:
        _enter(row, missing, uses)
    while missing and (budget is None or len(rows) < budget):
        seed = max(missing, key=missing.__getitem__)  # the first of the heaviest
        row = next(_completions(grid, dict(seed), lambda chosen, spot: _rank(chosen, spot, missing, uses)))
        rows.append(row)
        _enter(row, missing, uses)
    return tuple(rows)


def coverage(grid: Grid, rows: Sequence[Row]) -> tuple[PairCoverage, ...]:
    """How many of the possible pairs `rows` hold, for every two axes: what a budget has dropped is the difference."""
    held = {pair for row in rows for pair in combinations(enumerate(row), 2)}
    possible = [target for target in grid.targets() if len(target) == 2]
    names = tuple(grid.axes)
    counts: Counter[tuple[str, str]] = Counter()
    covered: Counter[tuple[str, str]] = Counter()
    for left, right in possible:
        axes = (names[left[0]], names[right[0]])
        counts[axes] += 1
        covered[axes] += (left, right) in held
    return tuple(PairCoverage(axes=axes, possible=count, covered=covered[axes]) for axes, count in counts.items())


Rank = Callable[[Mapping[int, int], Spot], tuple[int, int]]
"""Order in which values are tried beside those chosen: smallest first, then by index."""


def _rank(
    chosen: Mapping[int, int], spot: Spot, missing: Mapping[Target, int], uses: Mapping[Spot, int]
) -> tuple[int, int]:
    """Most weight covered first; among equals the least used, so that what is left over spreads."""
    pairs = (missing.get(_pair(other, spot), 0) for other in chosen.items())
    return (-missing.get((spot,), 0) - sum(pairs), uses.get(spot, 0))


def _completions(grid: Grid, chosen: dict[int, int], rank: Rank | None = None) -> Iterator[Row]:
    """Admissible rows that hold `chosen`, best first by `rank` (by index without one) on each axis in turn."""
    axis = next((axis for axis in range(len(grid.axes)) if axis not in chosen), None)
    if axis is None:
        yield tuple(chosen[axis] for axis in range(len(grid.axes)))
        return
    spots = [(axis, index) for index in range(tuple(grid.axes.values())[axis])]
    for spot in spots if rank is None else sorted(spots, key=lambda spot: rank(chosen, spot)):
        if all(grid.meets(*_pair(other, spot)) for other in chosen.items()):
            yield from _completions(grid, {**chosen, axis: spot[1]}, rank)


def _pair(one: Spot, other: Spot) -> tuple[Spot, Spot]:
    return (one, other) if one < other else (other, one)


def _enter(row: Row, missing: dict[Target, int], uses: Counter[Spot]) -> None:
    spots = tuple(enumerate(row))
    uses.update(spots)
    for target in (*((spot,) for spot in spots), *combinations(spots, 2)):
        missing.pop(target, None)
