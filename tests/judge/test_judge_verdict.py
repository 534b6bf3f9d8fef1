"""Verdicts: every row of the table, a defect and its clean twin."""

from dataclasses import replace

import pytest
from judge_notation import ended, judged, output, process, raised, ran, vote

from opsdebug_ci.model import Confidence, Contract, MemoryReading, ReferenceKind, Refusal, Side

CLEAN = ran(output())
WRITE = MemoryReading(argument="x", side=Side.INSIDE, bytes_changed=4, first_offset=0)

VERDICTS = {
    "clean": (CLEAN, "pass"),
    "raised": (raised(), "fail"),
    "raised on an empty input": (replace(raised(), refusal=Refusal.EMPTY), "skipped"),
    "refused a layout": (replace(raised(), refusal=Refusal.LAYOUT), "skipped"),
    "refused by the reference": (ran(answered="torch!", refusal=Refusal.REFERENCE), "skipped"),
    "wrote what the reference refused": (ran(answered="torch!", refusal=Refusal.REFERENCE, memory=(WRITE,)), "fail"),
    "skipped": (ended("skipped", reason="no compiler"), "skipped"),
    "inputs broken": (ended("inputs_broken", reason="returned nothing"), "error"),
    "reference broken": (ended("reference_broken", reason="shape"), "error"),
    "worker broken": (ended("worker_broken", reason="protocol"), "error"),
    "crash in the operator": (ended("crashed", process=process()), "crash"),
    "crash in a probe": (ended("crashed", process=process("probe")), "crash"),
    "crash without facts": (ended("crashed"), "crash"),
    "broken memory after the operator": (ended("crashed", process=process("reference")), "crash"),
    "exit in a reference": (ended("crashed", process=process("reference", None, 1)), "error"),
    "crash in the inputs": (ended("crashed", process=process("inputs")), "error"),
    "hang in the operator": (ended("timed_out", process=process(signal=None)), "timeout"),
    "slow reference": (ended("timed_out", process=process("reference", None)), "error"),
    "slow comparison": (ended("timed_out", process=process("compare", None)), "error"),
    "memory in the operator": (ended("out_of_memory", process=process(signal=None)), "crash"),
    "memory in a reference": (ended("out_of_memory", process=process("reference", None)), "error"),
    "other structure": (ran(structure="2 outputs, wanted 1"), "fail"),
    "other shape": (ran(output(wanted_shape=(4, 26))), "fail"),
    "other dtype": (ran(output(wanted_dtype="float16")), "fail"),
    "undeclared write": (ran(output(), memory=(WRITE,)), "fail"),
    "unwritten": (ran(output(), unwritten=1), "fail"),
    "repeat": (ran(output(), repeat_mismatches=1), "fail"),
    "rejected": (ran(output(rejected=1)), "fail"),
    "second output rejected": (ran(output(), output("out1", rejected=1)), "fail"),
    "rejected beats disputed": (ran(output(disputed=3), output("out1", rejected=1)), "fail"),
    "disputed": (ran(output(disputed=3, votes=[vote()])), "inconclusive"),
    "red without a count": (ran(output(zone="red")), "fail"),
    "amber": (ran(output(zone="amber")), "pass"),
    "medium confidence": (ran(output(confidence="medium")), "pass"),
    "low confidence": (ran(output(confidence="low", used="torch", votes=[vote("naive")])), "inconclusive"),
    "low confidence without votes": (ran(output(confidence="low")), "inconclusive"),
    "precise outvotes torch": (ran(output(confidence="low", votes=[vote("torch")])), "pass"),
    "precise does not outvote naive": (
        ran(output(confidence="low", votes=[vote("torch"), vote("naive")])),
        "inconclusive",
    ),
    "nothing answered": (ran(answered="torch? naive?"), "inconclusive"),
    "all broke": (ran(answered="torch! naive?"), "error"),
    "one broke": (ran(output(), answered="torch! precise"), "pass"),
    "no outputs": (ran(), "inconclusive"),
    "not comparable": (ran(output(blind=True)), "inconclusive"),
    "empty": (ran(output(compared=0, shape=(0, 4), confidence="low")), "pass"),
    "empty, other shape": (ran(output(compared=0, shape=(0, 4), wanted_shape=(0, 5))), "fail"),
    "nothing compared of something": (ran(output(compared=0)), "inconclusive"),
    "misbehaved without references": (ran(unwritten=2, answered="torch!"), "fail"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict(name):
    observation, verdict = VERDICTS[name]
    assert str(judged(observation).verdict) == verdict


def test_contract_without_determinism_promises_no_equal_bits():
    observation = ran(output(), repeat_mismatches=7)
    assert str(judged(observation, Contract(deterministic=False)).verdict) == "pass"
    assert judged(observation, Contract(deterministic=False)).findings == ()


def test_outvoted_torch_lowers_confidence_and_is_named():
    judgement = judged(ran(output(confidence="low", votes=[vote("torch", elements=5, disagreement=8.0)])))
    assert judgement.reference.used is ReferenceKind.PRECISE
    assert judgement.reference.confidence is Confidence.MEDIUM
    assert judgement.reference.dissent == "`torch` differs on 5 elements, by up to 8 x what references may"
    assert [(str(f.blame), f.confidence) for f in judgement.findings] == [("reference", 0.8)]


def test_precise_that_does_not_clear_the_operator_outvotes_nobody():
    judgement = judged(ran(output(confidence="low", disputed=2, votes=[vote("torch", sides=2)])))
    assert judgement.reference.confidence is Confidence.LOW
    assert judgement.findings[0].statement == (
        "`out0`: compared with `precise`, `torch` differs on 5 elements, by up to 8 x what references may, "
        "and it accepts 2 elements which `precise` rejects"
    )


def test_reference_that_differs_within_what_it_may_is_no_dissent():
    judgement = judged(ran(output(votes=[vote("torch", elements=0, disagreement=0.9)])))
    assert judgement.reference.dissent is None
    assert judgement.findings == ()


def test_lowest_confidence_of_any_output_counts():
    judgement = judged(ran(output(), output("out1", confidence="medium")))
    assert judgement.reference.confidence is Confidence.MEDIUM


def test_nothing_compared_rests_on_no_reference():
    assert judged(ended("skipped")).reference.used is None


@pytest.mark.parametrize("name", [n for n, (_, verdict) in VERDICTS.items() if verdict in ("fail", "crash", "timeout")])
def test_failures_blame_the_operator_first(name):
    judgement = judged(VERDICTS[name][0])
    assert str(judgement.findings[0].blame) == "operator"
    assert judgement.findings[0].statement
    assert judgement.findings[0].next.startswith("opsdebug run softmax ")


@pytest.mark.parametrize("name", [n for n, (_, verdict) in VERDICTS.items() if verdict == "error"])
def test_errors_never_blame_the_operator(name):
    findings = judged(VERDICTS[name][0]).findings
    assert findings
    assert "operator" not in {str(finding.blame) for finding in findings}


@pytest.mark.parametrize("name", ["disputed", "low confidence", "nothing answered", "one broke", "amber", "empty"])
def test_what_a_reader_should_know_is_a_finding(name):
    assert judged(VERDICTS[name][0]).findings


def test_clean_case_says_nothing():
    assert judged(CLEAN).findings == ()


@pytest.mark.parametrize(
    ("elements", "disagreement", "text"),
    [
        (17, 0.0, "`torch` differs on 17 elements in class (NaN, infinity)"),
        (1, 1.0, "`torch` differs on 1 element in class (NaN, infinity)"),
        (2, 1.01, "`torch` differs on 2 elements, by up to 1.01 x what references may"),
        (3, None, "`torch` differs on 3 elements"),
    ],
)
def test_a_dissent_within_what_references_may_is_one_of_class(elements, disagreement, text):
    dissenting = vote("torch", elements=elements, disagreement=disagreement)
    assert judged(ran(output(confidence="low", votes=[dissenting]))).reference.dissent == text


def test_what_empty_inputs_come_to_is_the_contracts_to_say() -> None:
    refused = replace(raised(), refusal=Refusal.EMPTY)
    assert str(judged(refused, Contract(empty="fail")).verdict) == "fail"
    assert [str(finding.cause) for finding in judged(refused, Contract(empty="fail")).findings] == ["exception"]
    assert str(judged(replace(refused, refusal=Refusal.LAYOUT), Contract(empty="fail")).verdict) == "skipped"
