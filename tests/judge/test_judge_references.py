"""Who is the odd reference: planted references that differ, and clean twins that agree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judge_notation import causes, judged, output, ran, vote

from opsdebug_ci.model import ReferenceKind
from opsdebug_ci.model.observation import MisroundingReading, Observation

TORCH, NAIVE = ReferenceKind.TORCH, ReferenceKind.NAIVE


def agreeing(reference: str):
    return vote(reference, elements=0, disagreement=0.1)


def apart(reference: str, *allies: ReferenceKind):
    return replace(vote(reference), allies=allies)


ODD = {
    "torch": ([vote("torch"), agreeing("naive")], "medium", "reference", "framework reference suspect"),
    "naive": ([agreeing("torch"), vote("naive", disagreement=800.0)], "medium", "reference", "semantics mismatch"),
    "precise": ([apart("torch", NAIVE), apart("naive", TORCH)], "low", "reference", "`precise` alone is odd"),
}
"""Odd one out: votes, confidence, blame, words."""


@pytest.mark.parametrize("odd", ODD)
def test_the_odd_one_out_is_named_and_blamed(odd: str) -> None:
    votes, confidence, blame, words = ODD[odd]
    judgement = judged(ran(output(confidence=confidence, votes=votes), answered="precise torch naive"))
    (finding,) = judgement.findings
    assert str(finding.blame) == blame
    assert words in finding.statement
    assert finding.evidence["odd"] == odd
    assert finding.evidence["elements"] == 5
    assert str(judgement.verdict) == ("inconclusive" if odd == "precise" else "pass")


def test_a_derived_precise_reference_that_is_odd_blames_the_harness() -> None:
    votes = [apart("torch", NAIVE), apart("naive", TORCH)]
    observation = ran(output(confidence="low", votes=votes), answered="precise torch naive")
    derived = tuple(replace(r, derived=str(r.reference) == "precise") for r in observation.references)
    (finding,) = judged(replace(observation, references=derived)).findings
    assert str(finding.blame) == "runtime"
    assert "harness suspect" in finding.statement


def test_half_precision_makes_the_framework_low_precision_suspect() -> None:
    votes = [vote("torch"), agreeing("naive")]
    (finding,) = judged(ran(output(confidence="medium", votes=votes, dtype="float16", wanted_dtype="float16"))).findings
    assert "framework low-precision suspect" in finding.statement


def test_three_that_all_differ_get_their_own_notice() -> None:
    judgement = judged(ran(output(confidence="low", votes=[apart("torch"), apart("naive")])))
    (finding,) = judgement.findings
    assert str(judgement.verdict) == "inconclusive"
    assert "do not trust the reference blindly: all of `precise`, `torch`, `naive` differ" in finding.statement
    assert str(finding.blame) == "reference"


def test_references_that_agree_only_loosely_say_so() -> None:
    judgement = judged(ran(output(confidence="low", votes=[vote("naive", elements=0, disagreement=0.8)])))
    (finding,) = judgement.findings
    assert str(judgement.verdict) == "inconclusive"
    assert "agree only loosely, up to 0.8 x" in finding.statement


def test_references_that_agree_are_not_mentioned() -> None:
    assert judged(ran(output(votes=[agreeing("torch"), agreeing("naive")]))).findings == ()


def test_two_references_cannot_name_an_odd_one() -> None:
    (finding,) = judged(ran(output(confidence="low", used="naive", votes=[vote("torch")]))).findings
    assert "odd" not in finding.evidence


def misrounded(growing: int, *, flagged: bool = True, like: bool = False) -> MisroundingReading:
    return MisroundingReading(
        visible=10_000,
        misrounded=400,
        growing=growing,
        unexplained=300,
        expected_rate=1e-4,
        flagged=flagged,
        like_framework=like,
    )


def read(reading: MisroundingReading, kind: str, *, rejected: int = 0, **facts: object) -> Observation:
    return ran(replace(output(kind=kind, rejected=rejected), misrounding=reading, **facts))


@pytest.mark.parametrize(
    ("kind", "growing", "cause"),
    [
        ("norm", 400, "wrong_constant_eps"),
        ("elementwise", 0, "wrong_scale"),
        ("transcendental", 320, "approximation"),
        ("elementwise", 200, "wrong_rounding"),
        ("matmul", 210, "low_precision_accum"),
    ],
)
def test_direction_of_misrounding_names_the_cause(kind: str, growing: int, cause: str) -> None:
    judgement = judged(read(misrounded(growing), kind, rejected=300))
    assert causes(judgement)[0] == cause
    assert "4 % of 10,000 elements are not the rounded truth" in judgement.findings[0].statement


def test_unflagged_misrounding_is_not_mentioned() -> None:
    assert judged(read(misrounded(400, flagged=False), "norm")).findings == ()


@pytest.mark.parametrize(("kind", "like", "blame"), [("auto", False, "operator"), ("norm", True, "reference")])
def test_misrounding_that_is_not_held_against_the_operator_passes_with_a_remark(kind, like, blame) -> None:
    judgement = judged(read(misrounded(400, like=like), kind))
    assert str(judgement.verdict) == "pass"
    assert [str(finding.blame) for finding in judgement.findings] == [blame]


def test_errors_that_lean_to_one_side_are_a_remark() -> None:
    judgement = judged(ran(replace(output(kind="norm"), bias=-21.5)))
    assert str(judgement.verdict) == "pass"
    assert causes(judgement) == ["approximation"]
    assert "by -21.5 roundings on average" in judgement.findings[0].statement


def test_slices_far_worse_than_the_framework_are_a_cause_of_a_failure() -> None:
    judgement = judged(ran(replace(output(kind="softmax", rejected=40), worse_than_framework=40)))
    assert causes(judgement)[0] == "low_precision_accum"
    assert "40 elements lie in rows or sizes" in judgement.findings[0].statement


def test_a_naive_reference_that_is_only_a_little_off_has_no_other_semantics() -> None:
    (finding,) = judged(ran(output(confidence="medium", votes=[agreeing("torch"), vote("naive")]))).findings
    assert "it rounds more than a reference may" in finding.statement


def test_slices_far_worse_than_the_framework_name_nothing_beside_gross_errors() -> None:
    gross = output(kind="softmax", rejected=40, bad="2 for 1 allowed 1e-6 at 0,3 [2e-6]")
    judgement = judged(ran(replace(gross, worse_than_framework=40)))
    (worse,) = [finding for finding in judgement.findings if "40 elements lie" in finding.statement]
    assert worse.confidence == 0.25
