"""What gates: `gate = "new"` excuses what failed at the baseline already, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pipeline_notation import CONSTANT, RIGHT, SMOKE, WRONG, Project, repository

from opsdebug_ci.model import Stage, Verdict
from opsdebug_ci.model.vocabulary import Gate
from opsdebug_ci.pipeline.ci import CiOutcome, run_stage
from opsdebug_ci.pipeline.run import run
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.report import markdown, text
from opsdebug_ci.report.changes import fixed_since_baseline


def stage(project: Project, gate: Gate = Gate.NEW) -> CiOutcome:
    return run_stage(SMOKE, project.configuration(gate=str(gate)), project.world())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One operator fails at the first commit, which is recorded; the second commit changes nothing of it."""
    project = repository(tmp_path_factory.mktemp("gate"), broken=WRONG, sound=RIGHT)
    first = project.commit()
    for _ in range(2):  # repeating a failing run does not make it pass
        document = stage(project).document
        assert (document.run.commit, document.baseline, document.summary.exit_code) == (first, None, 1)
        assert document.baseline_how.startswith("no baseline yet: recording one (")
    project.commit()
    return project


def test_a_failure_of_the_parent_does_not_gate_but_is_shown(project: Project) -> None:
    outcome = stage(project)
    summary = outcome.document.summary
    assert (summary.verdict, summary.exit_code, summary.counts["fail"]) == (Verdict.PASS, 0, 3)
    parent = project.git("rev-parse", "HEAD~1")
    how = f"baseline: {parent[:12]}, the parent of the commit under test"
    assert (outcome.document.baseline, outcome.document.baseline_how) == (parent, how)
    report = text(outcome.document)
    first = "PASS: 3 of 6 cases of 2 operators failed, all known already; 3 pass"
    assert report.splitlines()[0] == first
    assert "  and 1 known cause: -v lists them" in report
    assert f"\n{how}\n" in report
    assert f"B{how[1:]}." in markdown(outcome.document).replace("`", "")


@pytest.mark.parametrize(("gate", "code"), [(Gate.ALL, 1), (Gate.NEVER, 0)])
def test_other_gates_look_at_all_failures_or_none(gate: Gate, code: int, project: Project) -> None:
    assert stage(project, gate).document.summary.exit_code == code


def test_a_run_by_hand_excuses_nothing(project: Project) -> None:
    selection = Selection(stage=Stage.RUN, patterns=("broken",))
    document = run(selection, project.configuration(), project.world())
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.FAIL, 1)


def test_a_new_failure_gates_beside_a_known_one(project: Project, tmp_path: Path) -> None:
    shutil.copytree(project.directory, tmp_path / "copy")
    copy = Project(directory=tmp_path / "copy").write(sound=CONSTANT)
    copy.commit()
    document = stage(copy).document
    assert document.baseline is not None
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.FAIL, 1)
    assert document.summary.counts["fail"] == 6


def test_a_repaired_failure_is_fixed_since_the_baseline(project: Project, tmp_path: Path) -> None:
    shutil.copytree(project.directory, tmp_path / "copy")
    copy = Project(directory=tmp_path / "copy").write(broken=RIGHT, sound=CONSTANT)
    copy.commit()
    document = stage(copy).document
    (recorded,) = document.recorded
    assert (recorded.operator, recorded.commit, len(recorded.cases)) == ("broken", document.baseline, 3)
    assert [key.operator for key in fixed_since_baseline(document, complete=True)] == ["broken"]
    assert [group.operator for group in document.summary.groups] == ["sound"]


AT_THE_LAST_SEED, AT_THE_LAST_TWO, EVERYWHERE = "x + x + (x[0] > 2)", "x + x + (x[0] > 1)", "x + x + 1"
"""Right but for the cases with large inputs; each step fails on a case more."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "now", "failing", "code"),
    [
        pytest.param(AT_THE_LAST_SEED, AT_THE_LAST_SEED, 1, 0, id="the same case"),
        pytest.param(AT_THE_LAST_TWO, AT_THE_LAST_SEED, 1, 0, id="half repaired"),
        pytest.param(AT_THE_LAST_SEED, AT_THE_LAST_TWO, 2, 1, id="one case more"),
        pytest.param(AT_THE_LAST_SEED, EVERYWHERE, 3, 1, id="a second defect under the same fingerprint"),
    ],
)
def test_an_unnamed_failure_gates_where_it_was_not_before(
    before: str, now: str, failing: int, code: int, tmp_path: Path
) -> None:
    project = repository(tmp_path, partly=before)
    project.commit()
    known = stage(project).document.summary.groups
    project.write(partly=now)
    project.commit()
    summary = stage(project).document.summary
    assert [(str(each.cause), each.fingerprint) for each in summary.groups] == [("unknown", known[0].fingerprint)]
    assert (summary.counts["fail"], summary.exit_code) == (failing, code)
