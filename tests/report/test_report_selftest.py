"""A self-test as text and as JSON: what is missed, misnamed and alarmed stands there by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from report_notation import MACHINE

from opsdebug_ci.model import Cause, Verdict
from opsdebug_ci.model.selftest import (
    SELFTEST_SCHEMA,
    CauseRow,
    CleanTrouble,
    DefectResult,
    NamedCause,
    SelftestDocument,
)
from opsdebug_ci.model.wilson import wilson
from opsdebug_ci.report import encode, schema_text, selftest_text

PAGE = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.selftest.1.json"


def defect(name: str, *found: str, failed: int = 3) -> DefectResult:
    return DefectResult(
        name=name,
        wrong="the last one is lost",
        accepted=(Cause.TAIL_MASK, Cause.OOB_READ),
        cases=5,
        failed=failed,
        case=f"wrong_{name}[N=5]" if failed else None,
        found=tuple(NamedCause(cause=Cause(c), confidence=0.5, statement=f"looks like {c}") for c in found),
        next=f"opsdebug selftest --only {name} -v",
    )


ALARM = CleanTrouble(
    operator="softmax",
    case="softmax[H=5]",
    verdict=Verdict.FAIL,
    statement="1 of 5 are wrong",
    next="opsdebug selftest --only softmax -v",
)

GOOD = SelftestDocument(
    schema=SELFTEST_SCHEMA,
    tool_version="0.1.0",
    machine=MACHINE,
    started_at="2026-11-29T12:00:00.000+00:00",
    duration_ns=90_000_000_000,
    verdict=Verdict.PASS,
    exit_code=0,
    reasons=(),
    detection=wilson(1, 1),
    top1=wilson(1, 1),
    top3=wilson(1, 1),
    false_alarms=wilson(0, 1000),
    inconclusive=wilson(0, 1000),
    errors=0,
    causes=(CauseRow(cause=Cause.TAIL_MASK, planted=1, detected=1, top1=1, top3=1),),
    defects=(defect("tail", "tail_mask"),),
    troubles=(),
    unavailable=(),
)

BAD = replace(
    GOOD,
    verdict=Verdict.FAIL,
    exit_code=1,
    reasons=("1 of 3 planted defects missed",),
    defects=(defect("tail", "tail_mask"), defect("odd", "unknown", "hang"), defect("gone", failed=0)),
    troubles=(ALARM,),
)


RATES = """\
                                    count  share      95 % interval
planted defects caught             1 of 1  100 %  20.65% to 100.00%
cause named first                  1 of 1  100 %  20.65% to 100.00%
cause among the first three        1 of 1  100 %  20.65% to 100.00%
false alarms on correct cases  0 of 1,000    0 %     0.00% to 0.38%
correct cases left open        0 of 1,000    0 %     0.00% to 0.38%

cause      planted  caught  named first  in first three
tail_mask        1       1            1               1
"""

TROUBLE = """\
missed:
  gone: the last one is lost; wanted tail_mask or oob_read
     no case of 5 failed
     next: opsdebug selftest --only gone -v

caught under another name:
  odd: the last one is lost; wanted tail_mask or oob_read
     said unknown 0.50, hang 0.50
     next: opsdebug selftest --only odd -v

correct operators that did not pass:
  FAIL softmax[H=5]
     1 of 5 are wrong
     next: opsdebug selftest --only softmax -v
"""


def test_a_tool_that_can_be_trusted() -> None:
    conclusion = "PASS: 1 of 1 planted defects caught, 0 false alarms in 1,000 correct cases, 90 s\n"
    assert selftest_text(GOOD) == f"{conclusion}\n{RATES}\nnext: opsdebug ci --stage smoke\n"


def test_what_went_wrong_stands_there_by_name() -> None:
    conclusion = "FAIL: 1 of 3 planted defects missed\n"
    assert selftest_text(BAD) == f"{conclusion}\n{RATES}\n{TROUBLE}\nnext: opsdebug selftest --only gone -v\n"


def test_more_detail_says_why_and_then_shows_everything() -> None:
    assert "     wrong_odd[N=5]\n     unknown 0.50: looks like unknown\n" in selftest_text(BAD, 1)
    assert "caught and named:\n  tail: " in selftest_text(BAD, 2)
    assert "caught and named:" not in selftest_text(BAD, 1)


def test_a_long_list_of_alarms_is_cut_until_asked_for() -> None:
    many = replace(BAD, troubles=(ALARM,) * 23)
    assert "  ... and 3 more: -v lists them\n" in selftest_text(many)
    assert selftest_text(many, 1).count("FAIL softmax[H=5]") == 23


def test_the_next_command_is_about_the_gravest() -> None:
    order = [
        (BAD, "gone"),
        (replace(BAD, defects=BAD.defects[:2]), "softmax"),
        (replace(BAD, defects=BAD.defects[:2], troubles=()), "odd"),
    ]
    for document, name in order:
        assert selftest_text(document).splitlines()[-1] == f"next: opsdebug selftest --only {name} -v"


def test_text_of_others_is_made_inert() -> None:
    assert "\x1b" not in selftest_text(replace(BAD, troubles=(replace(ALARM, statement="\x1b[31mred"),)))


def test_the_document_fits_its_committed_schema() -> None:
    assert PAGE.read_text(encoding="utf-8") == schema_text(SELFTEST_SCHEMA)
    for document in (GOOD, BAD):
        jsonschema.validate(json.loads(encode(document)), json.loads(PAGE.read_text(encoding="utf-8")))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": SELFTEST_SCHEMA}, json.loads(PAGE.read_text(encoding="utf-8")))
