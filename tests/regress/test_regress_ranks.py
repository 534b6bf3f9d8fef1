"""Ranks against exact enumeration, and intervals against their own promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.regress.ranks import probability_larger, shift

SIZES = [(1, 1), (2, 3), (4, 4), (3, 6), (5, 5)]


def enumerated(base: np.ndarray, head: np.ndarray) -> float:
    """Share of all ways to deal the pooled values in which as many pairs are in order as in the given one."""

    def wins(low: np.ndarray, high: np.ndarray) -> float:
        return float((high[:, None] > low).sum() + 0.5 * (high[:, None] == low).sum())

    pooled = np.concatenate([base, head])
    seen = wins(base, head)
    ways = list(itertools.combinations(range(pooled.size), head.size))
    as_large = sum(wins(np.delete(pooled, chosen), pooled[list(chosen)]) >= seen for chosen in ways)
    return as_large / len(ways)


@pytest.mark.parametrize(("first", "second"), SIZES)
def test_p_is_that_of_all_ways_to_deal_the_values(first: int, second: int) -> None:
    random = np.random.default_rng(first * 10 + second)
    for shifted in (-1.0, 0.0, 1.0):
        base, head = random.normal(size=first), random.normal(shifted, size=second)
        assert probability_larger(base, head) == pytest.approx(enumerated(base, head), abs=1e-12)


def test_the_smallest_p_is_one_way_of_all() -> None:
    base, head = np.arange(8.0), np.arange(8.0) + 100
    assert probability_larger(base, head) == pytest.approx(1 / math.comb(16, 8))
    assert probability_larger(head, base) == 1.0


def test_ties_never_make_a_finding_stronger() -> None:
    base, head = np.array([1.0, 2.0, 3.0, 4.0]), np.array([4.0, 5.0, 6.0, 7.0])
    assert probability_larger(base, head) > probability_larger(base, head + 0.5)
    assert probability_larger(base, base) > 0.4


@given(
    base=st.lists(st.floats(-10, 10), min_size=1, max_size=9),
    head=st.lists(st.floats(-10, 10), min_size=1, max_size=9),
)
def test_the_estimate_is_the_median_difference_within_its_interval(base: list[float], head: list[float]) -> None:
    found = shift(np.array(base), np.array(head))
    assert found.estimate == pytest.approx(np.median([h - b for h in head for b in base]), abs=1e-12)
    assert found.low <= found.estimate <= found.high


@pytest.mark.parametrize("size", [4, 8, 12])
def test_the_interval_holds_what_it_says(size: int) -> None:
    random = np.random.default_rng(size)
    tries = 600
    found = [shift(random.standard_t(3, size), random.standard_t(3, size) + 0.3) for _ in range(tries)]
    held = sum(one.low <= 0.3 <= one.high for one in found)
    assert found[0].confidence >= 0.95
    assert held / tries > 0.95 - 3 * math.sqrt(0.95 * 0.05 / tries)


def test_too_few_values_say_what_their_interval_holds() -> None:
    found = shift(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert (found.low, found.high) == (1.0, 3.0)
    assert found.confidence == pytest.approx(1 - 2 / 6)
