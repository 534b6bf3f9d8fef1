"""The self-test over a register and operators of its own: a missed defect and a false alarm fail it."""

from __future__ import annotations

import pytest
from pipeline_notation import RIGHT, WRONG, Project, repository

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model import Cause, Verdict
from opsdebug_ci.model.planted import Defect
from opsdebug_ci.model.selftest import SelftestDocument
from opsdebug_ci.pipeline.selftest import SelftestRequest, selftest

OFFSET = Defect(name="offset", cause=Cause.UNKNOWN, wrong="1.5 is added")
NOTHING = Defect(name="nothing", cause=Cause.SIGN_FLIP, wrong="nothing, so that it must be missed")
WAIT = Defect(name="wait", cause=Cause.HANG, wrong="never comes back")
ABSENT = Defect(name="absent", cause=Cause.OOB_READ, wrong="it is not on this machine")

OPERATORS = {
    "wrong_offset": WRONG,
    "right_offset": RIGHT,
    "wrong_nothing": RIGHT,
    "right_nothing": RIGHT,
    "wrong_wait": "max(iter(int, 1))",
    "right_wait": RIGHT,
    "sound": RIGHT,
    "accused": WRONG,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return repository(tmp_path_factory.mktemp("selftest"), **OPERATORS)


def score_of(project: Project, *patterns: str, defects: tuple[Defect, ...]) -> SelftestDocument:
    configuration = project.configuration()
    request = SelftestRequest(patterns=patterns, defects=defects, modules=configuration.operators, hang_timeout_s=2.0)
    return selftest(request, configuration, project.world())


def test_a_caught_defect_and_a_clean_twin_pass(project: Project) -> None:
    document = score_of(project, "offset", "sound", defects=(OFFSET, NOTHING, ABSENT))
    assert (document.verdict, document.exit_code, document.reasons) == (Verdict.PASS, 0, ())
    assert [(d.name, d.cases, d.failed) for d in document.defects] == [("offset", 2, 2)]
    assert (document.false_alarms.count, document.false_alarms.of) == (0, 6)
    assert project.tally.stopped, "progress was told"


def test_a_planted_miss_and_a_planted_alarm_fail(project: Project) -> None:
    missed = score_of(project, "nothing", defects=(NOTHING,))
    assert (missed.verdict, missed.exit_code) == (Verdict.FAIL, 1)
    assert missed.reasons == ("1 of 1 planted defects missed",)
    alarmed = score_of(project, "accused", "sound", defects=(OFFSET,))
    assert (alarmed.verdict, alarmed.exit_code, alarmed.false_alarms.count) == (Verdict.FAIL, 1, 2)
    assert {trouble.operator for trouble in alarmed.troubles} == {"accused"}


def test_what_hangs_is_caught_in_one_short_case(project: Project) -> None:
    document = score_of(project, "wait", defects=(WAIT, OFFSET))
    assert [(d.name, d.cases, d.found[0].cause) for d in document.defects] == [("wait", 1, Cause.HANG)]
    assert (document.verdict, document.false_alarms.of) == (Verdict.PASS, 3)


def test_a_pattern_that_matches_nothing_is_a_mistake(project: Project) -> None:
    with pytest.raises(UsageError, match="`--only` has `unheard`, which no planted defect"):
        score_of(project, "unheard", "offset", defects=(OFFSET,))
