"""The cover against a checker that knows nothing of it: it walks the full product of the axes."""

from __future__ import annotations

import math
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdebug_ci.plan.cover import Grid, PairCoverage, Row, coverage, pairwise

Forbidden = frozenset[tuple[tuple[int, int], tuple[int, int]]]


def grid_of(
    sizes: list[int], forbidden: Forbidden = frozenset(), weights: dict[tuple[str, str], int] | None = None
) -> Grid:
    names = [f"axis{position}" for position in range(len(sizes))]
    places = {name: position for position, name in enumerate(names)}
    return Grid(
        axes=dict(zip(names, sizes, strict=True)),
        admits=lambda left, one, right, other: ((places[left], one), (places[right], other)) not in forbidden,
        weights=weights or {},
    )


def is_admissible(row: Row, forbidden: Forbidden) -> bool:
    return not any(pair in forbidden for pair in combinations(enumerate(row), 2))


def uncovered(sizes: list[int], forbidden: Forbidden, rows: tuple[Row, ...]) -> set[object]:
    """Pairs and values that an admissible row of the full product holds, and no row of `rows` does."""
    wanted: set[object] = set()
    for row in product(*map(range, sizes)):
        if is_admissible(row, forbidden):
            wanted.update(combinations(enumerate(row), 2))
            wanted.update(enumerate(row))
    return (
        wanted
        - {pair for row in rows for pair in combinations(enumerate(row), 2)}
        - {spot for row in rows for spot in enumerate(row)}
    )


@st.composite
def spaces(draw: st.DrawFn) -> tuple[list[int], Forbidden]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5), label="sizes")
    spots = [(axis, index) for axis, size in enumerate(sizes) for index in range(size)]
    pairs = [pair for pair in combinations(spots, 2) if pair[0][0] != pair[1][0]]
    forbidden = draw(st.lists(st.sampled_from(pairs), max_size=6), label="forbidden") if pairs else []
    return sizes, frozenset(forbidden)


@given(spaces())
@settings(max_examples=150, deadline=None)
def test_every_admissible_pair_and_value_is_covered_by_admissible_rows(space: tuple[list[int], Forbidden]) -> None:
    sizes, forbidden = space
    rows = pairwise(grid_of(sizes, forbidden))
    assert uncovered(sizes, forbidden, rows) == set()
    assert all(is_admissible(row, forbidden) for row in rows)
    assert len(set(rows)) == len(rows)


def test_the_checker_notices_a_cover_without_one_pair() -> None:
    sizes = [3, 4, 2, 3]
    rows = pairwise(grid_of(sizes))
    lost = ((0, 2), (1, 3))
    planted = tuple(row for row in rows if (row[0], row[1]) != (2, 3))
    assert uncovered(sizes, frozenset(), rows) == set()
    assert lost in uncovered(sizes, frozenset(), planted)


@pytest.mark.parametrize("sizes", [[3, 3, 3, 3], [5, 4, 3, 2], [15, 7, 3, 3, 10], [20, 20]])
def test_the_cover_is_far_smaller_than_the_product_and_near_its_bound(sizes: list[int]) -> None:
    rows = pairwise(grid_of(sizes))
    bound = math.prod(sorted(sizes)[-2:])  # no two pairs of the two longest axes fit one row
    assert bound <= len(rows) <= 1.35 * bound


def test_the_same_space_gives_the_same_rows() -> None:
    assert pairwise(grid_of([5, 4, 3, 2])) == pairwise(grid_of([5, 4, 3, 2]))


def test_given_rows_come_first_and_are_kept_beyond_the_budget() -> None:
    first = ((0, 0, 0), (1, 0, 0), (2, 0, 0))
    assert pairwise(grid_of([3, 3, 3]), first=first)[:3] == first
    assert pairwise(grid_of([3, 3, 3]), first=first, budget=2) == first


@given(st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_a_budget_is_kept(budget: int) -> None:
    rows = pairwise(grid_of([6, 5, 3]), budget=budget)
    assert len(rows) == min(budget, len(pairwise(grid_of([6, 5, 3]))))
    assert rows == pairwise(grid_of([6, 5, 3]))[:budget]


def test_a_budget_drops_light_pairs_and_keeps_values_and_heavy_pairs() -> None:
    grid = grid_of([10, 10, 3], weights={("axis0", "axis2"): 4})
    found = coverage(grid, pairwise(grid, budget=30))
    assert found == (
        PairCoverage(axes=("axis0", "axis1"), possible=100, covered=30),
        PairCoverage(axes=("axis0", "axis2"), possible=30, covered=30),
        PairCoverage(axes=("axis1", "axis2"), possible=30, covered=30),
    )


def test_every_value_is_seen_before_pairs_compete() -> None:
    rows = pairwise(grid_of([12, 7, 3]), budget=12)
    assert {row[0] for row in rows} == set(range(12))


def test_coverage_counts_only_possible_pairs() -> None:
    forbidden = frozenset({((0, 0), (1, 0))})
    grid = grid_of([2, 2], forbidden)
    assert coverage(grid, ((0, 1),)) == (PairCoverage(axes=("axis0", "axis1"), possible=3, covered=1),)
    assert coverage(grid, pairwise(grid)) == (PairCoverage(axes=("axis0", "axis1"), possible=3, covered=3),)


def test_a_pair_no_row_can_hold_is_not_waited_for() -> None:
    # 0 of the first axis and 0 of the second each exclude the other's only partner on the third
    forbidden = frozenset({((0, 0), (2, 0)), ((1, 0), (2, 1))})
    rows = pairwise(grid_of([2, 2, 2], forbidden))
    assert uncovered([2, 2, 2], forbidden, rows) == set()
    assert not any(row[:2] == (0, 0) for row in rows)


def test_a_space_without_admissible_rows_gives_none() -> None:
    assert pairwise(grid_of([1, 1], frozenset({((0, 0), (1, 0))}))) == ()
