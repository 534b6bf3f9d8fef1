"""Acceptances cover what was slower by then, and nothing after."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from pipeline_speed import arm, comparison, comparison_run

from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing, SpeedVerdict
from opsdebug_ci.pipeline.acceptance import needing_person

DAYS = {
    commit: datetime(2026, 11, day, tzinfo=timezone.utc) for commit, day in (("old", 1), ("base", 20), ("head", 21))
}


def needing(why: Comparing, base: str, accepted_on: int | None, *, dirty: bool = False) -> tuple[str, ...]:
    run = comparison_run(
        arms=(arm("base", "base"), arm("a week ago", "old"), arm("head", "head", dirty=dirty)),
        comparisons=(comparison("softmax", SpeedVerdict.REGRESSED, why=why, base=base),),
    )
    accepted = {} if accepted_on is None else {"softmax": datetime(2026, 11, accepted_on, tzinfo=timezone.utc)}
    return needing_person(PerformanceDocument(comparison=run), accepted, DAYS.get)


def test_what_nobody_accepted_needs_a_person() -> None:
    assert needing(Comparing.CHANGE, "base", None) == ("softmax",)


@pytest.mark.parametrize(
    ("why", "base", "accepted_on", "left"),
    [
        (Comparing.CHANGE, "base", 22, ()),
        (Comparing.CHANGE, "base", 20, ("softmax",)),
        (Comparing.LADDER, "a week ago", 20, ()),
        (Comparing.LADDER, "base", 19, ("softmax",)),
    ],
)
def test_an_acceptance_reaches_as_far_as_its_time(
    why: Comparing, base: str, accepted_on: int, left: tuple[str, ...]
) -> None:
    assert needing(why, base, accepted_on) == left


def test_uncommitted_code_is_never_covered() -> None:
    assert needing(Comparing.CHANGE, "base", 30, dirty=True) == ("softmax",)


def test_each_operator_is_told_once_and_only_when_it_regressed() -> None:
    run = comparison_run(
        arms=(arm("base", "base"), arm("head", "head")),
        comparisons=(
            comparison("softmax", SpeedVerdict.REGRESSED),
            comparison("softmax", SpeedVerdict.REGRESSED, dims={"M": 8}),
            comparison("gelu", SpeedVerdict.SUSPECTED),
        ),
    )
    assert needing_person(PerformanceDocument(comparison=run), {}, DAYS.get) == ("softmax",)
    assert needing_person(PerformanceDocument(), {}, DAYS.get) == ()
