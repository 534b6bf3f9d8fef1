"""What gates, told by the document alone: the same as the judge decided from the cases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_notation import OBSERVED, cases, known, run_of

from opsdebug_ci.model import Gate, RunDocument, Stage, Verdict
from opsdebug_ci.model.gating import gates, new_failures, possible_endings

WORDS = st.lists(
    st.tuples(st.sampled_from(["gelu", "norm"]), st.sampled_from(sorted(OBSERVED))).map(":".join), max_size=12
)


@given(WORDS, st.lists(st.integers(0, 11), max_size=6), st.sampled_from(list(Gate)))
@settings(max_examples=60)
def test_the_document_tells_what_the_judge_decided(words: list[str], old: list[int], gate: Gate) -> None:
    recorded = " ".join(words[at] for at in old if at < len(words))
    run = run_of(cases(" ".join(words)), gate=gate, baseline=known(recorded))
    assert gates(run, gate) is (run.summary.exit_code == 1)
    assert (run.summary.verdict, run.summary.exit_code) in possible_endings(run)


def with_groups(run: RunDocument, **facts: object) -> RunDocument:
    groups = tuple(replace(group, **facts) for group in run.summary.groups)
    return replace(run, summary=replace(run.summary, groups=groups))


def test_a_failure_in_no_group_is_new_whatever_is_known_of_its_operator() -> None:
    run = with_groups(run_of(cases("gelu:fail*2")), known=True)
    assert new_failures(run) == ()
    alone = with_groups(run, count=1, cases=(run.observations[0].case.id,))
    assert new_failures(alone) == alone.observations


def test_a_failure_of_which_no_group_is_told_is_known_where_all_of_its_operator_are() -> None:
    run = run_of(cases("gelu:fail gelu:crash"))
    hidden = replace(run, observations=tuple(replace(each, fingerprint=None) for each in run.observations))
    hidden = with_groups(hidden, known=True, cases=())
    assert new_failures(hidden) == ()
    first, second = hidden.summary.groups
    half = replace(hidden, summary=replace(hidden.summary, groups=(first, replace(second, known=False))))
    assert new_failures(half) == half.observations


@pytest.mark.parametrize(("stage", "gating"), [(Stage.SMOKE, True), (Stage.FULL, True), (Stage.REPLAY, False)])
def test_under_all_known_failures_gate_and_accepted_ones_of_a_replay_do_not(stage: Stage, gating: bool) -> None:
    run = with_groups(run_of(cases("gelu:fail"), gate=Gate.ALL, stage=stage), known=True)
    assert gates(run, Gate.ALL) is gating
    assert gates(with_groups(run, known=False), Gate.ALL)


def test_a_run_that_does_not_say_its_gate_may_have_ended_under_any() -> None:
    run = replace(run_of(cases("gelu:pass gelu:fail")), plan=None)
    assert possible_endings(run) == {(Verdict.FAIL, 1), (Verdict.PASS, 0)}
