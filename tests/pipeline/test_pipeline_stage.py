"""Which cases of a stage run, and what is recorded."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_notation import HOME, RIGHT, SMOKE, WRONG, Project, Tally, job, pull_request, repository, source

from opsdebug_ci.errors import DiscoveryError, EnvironmentLimitError, UsageError
from opsdebug_ci.model import Stage, Verdict
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.pipeline.ci import run_stage
from opsdebug_ci.pipeline.run import run
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.plan import Shard, parse_axes
from opsdebug_ci.report import text
from opsdebug_ci.store.sql.query import query


def stage(project: Project, selection: Selection = SMOKE) -> RunDocument:
    return run_stage(selection, project.configuration(), project.world()).document


def ran(document: RunDocument) -> list[str]:
    return sorted({observation.case.operator for observation in document.observations})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two sound operators at one commit."""
    project = repository(tmp_path_factory.mktemp("stage"), one=RIGHT, two=RIGHT)
    project.commit()
    return project


@pytest.fixture(scope="module")
def whole(project: Project) -> RunDocument:
    return stage(project)


def test_a_stage_passes_and_is_recorded_with_its_machine(whole: RunDocument, project: Project) -> None:
    assert (whole.summary.verdict, whole.summary.exit_code, len(whole.observations)) == (Verdict.PASS, 0, 6)
    stored = query(
        project.directory / "baselines", "select id, stage, verdict, dirty from runs where id = ?", (whole.run.id,)
    )
    assert stored.rows == ((whole.run.id, "smoke", "pass", False),)
    probes = query(
        project.directory / "baselines", "select count(*) > 0 from calibrations where run_id = ?", (whole.run.id,)
    )
    assert probes.rows == ((True,),)


def test_shards_add_up_to_the_whole(whole: RunDocument, project: Project) -> None:
    parts = [stage(project, replace(SMOKE, shard=Shard(index=index, count=2))) for index in (1, 2)]
    ids = [[observation.case.id for observation in part.observations] for part in parts]
    assert [len(part) for part in ids] == [3, 3]
    assert sorted(itertools.chain(*ids)) == sorted(observation.case.id for observation in whole.observations)
    assert whole.plan is not None
    assert [part.plan for part in parts] == [replace(whole.plan, mine=3)] * 2
    assert (whole.plan.cases, whole.plan.mine) == (6, 6)


def test_a_shard_without_cases_passes_and_says_why(project: Project) -> None:
    document = stage(project, replace(SMOKE, shard=Shard(index=9, count=9)))
    assert (document.observations, document.summary.verdict, document.summary.exit_code) == ((), Verdict.PASS, 0)
    assert "nothing to run; all of 6 cases are in other shards" in text(document)


def test_a_spent_budget_makes_a_run_incomplete(project: Project) -> None:
    world = project.world(tick_ns=10**9)
    document = run_stage(replace(SMOKE, budget_s=9.0), project.configuration(), world).document
    judged = len(document.observations)
    assert 0 < judged < 6, "every look at the clock takes a second"
    assert document.notes == (f"correctness: {judged} of 6 cases judged within the budget",)
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.INCONCLUSIVE, 4)


def test_only_changed_operators_run(tmp_path: Path) -> None:
    project = repository(tmp_path, one=RIGHT, two=RIGHT)
    project.commit()
    changed = replace(SMOKE, changed="HEAD~1")

    project.write(one="2.0 * x")
    project.commit()
    document = stage(project, changed)
    assert (ran(document), document.unchanged, document.summary.exit_code) == (["one"], ("two",), 0)

    elsewhere = stage(project, replace(changed, patterns=("two",)))
    assert (ran(elsewhere), elsewhere.unchanged, elsewhere.summary.exit_code) == ([], ("two",), 0)

    (tmp_path / "README.md").write_text("Doubles.")
    project.commit()
    document = stage(project, changed)
    assert (ran(document), document.unchanged) == ([], ("one", "two"))
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.PASS, 0)

    (tmp_path / "table.bin").write_bytes(b"\0")
    project.commit()
    document = stage(project, changed)
    assert (ran(document), document.unchanged) == (["one", "two"], ())


def test_an_unknown_base_is_the_persons_mistake(project: Project) -> None:
    with pytest.raises(UsageError, match=r"`--changed nowhere`: this clone has no common ancestor of HEAD and"):
        stage(project, replace(SMOKE, changed="nowhere"))


def test_a_push_of_another_branch_writes_no_store(tmp_path: Path) -> None:
    project = repository(tmp_path, one=RIGHT)
    environ = {**job(tmp_path, "push", **HOME), "GITHUB_REF": "refs/heads/topic"}
    assert run_stage(SMOKE, project.configuration(), project.world(environ)).recorded is None


def test_an_operator_that_does_not_fit_a_fixed_axis_is_skipped_and_says_so(project: Project) -> None:
    fixed = replace(SMOKE, stage=Stage.RUN, axes=parse_axes(layout="transposed"))
    document = run(fixed, project.configuration(), project.world())
    assert {str(item.verdict) for item in document.observations} == {"skipped"}
    assert all("layout" in str(item.reason) for item in document.observations)
    assert document.summary.exit_code == 4


def test_a_pull_request_writes_no_store(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    project = repository(tmp_path / "project", one=WRONG)
    outcome = run_stage(SMOKE, project.configuration(), project.world(pull_request(tmp_path, "1" * 40)))
    assert (outcome.recorded, outcome.document.summary.exit_code) == (None, 1)
    assert (outcome.document.run.ci.event, outcome.document.run.ci.pull_request) == ("pull_request", 12)
    assert not (project.directory / "baselines").exists()


def test_a_push_is_recorded_with_its_job_and_every_case_counted(tmp_path: Path) -> None:
    project = repository(tmp_path, one=RIGHT)
    outcome = run_stage(SMOKE, project.configuration(), project.world(job(tmp_path, "push", **HOME)))
    assert outcome.recorded == str(tmp_path / "baselines")
    rows = query(tmp_path / "baselines", "select event, ci_key from runs").rows
    assert rows == (("push", "somebody/kernels/7/operators/smoke"),)
    assert project.tally == Tally(total=3, steps=3, stopped=1)


def test_nothing_to_judge_is_not_a_pass(tmp_path: Path) -> None:
    project = repository(tmp_path)
    (tmp_path / "elsewhere.py").write_text(source("elsewhere", RIGHT, device="cuda"))
    document = stage(project.configure())
    (observation,) = document.observations
    assert (observation.verdict, observation.reason) == (Verdict.SKIPPED, "no `cuda` device on this machine")
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.INCONCLUSIVE, 4)


def test_a_configured_device_must_be_there(project: Project) -> None:
    with pytest.raises(EnvironmentLimitError, match=re.escape("`devices` has cuda, but torch")):
        run_stage(SMOKE, project.configuration(devices=["cuda"]), project.world())


def test_every_fault_of_every_module_is_told_at_once(tmp_path: Path) -> None:
    project = repository(tmp_path, one=RIGHT)
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "raises.py").write_text("raise RuntimeError('no licence')")
    with pytest.raises(DiscoveryError) as caught:
        stage(project.configure())
    assert (
        str(caught.value)
        == f"""\
2 problems with the configured operators:
  empty.py: found no operator; expected an `Operator` bound at module level, or in a module-level list or tuple
    next: decorate a function with @operator(...), or correct `operators` in the configuration
  raises.py: found RuntimeError: no licence at {tmp_path}/raises.py:1; expected a module that imports without error \
in the worker's interpreter
    next: import it with that interpreter to see the whole traceback"""
    )
    assert not (tmp_path / "baselines").exists()


SLOW = """
import time

import torch

from opsdebug_ci import operator, tensor


@operator(kind="elementwise", x=tensor("N"), dims={"N": 8})
def slow(x):
    return x + x


@slow.reference("torch")
def _(x):
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    return 2 * x
"""


def test_an_operator_with_a_slow_reference_passes_on_the_cases_that_its_budget_allows(tmp_path: Path) -> None:
    project = repository(tmp_path, quick=RIGHT)
    (tmp_path / "slow.py").write_text(SLOW)
    selection = Selection(stage=Stage.RUN, budget_s=0.5)
    document = run(selection, project.configure().configuration(), project.world())
    counts = document.summary.counts
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.PASS, 0)
    assert (counts["pass"], counts["skipped"]) == (3 + 6, 66)
    assert document.notes == ("slow, 66 cases not run: slow; `--budget SECONDS` sets how long all may take",)
    assert text(document).count("66x slow: not run: cases before it used") == 1
