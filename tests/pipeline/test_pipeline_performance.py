"""Speed in a stage: real processes of two states of the code, with a planted slowdown, a new and a lost operator."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_notation import SMOKE, Project, repository

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.speed import Comparing, Round, SpeedVerdict
from opsdebug_ci.pipeline.ci import run_stage
from opsdebug_ci.pipeline.comparison_document import Request, compare
from opsdebug_ci.report import markdown, text

HEADER = """
import torch

from opsdebug_ci import operator


def draw(seed, dims, dtype):
    return [torch.arange(1.0, 5.0) + seed]
"""

OPERATOR = """

@operator(kind="elementwise", arguments=draw)
def {name}(x):
    for _ in range({rounds}):
        y = x + x
    return y


@{name}.reference("torch")
def _(x):
    return 2 * x
"""


def kernels(**rounds: int) -> str:
    return HEADER + "".join(OPERATOR.format(name=name, rounds=count) for name, count in rounds.items())


def project(directory: Path, performance: str) -> Project:
    """A commit, and uncommitted changes to it: one operator three times as slow, one new, one gone."""
    made = repository(directory)
    (directory / "opsdebug.toml").write_text(f'operators = ["kernels.py"]\nperformance = "{performance}"\n')
    (directory / "kernels.py").write_text(kernels(steady=20, slowed=20, gone=1))
    made.commit()
    (directory / "kernels.py").write_text(kernels(steady=20, slowed=60, fresh=1))
    return made


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> RunDocument:
    made = project(tmp_path_factory.mktemp("speed"), "pr")
    return run_stage(
        replace(SMOKE, diagnosis_s=None), made.configuration(budget={"performance": 240}), made.world()
    ).document


@pytest.mark.slow
def test_a_planted_slowdown_fails_the_gate_and_nothing_else_does(document: RunDocument) -> None:
    assert document.performance is not None
    run = document.performance.comparison
    assert run is not None
    found = {one.case.operator: one.verdict for one in run.comparisons}
    assert found["slowed"] is SpeedVerdict.REGRESSED
    assert found["steady"] in (SpeedVerdict.SAME, SpeedVerdict.INCONCLUSIVE)
    assert (found["fresh"], found["gone"]) == (SpeedVerdict.NEW, SpeedVerdict.MISSING)
    assert document.regressions == ("slowed",)
    assert document.summary.exit_code == 1
    assert document.summary.counts["fail"] == 0


@pytest.mark.slow
def test_what_was_measured_is_there_to_be_checked(document: RunDocument) -> None:
    assert document.performance is not None
    run = document.performance.comparison
    assert run is not None
    slowed = next(one for one in run.comparisons if one.case.operator == "slowed")
    assert slowed.confirm is not None
    assert slowed.confirm.low > 2
    counts = {(one.arm, one.round): 0 for one in slowed.launches}
    for one in slowed.launches:
        counts[one.arm, one.round] += 1
    assert 4 <= counts["base", Round.CONFIRM] == counts["head", Round.CONFIRM] <= 8
    assert len({one.calls for one in slowed.launches}) == 1
    assert [facts.name for facts in run.arms] == ["base", "head"]
    assert (run.arms[0].dirty, run.arms[1].dirty) == (False, True)
    assert run.arms[0].commit == run.arms[1].commit
    assert all(control.why is Comparing.CONTROL for control in run.controls)
    assert len(run.controls) == 1
    assert run.probe_ratio is not None


@pytest.mark.slow
def test_reports_say_that_a_person_is_needed(document: RunDocument) -> None:
    for report, bracket in ((text(document), "["), (markdown(document), "&#91;")):
        assert "regressed, needs a person:" in report.lower()
        assert re.search(rf"slowed float32: \d+ % slower {re.escape(bracket)}\d+, \d+", report)
        assert "opsdebug profile slowed" in report
        assert "no trend: no stored run of this machine" in report


@pytest.mark.slow
def test_what_regressed_has_a_trend_and_nothing_else_has(document: RunDocument) -> None:
    assert document.performance is not None
    (trend,) = document.performance.trends
    assert (trend.case.operator, trend.points) == ("slowed", ())
    assert trend.now_ns is not None and trend.now_ns > 0


def test_speed_is_not_asked_where_it_is_off(tmp_path: Path) -> None:
    made = project(tmp_path, "nightly")
    assert run_stage(replace(SMOKE, diagnosis_s=None), made.configuration(), made.world()).document.performance is None


def test_a_comparison_with_nothing_is_a_mistake(tmp_path: Path) -> None:
    made = project(tmp_path, "off")
    with pytest.raises(UsageError, match="neither `--base` nor `--base-python`"):
        compare(Request(base=None), made.configuration(), made.world())


def test_a_commit_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    made = project(tmp_path, "off")
    with pytest.raises(UsageError, match="nonsense"):
        compare(Request(base="nonsense"), made.configuration(), made.world())
