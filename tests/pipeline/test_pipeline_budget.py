"""A clock that is turned by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from opsdebug_ci.pipeline.budget import Budget


@dataclass
class Clock:
    """Stands still until it is turned."""

    ns: int = 5_000_000_000

    def __call__(self) -> int:
        return self.ns

    def turn(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)


def test_what_is_left_never_falls_below_nothing() -> None:
    clock = Clock()
    budget = Budget.begin("full", 10.0, clock)
    assert (budget.remaining_s(), budget.is_spent()) == (10.0, False)
    clock.turn(9.5)
    assert (budget.spent_s(), budget.remaining_s(), budget.is_spent()) == (9.5, 0.5, False)
    clock.turn(0.5)
    assert budget.is_spent(), "to the nanosecond"
    clock.turn(100)
    assert (budget.remaining_s(), budget.is_spent()) == (0.0, True)


def test_without_limit_nothing_is_ever_spent() -> None:
    clock = Clock()
    budget = Budget.begin("full", None, clock)
    clock.turn(1e6)
    assert (budget.remaining_s(), budget.is_spent()) == (math.inf, False)
    assert budget.share("comparison", 0.1).remaining_s() == math.inf


def test_shares_are_taken_of_what_is_left_so_what_a_part_leaves_goes_to_the_next() -> None:
    clock = Clock()
    budget = Budget.begin("full", 100.0, clock)
    correctness = budget.share("correctness", 0.6)
    assert correctness.remaining_s() == pytest.approx(60.0)
    clock.turn(20)
    assert correctness.remaining_s() == pytest.approx(40.0)
    comparison = budget.share("comparison", 0.5)
    assert comparison.remaining_s() == pytest.approx(40.0), "half of the 80 that are left"
    clock.turn(90)
    assert budget.share("history", 1.0).is_spent()


@pytest.mark.parametrize(
    ("done", "wanted", "note"),
    [
        (11, 34, "comparison: 11 of 34 operators compared within the budget"),
        (0, 3400, "comparison: 0 of 3,400 operators compared within the budget"),
        (34, 34, None),
        (0, 0, None),
    ],
)
def test_what_did_not_fit_is_told_by_name(done: int, wanted: int, note: str | None) -> None:
    assert Budget.begin("comparison", 1.0, Clock()).told(done, wanted, "operators compared") == note
