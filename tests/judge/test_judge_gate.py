"""The exit code: what gates, what never becomes a pass."""

from dataclasses import replace

import pytest
from judge_notation import ended, judged, output, process, raised, ran

from opsdebug_ci.failures import fingerprints, group
from opsdebug_ci.judge import summarise
from opsdebug_ci.model import Cause, Gate, KnownFailures, OlderFailure, Refusal, Verdict

MAKE = {
    "pass": lambda seed: judged(ran(output()), seed=seed),
    "fail": lambda seed: judged(raised(), seed=seed),
    "crash": lambda seed: judged(ended("crashed", process=process()), seed=seed),
    "timeout": lambda seed: judged(ended("timed_out", process=process()), seed=seed),
    "error": lambda seed: judged(ended("inputs_broken"), seed=seed),
    "inconclusive": lambda seed: judged(ran(output(disputed=1)), seed=seed),
    "skipped": lambda seed: judged(ended("skipped"), seed=seed),
}


def summary(verdicts, gate="new", known=False, planned=None):
    judgements = [MAKE[name](seed) for seed, name in enumerate(verdicts.split())]
    groups = group(judgements)
    return summarise(judgements, groups, Gate(gate), recorded(groups) if known else None, planned=planned)


def recorded(groups, cases=()):
    """What a baseline knows where these groups, and these cases, failed."""
    return KnownFailures(
        commit="c1",
        fingerprints=frozenset(group.fingerprint for group in groups),
        cases=frozenset(judgement.case.id for judgement in cases),
    )


def wrong(*seeds):
    """Cases that fail for no named cause."""
    return [judged(ran(output(rejected=1)), seed=seed) for seed in seeds]


@pytest.mark.parametrize(
    ("verdicts", "verdict", "exit_code"),
    [
        ("pass pass", "pass", 0),
        ("pass skipped", "pass", 0),
        ("pass fail", "fail", 1),
        ("pass crash", "fail", 1),
        ("pass timeout", "fail", 1),
        ("pass inconclusive", "inconclusive", 4),
        ("pass error", "error", 4),
        ("error inconclusive", "error", 4),
        ("fail inconclusive error skipped", "fail", 1),
        ("skipped skipped", "inconclusive", 4),
        ("error", "error", 4),
        ("", "inconclusive", 4),
    ],
)
@pytest.mark.parametrize("gate", ["new", "all"])
def test_without_known_failures(verdicts, verdict, exit_code, gate):
    got = summary(verdicts, gate)
    assert (str(got.verdict), got.exit_code) == (verdict, exit_code)


@pytest.mark.parametrize(
    ("verdicts", "gate", "known", "verdict", "exit_code"),
    [
        ("pass fail crash", "new", True, "pass", 0),
        ("pass fail", "all", True, "fail", 1),
        ("fail error", "new", True, "error", 4),
        ("pass fail", "never", False, "pass", 0),
        ("pass error", "never", False, "error", 0),
        ("fail inconclusive", "never", False, "inconclusive", 0),
        ("skipped", "never", False, "inconclusive", 4),
        ("error", "never", False, "error", 4),
        ("", "never", False, "inconclusive", 4),
    ],
)
def test_gates(verdicts, gate, known, verdict, exit_code):
    got = summary(verdicts, gate, known)
    assert (str(got.verdict), got.exit_code) == (verdict, exit_code)


def test_one_new_failure_among_known_ones_gates():
    judgements = [MAKE["fail"](0), MAKE["crash"](1)]
    groups = group(judgements)
    assert summarise(judgements, groups, Gate.NEW, recorded(groups[:1])).exit_code == 1


@pytest.mark.parametrize(
    ("before", "now", "exit_code"),
    [
        pytest.param([0, 1], [0, 1], 0, id="the same cases"),
        pytest.param([0, 1], [1], 0, id="fewer cases"),
        pytest.param([0], [0, 1], 1, id="one case more"),
        pytest.param([], [0], 1, id="other cases"),
    ],
)
def test_a_failure_without_a_named_cause_is_known_case_by_case(before, now, exit_code):
    judgements = wrong(*now)
    groups = group(judgements)
    assert [(str(each.cause), each.count) for each in groups] == [("unknown", len(now))]
    assert summarise(judgements, groups, Gate.NEW, recorded(groups, wrong(*before))).exit_code == exit_code


def test_more_cases_than_a_group_lists_are_known_one_by_one():
    judgements = wrong(*range(12))
    groups = group(judgements)
    assert len(groups[0].cases) < len(judgements)
    assert summarise(judgements, groups, Gate.NEW, recorded(groups, judgements)).exit_code == 0
    assert summarise(judgements, groups, Gate.NEW, recorded(groups, judgements[:-1])).exit_code == 1


def test_a_failure_with_a_named_cause_is_known_on_any_case():
    judgements = [MAKE["fail"](0), MAKE["fail"](1)]
    groups = group(judgements)
    assert summarise(judgements, groups, Gate.NEW, recorded(groups)).exit_code == 0


def recorded_by_older(*pairs):
    """What a baseline knows whose fingerprints are of an older version."""
    older = frozenset(OlderFailure(case=judgement.case.id, cause=cause) for judgement, cause in pairs)
    return KnownFailures(
        commit="c1",
        fingerprints=frozenset({"v1:0123456789abcdef"}),
        cases=frozenset(each.case for each in older),
        older=older,
    )


@pytest.mark.parametrize(
    ("recorded_cases", "cause", "exit_code"),
    [
        pytest.param([0, 1], "exception", 0, id="the same cases of the same cause"),
        pytest.param([0, 1, 2], "exception", 0, id="one repaired since"),
        pytest.param([0], "exception", 1, id="one case more"),
        pytest.param([0, 1], "tail_mask", 1, id="the same cases of another cause"),
    ],
)
def test_a_failure_recorded_with_an_older_fingerprint_is_known_by_its_case(recorded_cases, cause, exit_code):
    before = [(MAKE["fail"](seed), cause) for seed in recorded_cases]
    judgements = [MAKE["fail"](0), MAKE["fail"](1), MAKE["pass"](2)]
    known = recorded_by_older(*before)
    assert summarise(judgements, group(judgements), Gate.NEW, known).exit_code == exit_code


def test_more_older_cases_than_a_group_lists_are_known_one_by_one():
    judgements = [MAKE["fail"](seed) for seed in range(14)]
    groups, membership = group(judgements), fingerprints(judgements)
    known = recorded_by_older(*((judgement, "exception") for judgement in judgements))
    assert summarise(judgements, groups, Gate.NEW, known, membership=membership).exit_code == 0
    known = recorded_by_older(*((judgement, "exception") for judgement in judgements[1:]))
    assert summarise(judgements, groups, Gate.NEW, known, membership=membership).exit_code == 1


def test_a_member_of_a_recorded_group_is_known_alone():
    symptom = MAKE["crash"](0)
    (alone,) = group([symptom])
    known = KnownFailures(commit="c1", fingerprints=frozenset({"v2:parent", alone.fingerprint}))
    assert summarise([symptom], [alone], Gate.NEW, known).exit_code == 0


@pytest.mark.parametrize(("recorded_members", "exit_code"), [("ab", 0), ("a", 1), ("b", 1), ("", 1)])
def test_a_group_is_known_by_its_own_fingerprint_or_by_all_of_its_members(recorded_members, exit_code):
    judgement = MAKE["fail"](0)
    (own,) = group([judgement])
    merged = replace(own, fingerprint="v2:lead", members=("a", "b"))
    known = KnownFailures(commit="c1", fingerprints=frozenset(recorded_members))
    assert summarise([judgement], [merged], Gate.NEW, known).exit_code == exit_code
    lead = replace(known, fingerprints=known.fingerprints | {"v2:lead"})
    assert summarise([judgement], [merged], Gate.NEW, lead).exit_code == 0


def test_a_nameless_failure_in_a_named_group_is_known_with_it():
    nameless = wrong(0)
    (own,) = group(nameless)
    named = replace(own, cause=Cause.TAIL_MASK)
    assert summarise(nameless, [named], Gate.NEW, recorded([named])).exit_code == 0
    assert summarise(nameless, [own], Gate.NEW, recorded([own])).exit_code == 1


def test_failures_nobody_grouped_still_gate():
    assert summarise([MAKE["fail"](0)], (), Gate.NEW).exit_code == 1


def test_fewer_cases_than_planned_are_incomplete():
    assert (summary("pass", planned=2).verdict, summary("pass", planned=2).exit_code) == (Verdict.INCONCLUSIVE, 4)
    assert summary("pass", planned=1).exit_code == 0


def test_counts_name_every_verdict():
    assert summary("pass fail fail skipped").counts == {
        "pass": 1,
        "fail": 2,
        "inconclusive": 0,
        "error": 0,
        "crash": 0,
        "timeout": 0,
        "skipped": 1,
    }


@pytest.mark.parametrize("gate", list(Gate))
def test_a_group_is_known_under_every_gate_and_says_since_when(gate):
    judgements = [MAKE["fail"](0), MAKE["crash"](1)]
    old, new = group(judgements)
    known = replace(recorded([old]), since={old.fingerprint: "c7", new.fingerprint: "c9"})
    told = summarise(judgements, (old, new), gate, known).groups
    assert [(each.known, each.since) for each in told] == [(True, "c7"), (False, "")]


def test_a_group_with_one_new_case_is_not_known():
    judgements = wrong(0, 1)
    groups = group(judgements)
    (told,) = summarise(judgements, groups, Gate.NEW, recorded(groups, judgements)).groups
    assert (told.known, told.since) == (True, "")
    (told,) = summarise(judgements, groups, Gate.NEW, recorded(groups, judgements[:1])).groups
    assert not told.known


def test_a_group_known_by_its_cases_alone_says_since_when():
    judgements = [MAKE["fail"](0)]
    known = replace(recorded_by_older((judgements[0], "exception")), since={judgements[0].case.id: "c3"})
    (told,) = summarise(judgements, group(judgements), Gate.NEW, known).groups
    assert (told.known, told.since) == (True, "c3")


def test_where_no_baseline_was_read_nothing_is_known():
    judgements = [MAKE["fail"](0)]
    assert [each.known for each in summarise(judgements, group(judgements), Gate.NEVER).groups] == [False]


def refused(operator, which=Refusal.EMPTY):
    return judged(replace(raised(), refusal=which), operator=operator)


def declared(operator):
    return judged(ended("skipped", reason="needs CUDA"), operator=operator, seed=1)


@pytest.mark.parametrize("which", list(Refusal))
def test_an_operator_that_refused_all_its_cases_leaves_a_whole_run_unsettled(which):
    whole = summarise([MAKE["pass"](0), refused("gelu", which), declared("gelu")], [], Gate.NEW, whole=True)
    assert (whole.verdict, whole.exit_code) == (Verdict.INCONCLUSIVE, 4)
    assert summarise([MAKE["pass"](0), refused("gelu", which)], [], Gate.NEW).exit_code == 0, "a part says nothing"


def test_one_that_was_judged_once_or_skipped_as_declared_does_not():
    judgements = [MAKE["pass"](0), refused("softmax"), declared("gelu")]
    assert summarise(judgements, [], Gate.NEW, whole=True).exit_code == 0
