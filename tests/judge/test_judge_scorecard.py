"""Detected, named, alarmed: each with a planted miss, a wrong name and a false alarm, and twins without."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from opsdebug_ci.judge import objections, score
from opsdebug_ci.model import Blame, Cause, Confidence, Finding, Verdict
from opsdebug_ci.model.document import CaseDocument, ObservationDocument
from opsdebug_ci.model.judgement import ReferenceUse
from opsdebug_ci.model.planted import Defect

TAIL = Defect(name="tail", cause=Cause.TAIL_MASK, wrong="the last one is lost", also=(Cause.OOB_READ,))
SIGN = Defect(name="sign", cause=Cause.SIGN_FLIP, wrong="minus for plus")


def seen(operator: str, verdict: str, *causes: str, number: int = 1) -> list[ObservationDocument]:
    """`number` cases of an operator that came to `verdict`, with findings of these causes."""
    findings = tuple(
        Finding(
            cause=Cause(cause),
            confidence=0.9 - place / 10,
            blame=Blame.OPERATOR,
            statement=f"{cause} it is",
            evidence={},
            next="opsdebug run",
        )
        for place, cause in enumerate(causes)
    )
    return [
        ObservationDocument(
            case=CaseDocument(
                id=f"{operator}-{verdict}-{seed}",
                name=f"{operator}[seed={seed}]",
                operator=operator,
                dtype="float32",
                dims={},
                layout="contiguous",
                inputs="normal",
                seed=seed,
                device="cpu",
                direction="forward",
            ),
            verdict=Verdict(verdict),
            reason=None,
            reference=ReferenceUse(used=None, confidence=Confidence.HIGH, dissent=None),
            accuracy=None,
            outputs=(),
            findings=findings,
            timing=None,
        )
        for seed in range(number)
    ]


CAUGHT = [
    *seen("wrong_tail", "pass"),
    *seen("wrong_tail", "fail", "tail_mask", number=2),
    *seen("wrong_sign", "crash", "sign_flip"),
]
CLEAN = [*seen("right_tail", "pass", number=500), *seen("softmax", "pass", number=500)]


def objected(observations: Sequence[ObservationDocument], *, whole: bool = True) -> tuple[str, ...]:
    return objections(score((TAIL, SIGN), observations), whole=whole)


def test_all_caught_and_nothing_alarmed() -> None:
    card = score((TAIL, SIGN), CAUGHT + CLEAN)
    assert [(r.count, r.of) for r in (card.detection, card.top1, card.top3)] == [(2, 2)] * 3
    assert (card.false_alarms.count, card.false_alarms.of, card.errors, card.troubles) == (0, 1000, 0, ())
    assert [(d.name, d.cases, d.failed, d.case) for d in card.defects] == [
        ("tail", 3, 2, "wrong_tail[seed=0]"),
        ("sign", 1, 1, "wrong_sign[seed=0]"),
    ]
    assert objections(card, whole=True) == ()


@pytest.mark.parametrize("verdict", ["pass", "inconclusive", "error", "skipped"])
def test_a_defect_without_a_failing_case_is_missed(verdict: str) -> None:
    observations = [*seen("wrong_tail", verdict, "unknown"), *seen("wrong_sign", "fail", "sign_flip"), *CLEAN]
    assert objected(observations) == ("1 of 2 planted defects missed",)
    result = score((TAIL, SIGN), observations).defects[0]
    assert (result.detected, result.top1, result.found, result.case) == (False, False, (), None)
    assert result.next == "opsdebug selftest --only tail -v"


def test_a_few_alarms_in_a_thousand_are_already_too_many() -> None:
    """4 in 1,004 may be 1.02 %, 3 in 1,003 0.88 %."""
    for alarms, said in ((3, 0), (4, 1)):
        observations = CAUGHT + CLEAN + seen("softmax", "fail", "unknown", number=alarms)
        card = score((TAIL, SIGN), observations)
        assert (card.false_alarms.count, card.false_alarms.of) == (alarms, 1000 + alarms)
        assert len(objections(card, whole=True)) == said
        assert [t.statement for t in card.troubles] == ["unknown it is"] * alarms
    assert objected(observations)[0].startswith("4 false alarms in 1,004 correct cases: the rate may be 1.0")


@pytest.mark.parametrize("verdict", ["fail", "crash", "timeout"])
def test_of_a_selection_one_alarm_is_too_many_and_none_is_enough(verdict: str) -> None:
    few = [*CAUGHT, *seen("softmax", "pass", number=10)]
    assert objected(few, whole=False) == ()
    assert objected(few, whole=True) != (), "10 cases bound no rate"
    assert len(objected(few + seen("softmax", verdict, "unknown"), whole=False)) == 1


def test_open_cases_are_counted_apart() -> None:
    for number, said in ((10, 0), (11, 1)):
        observations = CAUGHT + CLEAN + seen("softmax", "inconclusive", number=number)
        card = score((TAIL, SIGN), observations)
        assert (card.inconclusive.count, card.false_alarms.count, card.errors) == (number, 0, 0)
        assert len(objections(card, whole=True)) == said


def test_what_broke_is_no_alarm_and_what_was_skipped_is_nothing() -> None:
    card = score((TAIL, SIGN), CAUGHT + CLEAN + seen("softmax", "error", number=2) + seen("softmax", "skipped"))
    assert (card.errors, card.false_alarms.of, len(card.troubles)) == (2, 1000, 2)


@pytest.mark.parametrize(
    ("causes", "top1", "top3"),
    [
        (("tail_mask",), True, True),
        (("oob_read", "unknown"), True, True),
        (("unknown", "sign_flip", "oob_read"), False, True),
        (("unknown", "sign_flip", "hang", "tail_mask"), False, False),
        (("unknown", "unknown", "unknown", "tail_mask"), False, True),
    ],
)
def test_names_are_the_expected_cause_or_one_a_fair_judge_accepts(
    causes: tuple[str, ...], top1: bool, top3: bool
) -> None:
    card = score((TAIL,), seen("wrong_tail", "fail", *causes))
    assert (card.defects[0].top1, card.defects[0].top3) == (top1, top3)
    assert (card.top1.count, card.top3.count) == (int(top1), int(top3))
    (row,) = card.causes
    assert (row.cause, row.planted, row.detected, row.top1, row.top3) == (Cause.TAIL_MASK, 1, 1, int(top1), int(top3))


def test_the_most_frequent_name_speaks() -> None:
    odd, usual = seen("wrong_tail", "fail", "hang"), seen("wrong_tail", "fail", "tail_mask", number=2)
    assert score((TAIL,), odd + usual).defects[0].found[0].cause is Cause.TAIL_MASK
    tie = score((TAIL,), odd + usual[:1]).defects[0]
    assert tie.found[0].cause is Cause.HANG, "of equally frequent ones the first"
