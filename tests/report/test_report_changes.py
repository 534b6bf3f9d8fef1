"""What changed since the last push: nothing is called fixed that was not looked at, nothing new that was there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judge_notation import ended, judged, raised, ran
from report_notation import GOOD, run_document

from opsdebug_ci.model import RecordedFailure, RunDocument
from opsdebug_ci.model.document import PlanFacts
from opsdebug_ci.model.publication import Changes, ReportedHead, failure_digest
from opsdebug_ci.report.changes import MOST_KNOWN, changes_since, fixed_since_baseline, reported_head

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
    digests = tuple(failure_digest(group.fingerprint) for group in document.summary.groups)
    assert reported_head(NOW, document) == ReportedHead(commit=NOW, failures=(), regressed=(), known=digests)


def doubted(document: RunDocument) -> RunDocument:
    """The store could not be read."""
    return replace(document, baseline_doubt="1 file of the store cannot be read")


def test_what_was_known_then_is_not_new_where_the_store_cannot_be_read_now():
    before = known(push("add", passing="gelu"))
    assert since(before, push("add gelu")) == "new gelu; still add"
    assert since(before, doubted(push("add gelu"))) == "new gelu; still add"
    joined = replace(push("gelu").summary.groups[0], members=tuple(g.fingerprint for g in before.summary.groups))
    now = push("gelu")
    assert since(before, doubted(replace(now, summary=replace(now.summary, groups=(joined,))))) == "still gelu"


def test_where_it_is_not_remembered_nothing_is_called_new():
    before = replace(reported_head(BEFORE, known(push("add"))), known=None)
    changes = changes_since(before, doubted(push("add gelu")), complete=True)
    assert told(changes) == "" and [key.operator for key in changes.doubtful] == ["add", "gelu"]
    sure = changes_since(before, push("gelu"), complete=True)
    assert told(sure) == "new gelu" and sure.doubtful == ()


def test_what_was_new_then_and_is_known_now_is_still_there_once():
    assert since(push("add"), known(push("add"))) == "still add"
    both = replace(reported_head(BEFORE, push("add")), known=(failure_digest("v2:other"),))
    assert told(changes_since(both, doubted(push("add")), complete=True)) == "still add"


def test_more_than_there_is_room_for_is_not_remembered():
    document = known(push("add"))
    (group,) = document.summary.groups
    many = tuple(replace(group, fingerprint=f"v2:{number}", members=()) for number in range(MOST_KNOWN + 1))
    for groups, remembered in ((many, None), (many[:-1], MOST_KNOWN)):
        head = reported_head(NOW, replace(document, summary=replace(document.summary, groups=groups)))
        assert (None if head.known is None else len(head.known)) == remembered


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


def recorded(document: RunDocument, *operators: str, fingerprint="v2:0", cause="tail_mask") -> RunDocument:
    """Every case of these operators, and of those named `other/x` a case that this run does not have, failed before."""
    found = []
    for number, word in enumerate(operators):
        operator, _, other = word.partition("/")
        cases = tuple(each.case.id for each in document.observations if each.case.operator == operator)
        found.append(
            RecordedFailure(
                fingerprint=f"{fingerprint}{number}",
                operator=operator,
                cause=cause,
                commit="a" * 40,
                cases=(*cases, *([other] if other else [])),
            )
        )
    return replace(document, recorded=tuple(found))


def fixed(document: RunDocument, *, complete: bool = True) -> str:
    return " ".join(f"{key.operator}:{key.cause}" for key in fixed_since_baseline(document, complete=complete))


def test_what_failed_at_the_baseline_and_passes_is_fixed():
    assert fixed(recorded(push(passing="add gelu scan"), "add", "gelu")) == "add:tail_mask gelu:tail_mask"
    assert fixed(push(passing="add")) == ""


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(recorded(push("add"), "add"), id="it fails still"),
        pytest.param(recorded(push(skipped="add"), "add"), id="it was skipped"),
        pytest.param(recorded(push(broken="add"), "add"), id="it ended in an error"),
        pytest.param(
            recorded(push(passing="add"), "add/1234567890abcdef"), id="a case of it was not run, or is another"
        ),
        pytest.param(recorded(push(passing="gelu"), "add/1234567890abcdef"), id="nothing of it was run"),
        pytest.param(recorded(push(passing="gelu", unchanged="add"), "add/12"), id="the change does not touch it"),
        pytest.param(recorded(push(passing="gelu"), "add"), id="no case of it is known"),
        pytest.param(
            replace(recorded(push(passing="add"), "add"), baseline_doubt="1 file cannot be read"), id="half a record"
        ),
        pytest.param(
            replace(recorded(push(passing="add"), "add"), plan=PlanFacts(id="p", cases=2, mine=2)), id="a case is left"
        ),
    ],
)
def test_nothing_else_of_the_baseline_is_called_fixed(document):
    assert document.recorded
    assert fixed(document) == ""


def test_a_missing_shard_fixes_nothing_of_the_baseline():
    assert fixed(recorded(push(passing="add"), "add"), complete=False) == ""


def test_another_case_of_the_same_cause_keeps_it_from_being_fixed():
    cases = [judged(ran(GOOD), operator="add"), judged(raised(), operator="add", seed=1)]
    document = run_document(cases)
    (group,) = document.summary.groups
    passing = (document.observations[0].case.id,)
    failure = RecordedFailure(fingerprint="v2:x", operator="add", cause="tail_mask", commit="a" * 40, cases=passing)
    for told, words in (
        (failure, "add:tail_mask"),
        (replace(failure, cause=str(group.cause)), ""),
        (replace(failure, fingerprint=group.fingerprint), ""),
    ):
        assert fixed(replace(document, recorded=(told,))) == words


def test_a_case_that_was_not_run_keeps_its_operator_from_being_fixed():
    cut = judged(ended("skipped", reason="not run: a case takes about 4.00 s"), operator="add", seed=1)
    now = run_document([judged(ran(GOOD), operator="add"), cut])
    assert since(push("add"), now) == "unjudged add"


def test_a_case_that_is_left_open_keeps_it_from_being_fixed():
    cases = [judged(ran(GOOD), operator="add"), judged(ended("inputs_broken", reason="x"), operator="add", seed=1)]
    document = run_document(cases)
    failure = RecordedFailure(
        fingerprint="v2:x",
        operator="add",
        cause="tail_mask",
        commit="a" * 40,
        cases=(document.observations[0].case.id,),
    )
    assert fixed(replace(document, recorded=(failure,))) == ""
