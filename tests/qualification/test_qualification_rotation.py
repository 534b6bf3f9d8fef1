"""What rounds plant."""

from __future__ import annotations

from collections import Counter

import pytest
from rotation import UNIFORM_ROUNDS, WHOLE, planting, spins
from trials import Kind

OPERATORS = [f"op{place}" for place in range(12)]


def test_a_whole_experiment_has_what_it_is_to_show() -> None:
    rounds = [planting(number, OPERATORS) for number in range(WHOLE)]
    counts = Counter(share for one in rounds if one.kind is not Kind.UNIFORM for share in one.shares.values())
    assert counts == {0.0: 228, 0.10: 100, 0.15: 120, 0.05: 20}
    assert Counter(one.kind for one in rounds) == {Kind.SAME: 19, Kind.MIXED: 20, Kind.UNIFORM: 2}


def test_every_operator_gets_its_part_of_every_slowdown() -> None:
    mixed = [one for number in range(WHOLE) if (one := planting(number, OPERATORS)).kind is Kind.MIXED]
    counts = {name: Counter(one.shares[name] for one in mixed) for name in OPERATORS}
    assert {one[0.15] for one in counts.values()} == {10}
    assert {one[0.10] for one in counts.values()} == {8, 9}
    assert {one[0.05] for one in counts.values()} == {1, 2}


@pytest.mark.parametrize("number", UNIFORM_ROUNDS)
def test_a_uniform_round_slows_every_operator_alike(number: int) -> None:
    assert planting(number, OPERATORS).shares == dict.fromkeys(OPERATORS, 0.10)


@pytest.mark.parametrize(("every", "least"), [(3, 6), (7, 2)])
def test_rounds_at_odd_intervals_meet_every_kind(every: int, least: int) -> None:
    kinds = Counter(planting(number, OPERATORS).kind for number in range(0, WHOLE, every))
    assert min(kinds[Kind.SAME], kinds[Kind.MIXED]) >= least


def test_a_wait_is_its_share_of_the_best_time_less_what_it_lasts_too_long() -> None:
    best = {"slow": 1_000_000.0, "fast": 20_000.0, "bare": 50_000.0, "tiny": 500.0}
    shares = {"slow": 0.10, "fast": 0.05, "bare": 0.0, "tiny": 0.10}
    assert spins(shares, best, 150.0) == {"slow": 99_850, "fast": 850, "tiny": 0}
