"""Acceptances cover what their commit holds, and nothing after."""

from __future__ import annotations

import pytest
from pipeline_speed import arm, comparison, comparison_run

from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing, SpeedVerdict
from opsdebug_ci.pipeline.acceptance import needing_person

LINE = ("oldest", "old", "base", "head", "newer")
"""Commits of one branch, oldest first."""


def within(commit: str, other: str) -> bool:
    return LINE.index(commit) <= LINE.index(other)


def needing(why: Comparing, base: str, accepted_at: str | None, *, dirty: bool = False) -> tuple[str, ...]:
    run = comparison_run(
        arms=(arm("base", "base"), arm("a week ago", "old"), arm("head", "head", dirty=dirty)),
        comparisons=(comparison("softmax", SpeedVerdict.REGRESSED, why=why, base=base),),
    )
    accepted = {} if accepted_at is None else {"softmax": accepted_at}
    return needing_person(PerformanceDocument(comparison=run), accepted, within)


def test_what_nobody_accepted_needs_a_person() -> None:
    assert needing(Comparing.CHANGE, "base", None) == ("softmax",)


@pytest.mark.parametrize(
    ("why", "base", "accepted_at", "left"),
    [
        (Comparing.CHANGE, "base", "head", ()),
        (Comparing.CHANGE, "base", "newer", ()),
        (Comparing.CHANGE, "base", "base", ("softmax",)),
        (Comparing.CHANGE, "base", "", ("softmax",)),
        (Comparing.LADDER, "a week ago", "base", ()),
        (Comparing.LADDER, "base", "old", ("softmax",)),
    ],
)
def test_an_acceptance_reaches_as_far_as_its_commit(
    why: Comparing, base: str, accepted_at: str, left: tuple[str, ...]
) -> None:
    assert needing(why, base, accepted_at) == left


def test_uncommitted_code_is_never_covered() -> None:
    assert needing(Comparing.CHANGE, "base", "newer", dirty=True) == ("softmax",)


def test_each_operator_is_told_once_and_only_when_it_regressed() -> None:
    run = comparison_run(
        arms=(arm("base", "base"), arm("head", "head")),
        comparisons=(
            comparison("softmax", SpeedVerdict.REGRESSED),
            comparison("softmax", SpeedVerdict.REGRESSED, dims={"M": 8}),
            comparison("gelu", SpeedVerdict.SUSPECTED),
        ),
    )
    assert needing_person(PerformanceDocument(comparison=run), {}, within) == ("softmax",)
    assert needing_person(PerformanceDocument(), {}, within) == ()
