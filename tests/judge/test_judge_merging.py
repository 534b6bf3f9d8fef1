"""Shards as one run: what they come to together, and that what is missing is never a pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_notation import OBSERVED, cases, divided, known, outcomes, run_of, shard_of

from opsdebug_ci.judge.merged_groups import merged_groups
from opsdebug_ci.judge.merging import merge
from opsdebug_ci.model import Cause, Gate, Group, Identity, RecordedFailure, Stage
from opsdebug_ci.model.document import OperatorSource, PlanFacts, RunDocument
from opsdebug_ci.model.publication import Conclusion

OPERATORS = ("gelu", "norm", "softmax")

RUNS = st.lists(st.tuples(st.sampled_from(OPERATORS), st.sampled_from(sorted(OBSERVED))), min_size=1, max_size=24).map(
    lambda drawn: " ".join(f"{operator}:{verdict}" for operator, verdict in drawn)
)


def merged(shards, states=None):
    return merge(shards, outcomes(states or " ".join(["taken"] * len(shards))))


@given(RUNS, st.integers(1, 6), st.sampled_from(list(Gate)), st.data())
@settings(max_examples=60)
def test_a_run_that_is_divided_comes_back(text: str, number: int, gate: Gate, data: st.DataObject) -> None:
    words = text.split()
    old = data.draw(st.lists(st.sampled_from(words), max_size=4).map(" ".join), label="recorded")
    judgements, baseline = cases(text), known(old)
    whole = run_of(judgements, gate=gate, baseline=baseline)
    found = merged(divided(judgements, number, gate=gate, baseline=baseline))
    assert found.document is not None
    assert found.document.summary.counts == whole.summary.counts
    assert (found.document.summary.verdict, found.document.summary.exit_code) == (
        whole.summary.verdict,
        whole.summary.exit_code,
    )
    groups = {group.fingerprint: group for group in found.document.summary.groups}
    expected = {group.fingerprint: group for group in whole.summary.groups}
    assert {name: (group.count, group.known, group.since) for name, group in groups.items()} == {
        name: (group.count, group.known, group.since) for name, group in expected.items()
    }
    assert {o.case.id for o in found.document.observations} == {o.case.id for o in whole.observations}
    assert found.document.plan == whole.plan
    gates = {1: Conclusion.FAIL, 4: Conclusion.INCONCLUSIVE, 0: Conclusion.PASS}[whole.summary.exit_code]
    unsettled = gate is Gate.NEVER and str(whole.summary.verdict) != "pass"
    assert found.conclusion is (Conclusion.INCONCLUSIVE if unsettled else gates)


@given(RUNS)
@settings(max_examples=20)
def test_one_shard_is_the_run_itself(text: str) -> None:
    whole = run_of(cases(text))
    assert merged([shard_of(whole)]).document == whole


@pytest.mark.parametrize(
    ("text", "states", "conclusion"),
    [
        ("gelu:pass*4", "taken taken", Conclusion.PASS),
        ("gelu:pass*3 gelu:skipped", "taken taken", Conclusion.PASS),
        ("gelu:pass*3 gelu:fail", "taken taken", Conclusion.FAIL),
        ("gelu:pass*3 gelu:inconclusive", "taken taken", Conclusion.INCONCLUSIVE),
        ("gelu:pass*3 gelu:error", "taken taken", Conclusion.INCONCLUSIVE),
        ("gelu:skipped*4", "taken taken", Conclusion.INCONCLUSIVE),
        ("gelu:error*4", "taken taken", Conclusion.INCONCLUSIVE),
        ("gelu:pass*4", "taken taken missing", Conclusion.INCOMPLETE),
        ("gelu:pass*4", "taken taken rejected", Conclusion.INCOMPLETE),
        ("gelu:pass*3 gelu:fail", "taken taken missing", Conclusion.FAIL),
        ("gelu:pass*4", "taken taken failed", Conclusion.ERROR),
        ("gelu:pass*3 gelu:fail", "taken taken failed missing", Conclusion.ERROR),
    ],
)
def test_the_worst_is_said(text: str, states: str, conclusion: Conclusion) -> None:
    found = merged(divided(cases(text), 2), states)
    assert found.conclusion is conclusion
    assert bool(found.reasons) is any(word in states for word in ("missing", "rejected", "failed")) or (
        conclusion is Conclusion.INCONCLUSIVE
    )


def test_reasons_of_a_failure_and_of_what_is_missing_are_both_kept() -> None:
    found = merged(divided(cases("gelu:fail*4"), 2), "taken taken missing rejected")
    assert found.conclusion is Conclusion.FAIL
    assert found.reasons == ("shard 3 is missing: so it is", "shard 4 was not taken: so it is")


def test_a_shard_without_a_run_says_why() -> None:
    found = merge([shard_of(None, 1, 1)], outcomes("taken"))
    assert (found.document, found.conclusion) == (None, Conclusion.ERROR)
    assert found.reasons == ("shard 1 has no run: the configuration is missing",)


def test_nothing_at_all_is_incomplete() -> None:
    found = merge([], [])
    assert (found.document, found.conclusion, found.reasons) == (None, Conclusion.INCOMPLETE, ("there is no shard",))


@pytest.mark.parametrize(("missing", "conclusion"), [(0, Conclusion.PASS), (1, Conclusion.INCOMPLETE)])
def test_shards_that_are_fewer_than_the_plan_says_are_no_pass(missing: int, conclusion: Conclusion) -> None:
    """Three of four shards that say they are three: the plan knows of the cases of the fourth."""
    shards = [replace(shard, shards=4 - missing) for shard in divided(cases("gelu:pass*8"), 4)][: 4 - missing]
    found = merged(shards)
    assert found.conclusion is conclusion
    assert found.reasons == (("6 of 8 planned cases were judged",) if missing else ())


@pytest.mark.parametrize(("judged", "conclusion"), [(4, Conclusion.PASS), (3, Conclusion.INCOMPLETE)])
def test_a_budget_that_was_spent_is_no_pass(judged: int, conclusion: Conclusion) -> None:
    every = cases("gelu:pass*4")
    found = merged([shard_of(run_of(every[:judged], planned=4))])
    assert found.conclusion is conclusion


def test_shards_of_different_plans_are_no_pass() -> None:
    first, second = divided(cases("gelu:pass*4"), 2)
    other = replace(second.run, plan=PlanFacts(id="8" * 64, cases=4, mine=2))
    found = merged([first, replace(second, run=other)])
    assert (found.conclusion, found.reasons) == (Conclusion.INCOMPLETE, ("the shards are of 2 different plans",))
    assert merged([first, second]).conclusion is Conclusion.PASS


def test_a_shard_that_does_not_say_what_was_planned_is_no_pass() -> None:
    first, second = divided(cases("gelu:pass*4"), 2)
    found = merged([first, replace(second, run=replace(second.run, plan=None))])
    assert (found.conclusion, found.reasons) == (Conclusion.INCOMPLETE, ("a shard does not say what was planned",))


def test_a_case_that_is_in_two_shards_is_taken_once() -> None:
    first, second = divided(cases("gelu:pass*4"), 2)
    found = merged([first, second, replace(first, shard=3)])
    assert found.conclusion is Conclusion.INCOMPLETE
    (reason,) = found.reasons
    assert reason.startswith("shard 3 was not taken: case ") and reason.endswith(" is in shard 1 already")
    assert found.document is not None and len(found.document.observations) == 4


def test_a_shard_of_another_stage_is_left_out() -> None:
    first, second = divided(cases("gelu:pass*4"), 2)
    full = replace(second.run, stage="full")
    found = merged([first, replace(second, run=full)])
    assert found.conclusion is Conclusion.INCOMPLETE
    assert found.reasons[0] == "shard 2 was not taken: it is of stage `full`, the others of another"


def test_in_a_replay_one_case_may_have_several_bundles() -> None:
    (one,) = cases("gelu:pass")
    parts = []
    for number, bundle in enumerate(("0" * 64, "1" * 64), 1):
        run = run_of([one], whole=[one, one], stage=Stage.REPLAY)
        observation = replace(run.observations[0], bundle=bundle)
        parts.append(shard_of(replace(run, observations=(observation,)), number, 2))
    assert merged(parts).conclusion is Conclusion.PASS
    same = replace(parts[1], run=parts[0].run)
    assert merged([parts[0], same]).conclusion is Conclusion.INCOMPLETE


@pytest.mark.parametrize(
    ("unchanged", "conclusion"),
    [(("gelu",), Conclusion.PASS), ((), Conclusion.INCONCLUSIVE)],
)
def test_nothing_to_judge_passes_only_where_nothing_changed(unchanged: tuple[str, ...], conclusion: Conclusion) -> None:
    run = run_of([], unchanged=unchanged)
    if unchanged:  # what `ci` makes of it
        run = replace(run, summary=replace(run.summary, verdict=type(run.summary.verdict)("pass"), exit_code=0))
    assert merged([shard_of(run, 1, 2), shard_of(run, 2, 2)]).conclusion is conclusion


def test_a_summary_that_lies_changes_nothing() -> None:
    first, second = divided(cases("gelu:fail*4"), 2)
    lies = [
        replace(s, run=replace(s.run, summary=replace(s.run.summary, verdict=type(s.run.summary.verdict)("pass"))))
        for s in (first, second)
    ]
    assert merged(lies).conclusion is Conclusion.FAIL


def test_a_group_is_known_only_where_every_shard_knows_it() -> None:
    every = cases("gelu:fail*4")
    knowing, ignorant = divided(every, 2, baseline=known("gelu:fail")), divided(every, 2)
    (group,) = merged(knowing).document.summary.groups
    assert (group.count, group.known, group.since) == (4, True, "b1" * 20)
    (group,) = merged([knowing[0], ignorant[1]]).document.summary.groups
    assert (group.count, group.known, group.since) == (4, False, "")
    assert merged([knowing[0], ignorant[1]]).conclusion is Conclusion.FAIL


def test_a_group_lists_ten_cases_of_all_its_shards() -> None:
    (group,) = merged(divided(cases("gelu:fail*40"), 3)).document.summary.groups
    assert (group.count, len(group.cases), len(set(group.cases))) == (40, 10, 10)
    assert group.why == ""  # it is about the cases of one shard


def test_what_shards_say_beside_their_cases_is_united() -> None:
    first, second = divided(cases("gelu:pass*4"), 2)
    source = OperatorSource(operator="gelu", file="gelu.py", line=3)
    runs = [
        replace(first.run, notes=("a", "b"), sources=(source,), unchanged=("norm", "erf"), next=("one", "two")),
        replace(second.run, notes=("b", "c"), sources=(source,), unchanged=("erf",), next=("one", "three")),
    ]
    found = merged([replace(first, run=runs[0]), replace(second, run=runs[1])]).document
    assert (found.notes, found.sources, found.unchanged) == (("a", "b", "c"), (source,), ("erf",))
    assert found.next == ("one", "two", "three")


@pytest.mark.parametrize("doubts", [("", ""), ("a", ""), ("", "a"), ("a", "b")])
def test_a_doubt_of_one_shard_is_one_of_all(doubts: tuple[str, str]) -> None:
    shards = divided(cases("gelu:pass*4"), 2)
    told = [
        replace(shard, run=replace(shard.run, baseline_doubt=doubt))
        for shard, doubt in zip(shards, doubts, strict=True)
    ]
    assert merged(told).document.baseline_doubt == next(filter(None, doubts), "")


def recorded(fingerprint: str, *ids: str) -> RecordedFailure:
    return RecordedFailure(fingerprint=fingerprint, operator="gelu", cause="hang", commit="a" * 40, cases=ids)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ([recorded("a", "1"), recorded("b", "2")], ["a", "b"]),
        ([recorded("b", "2")], ["b"]),
        ([recorded("a", "1", "3"), recorded("b", "2")], ["b"]),
        ([], []),
    ],
)
def test_recorded_is_what_every_shard_says(told: list[RecordedFailure], kept: list[str]) -> None:
    """One that read less of the store, or other cases, may be the one whose failure is still there."""
    first, second = divided(cases("gelu:pass*4"), 2)
    everything = (recorded("a", "1"), recorded("b", "2"))
    shards = [
        replace(shard, run=replace(shard.run, recorded=tuple(said)))
        for shard, said in ((first, everything), (second, told))
    ]
    assert [each.fingerprint for each in merged(shards).document.recorded] == kept


def test_shards_are_put_in_order() -> None:
    shards = divided(cases("gelu:pass*6"), 3)
    assert merged(shards[::-1]).document == merged(shards).document


def group_of(name: str, *members: str, **facts: object) -> Group:
    said = Group(
        fingerprint=name,
        cause=Cause.TAIL_MASK,
        operator="gelu",
        count=2,
        cases=(),
        statement=f"about {name}",
        members=(name, *members),
    )
    return replace(said, **facts)


def with_groups(*groups: Group) -> RunDocument:
    whole = run_of(cases("gelu:pass"))
    return replace(whole, summary=replace(whole.summary, groups=groups))


def test_what_one_shard_saw_together_is_one_cause_for_all() -> None:
    shards = [with_groups(group_of("a", "b")), with_groups(group_of("c", "b")), with_groups(group_of("d"))]
    found = merged_groups(shards)
    assert [(group.fingerprint, group.count, group.members) for group in found.groups] == [
        ("a", 4, ("a", "b", "c")),
        ("d", 2, ("d",)),
    ]
    assert found.names == {"a": "a", "c": "a", "d": "d"}


@pytest.mark.parametrize("apart", [{"operator": "softmax"}, {"umbrella": True}])
def test_other_operators_and_groups_like_too_many_stay_apart(apart: dict[str, object]) -> None:
    shards = [with_groups(group_of("a", "b")), with_groups(group_of("c", "b", **apart))]
    assert len(merged_groups(shards).groups) == 2


def test_groups_with_other_first_bad_steps_stay_apart_also_by_way_of_a_third() -> None:
    first, second = (
        group_of(name, "b", identity=Identity(operator="gelu", kind="mismatch", cause="tail_mask", node=name))
        for name in ("x", "y")
    )
    shards = [with_groups(first), with_groups(group_of("c", "b")), with_groups(second)]
    assert [group.count for group in merged_groups(shards).groups] == [4, 2]


def test_the_usual_cause_speaks_for_a_group_and_not_its_empty_case() -> None:
    everywhere = group_of("a", cause=Cause.EXCEPTION, count=25, statement="raises")
    empty = group_of("a", cause=Cause.EMPTY_OR_ZERO_DIM, count=25, statement="fails where S=0")
    (group,) = merged_groups([with_groups(empty), with_groups(everywhere)]).groups
    assert (group.cause, group.statement, group.count) == (Cause.EXCEPTION, "raises", 50)


def test_so_many_groups_that_pairs_of_them_are_too_many_are_united_by_their_names() -> None:
    words = " ".join(f"op{number}:fail*2" for number in range(600))
    found = merged(divided(cases(words), 2))
    assert found.document is not None
    assert {group.operator: group.count for group in found.document.summary.groups} == {
        f"op{number}": 2 for number in range(600)
    }
