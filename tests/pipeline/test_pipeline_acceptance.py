"""Acceptances cover what their commit holds, and nothing after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pipeline_notation import repository
from pipeline_speed import arm, comparison, comparison_run

from opsdebug_ci.github import Event
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing, SpeedVerdict
from opsdebug_ci.pipeline.acceptance import Ancestry, needing_person
from opsdebug_ci.plan.commit_order import is_within, parents_of

HISTORY: Mapping[str, tuple[str, ...]] = {
    "oldest": (),
    "old": ("oldest",),
    "base": ("old",),
    "head": ("base",),
    "newer": ("head",),
    # a pull request from `base`, and what is made of it
    "accepted": ("base",),
    "pushed": ("accepted",),
    "tip": ("base",),
    "test of accepted": ("base", "accepted"),
    "test on the tip": ("tip", "accepted"),
    "test of pushed": ("base", "pushed"),
    "forged": ("base", "accepted"),
    "test of forged": ("base", "forged"),
    "onto a stranger": ("stranger", "accepted"),
    "stranger": (),
    "octopus": ("base", "accepted", "stranger"),
    "backwards": ("accepted", "base"),
}
"""Commits and their parents."""


def within(commit: str, other: str) -> bool:
    return commit == other or any(within(commit, parent) for parent in HISTORY[other])


ANCESTRY = Ancestry(within=within, parents=lambda commit: HISTORY[commit])
PULL = Event(name="pull_request", pull_request=7, head_commit="accepted", base_commit="base", recording=False)
MERGED = Event(name="push", recording=True)
GROUP = Event(name="merge_group", recording=False)
BY_HAND = Event()


def needing(why: Comparing, base: str, accepted_at: str | None, *, dirty: bool = False) -> tuple[str, ...]:
    run = comparison_run(
        arms=(arm("base", "base"), arm("a week ago", "old"), arm("head", "head", dirty=dirty)),
        comparisons=(comparison("softmax", SpeedVerdict.REGRESSED, why=why, base=base),),
    )
    accepted: dict[str, Sequence[str]] = {} if accepted_at is None else {"softmax": (accepted_at,)}
    return needing_person(PerformanceDocument(comparison=run), accepted, BY_HAND, ANCESTRY)


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


@pytest.mark.parametrize(
    ("event", "base", "head", "covered"),
    [
        (PULL, "base", "test of accepted", True),
        (PULL, "base", "accepted", True),  # a job that checks out the head itself
        (PULL, "tip", "test on the tip", True),  # run again after the base branch went on
        (replace(PULL, head_commit="pushed"), "base", "test of pushed", False),
        (replace(PULL, head_commit="pushed"), "base", "pushed", False),
        # the author pushes a merge that names the accepted commit and holds something else
        (replace(PULL, head_commit="forged"), "base", "test of forged", False),
        (replace(PULL, head_commit="forged"), "base", "forged", False),
        (PULL, "stranger", "onto a stranger", False),
        (PULL, "old", "test of accepted", False),  # the change and what else came since
        (PULL, "base", "octopus", False),
        (PULL, "accepted", "backwards", False),
        (replace(PULL, base_commit=""), "base", "test of accepted", False),
        (MERGED, "base", "test of accepted", True),  # merged, and tested on the default branch
        (MERGED, "old", "test of accepted", False),
        (GROUP, "tip", "test on the tip", True),
        (GROUP, "base", "test of pushed", False),
        (replace(MERGED, recording=False), "base", "test of accepted", False),  # a push to some other branch
        (BY_HAND, "base", "test of accepted", False),
    ],
)
def test_a_merge_that_the_event_vouches_for_stands_for_what_it_merges(
    event: Event, base: str, head: str, *, covered: bool
) -> None:
    run = comparison_run(
        arms=(arm("base", base), arm("head", head)), comparisons=(comparison("softmax", SpeedVerdict.REGRESSED),)
    )
    accepted = {"softmax": ("accepted",)}
    left = needing_person(PerformanceDocument(comparison=run), accepted, event, ANCESTRY)
    assert left == (() if covered else ("softmax",))


def test_every_acceptance_that_counts_is_looked_at() -> None:
    run = comparison_run(
        arms=(arm("base", "base"), arm("head", "head")), comparisons=(comparison("softmax", SpeedVerdict.REGRESSED),)
    )
    accepted = {"softmax": ("pushed", "head")}
    assert needing_person(PerformanceDocument(comparison=run), accepted, BY_HAND, ANCESTRY) == ()


def test_each_operator_is_told_once_and_only_when_it_regressed() -> None:
    run = comparison_run(
        arms=(arm("base", "base"), arm("head", "head")),
        comparisons=(
            comparison("softmax", SpeedVerdict.REGRESSED),
            comparison("softmax", SpeedVerdict.REGRESSED, dims={"M": 8}),
            comparison("gelu", SpeedVerdict.SUSPECTED),
        ),
    )
    assert needing_person(PerformanceDocument(comparison=run), {}, BY_HAND, ANCESTRY) == ("softmax",)
    assert needing_person(PerformanceDocument(), {}, BY_HAND, ANCESTRY) == ()


def test_over_real_commits_the_merge_of_a_pull_request_is_covered_and_a_push_is_not(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    made = repository(tmp_path / "made", add="x + y")
    git, base = made.git, made.commit()
    git("switch", "--quiet", "--create", "topic")
    (made.directory / "change.txt").write_text("one")
    accepted = made.commit()
    (made.directory / "change.txt").write_text("two")
    pushed = made.commit()
    tests = {}
    for head in (accepted, pushed):
        git("switch", "--quiet", "--detach", base)
        git("merge", "--quiet", "--no-ff", "--message=test", head)
        tests[head] = git("rev-parse", "HEAD")
    git("switch", "--quiet", "--create", "shown")
    git("clone", "--quiet", "--depth=2", f"file://{made.directory}", str(tmp_path / "shallow"))
    for root in (made.directory, tmp_path / "shallow"):
        known = Ancestry(within=partial(is_within, root), parents=partial(parents_of, root))
        left = {}
        for head, test in tests.items():
            event = replace(PULL, head_commit=head, base_commit=base)
            run = comparison_run((arm("base", base), arm("head", test)), (comparison("add", SpeedVerdict.REGRESSED),))
            left[head] = needing_person(PerformanceDocument(comparison=run), {"add": (accepted,)}, event, known)
        # the shallow clone knows the merge of the push alone
        assert left == {accepted: () if root == made.directory else ("add",), pushed: ("add",)}
