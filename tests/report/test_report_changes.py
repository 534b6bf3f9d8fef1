"""What changed since the last push: nothing is called fixed that was not looked at, nothing new that was there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judge_notation import ended, judged, raised, ran
from report_notation import GOOD, run_document

from opsdebug_ci.model import RunDocument
from opsdebug_ci.model.document import PlanFacts
from opsdebug_ci.model.publication import Changes, ReportedHead
from opsdebug_ci.report.changes import changes_since, reported_head

BEFORE, NOW = "b" * 40, "c" * 40


def push(failing="", *, passing="", skipped="", broken="", unchanged="") -> RunDocument:
    """One case per operator that is named."""
    cases = [
        *(judged(raised(), operator=name) for name in failing.split()),
        *(judged(ran(GOOD), operator=name) for name in passing.split()),
        *(judged(ended("skipped", reason="no compiler"), operator=name) for name in skipped.split()),
        *(judged(ended("inputs_broken", reason="none"), operator=name) for name in broken.split()),
    ]
    return run_document(cases, unchanged=tuple(unchanged.split()))


def told(changes: Changes | None) -> str:
    assert changes is not None
    kinds = (("new", changes.new), ("fixed", changes.fixed), ("still", changes.still), ("unjudged", changes.unjudged))
    return "; ".join(f"{word} {' '.join(key.operator for key in keys)}" for word, keys in kinds if keys)


def since(before: RunDocument, now: RunDocument, *, complete: bool = True) -> str:
    return told(changes_since(reported_head(BEFORE, before), now, complete=complete))


def known(document: RunDocument) -> RunDocument:
    groups = tuple(replace(group, known=True, since="a" * 40) for group in document.summary.groups)
    return replace(document, summary=replace(document.summary, groups=groups))


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (push("add gelu scan", passing="mean"), "new scan; still add gelu"),
        (push("add", passing="gelu"), "fixed gelu; still add"),
        (push("add", unchanged="gelu"), "fixed gelu; still add"),
        (push("add", skipped="gelu"), "still add; unjudged gelu"),
        (push("add", broken="gelu"), "still add; unjudged gelu"),
        (push("add"), "still add; unjudged gelu"),
        (push(passing="add gelu"), "fixed add gelu"),
    ],
)
def test_every_failure_of_either_push_is_told_once(now, words):
    assert since(push("add gelu"), now) == words


def test_a_missing_shard_fixes_nothing_and_its_news_are_told():
    assert since(push("add gelu"), push("scan", passing="add gelu"), complete=False) == "new scan; unjudged add gelu"


def test_a_run_that_left_cases_out_fixes_nothing():
    document = push(passing="add")
    short = replace(document, plan=PlanFacts(id="p", cases=2, mine=2))
    assert since(push("add"), short) == "unjudged add"
    assert since(push("add"), replace(short, plan=PlanFacts(id="p", cases=1, mine=1))) == "fixed add"


def test_what_the_baseline_knows_is_neither_new_nor_remembered():
    document = known(push("add"))
    assert since(push(passing="add"), document) == ""
    assert reported_head(NOW, document) == ReportedHead(commit=NOW, failures=(), regressed=())


def test_a_failure_that_joined_another_is_still_there():
    before, now = push("add gelu"), push("gelu")
    joined = replace(now.summary.groups[0], members=tuple(group.fingerprint for group in before.summary.groups))
    assert since(before, replace(now, summary=replace(now.summary, groups=(joined,)))) == "still add gelu"


def test_a_failure_that_left_another_is_not_new():
    before, now = push("gelu"), push("add gelu")
    joined = replace(before.summary.groups[0], members=tuple(group.fingerprint for group in now.summary.groups))
    assert since(replace(before, summary=replace(before.summary, groups=(joined,))), now) == "still gelu"


def test_nothing_is_said_against_nothing():
    assert changes_since(None, push("add"), complete=True) is None
    cut = replace(reported_head(BEFORE, push("add")), whole=False)
    assert changes_since(cut, push("add"), complete=True) is None


def test_what_is_remembered():
    document = replace(push("add", passing="mean"), regressions=("mean",))
    head = reported_head(NOW, document)
    assert (head.commit, head.regressed, head.whole) == (NOW, ("mean",), True)
    assert [(key.operator, key.cause) for key in head.failures] == [("add", "exception")]
    assert reported_head(NOW, None) == ReportedHead(commit=NOW, failures=(), regressed=())


def test_a_long_name_is_found_again():
    name = "x" * 100_000
    assert since(push(name), push(passing=name)) == f"fixed {'x' * 79}…"
