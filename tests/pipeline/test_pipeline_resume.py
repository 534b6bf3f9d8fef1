"""A full stage that is killed, runs out of budget and is given again: one run, and no case of it twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pipeline_notation import Project, repository

from opsdebug_ci.model import Observation, Stage, Status
from opsdebug_ci.model.observation import ProcessFacts
from opsdebug_ci.model.vocabulary import Phase, Profile, Verdict
from opsdebug_ci.pipeline.attempt import Attempt, attempt_key, is_lasting, share_for_performance
from opsdebug_ci.pipeline.budget import Budget
from opsdebug_ci.pipeline.ci import run_stage
from opsdebug_ci.pipeline.journal import open_journal
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.plan import Shard, cases, parse_axes, read_revision

pytestmark = pytest.mark.slow

FULL = Selection(stage=Stage.FULL, profile=Profile.DEEP, diagnosis_s=600.0, resumable=True)

SEEDS = 5
"""Of stage full: an operator whose inputs are its own has one case for each."""

WATCHED = {"one 0", *(f"two {seed}" for seed in range(SEEDS))}
"""Cases launched in every attempt: of each operator the first that passes, under watched pages; of the one that fails,
all that its failure is explained by."""

HEADER = """
from pathlib import Path

import torch

from opsdebug_ci import operator

HERE = Path(__file__).parent


def draw(seed, dims, dtype):
    return [torch.tensor([float(seed), 1.0, 2.0])]


def launched(name, x):
    seed = int(x[0])
    if 0 <= seed < 5:
        with (HERE / "launches.txt").open("a") as log:
            log.write(f"{name} {seed}\\n")
    while seed == 3 and name == "one" and (HERE / "hold.txt").exists():
        (HERE / "held.txt").touch()
"""

OPERATOR = """

@operator(kind="elementwise", arguments=draw)
def {name}(x):
    launched("{name}", x)
    return {returns}


@{name}.reference("torch")
def _(x):
    return 2 * x
"""


def two_operators(directory: Path) -> Project:
    """A right operator, and one that is wrong in its last case, in one module, committed."""
    project = repository(directory)
    text = (
        HEADER
        + OPERATOR.format(name="one", returns="x + x")
        + OPERATOR.format(name="two", returns="x + (0.0 if x[0] == 4 else x)")
    )
    (directory / "kernels.py").write_text(text)
    (directory / "opsdebug.toml").write_text('operators = ["kernels.py"]\nperformance = "off"\n')
    project.commit()
    return project


def command(project: Project) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "opsdebug_ci", "ci", "--stage", "full", "--json"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return subprocess.Popen(
        words, cwd=project.directory, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def whole_run(project: Project) -> dict[str, Any]:
    """The document of the command, which is to end by itself with a failing gate."""
    process = command(project)
    out, _ = process.communicate(timeout=280)
    assert process.returncode == 1
    document: dict[str, Any] = json.loads(out)
    return document


def launches(project: Project) -> Counter[str]:
    """How often each case's inputs were seen since the last call."""
    log = project.directory / "launches.txt"
    seen = Counter(log.read_text().splitlines())
    log.unlink()
    return seen


def journalled(project: Project) -> list[str]:
    """Ids of the cases in the journal."""
    lines = [line for file in journals(project) for line in file.read_text().splitlines()]
    return [str(json.loads(line)["key"]) for line in lines]


def journals(project: Project) -> list[Path]:
    return sorted((project.directory / ".opsdebug" / "journal").glob("*"))


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    """What two runs of the same code have in common."""
    observations = [{**each, "timing": None} for each in document["observations"]]
    return {**document, "run": None, "notes": None, "observations": observations}


@contextmanager
def held(project: Project) -> Iterator[subprocess.Popen[str]]:
    """The command, while a case hangs in its middle."""
    hold, reached = (project.directory / name for name in ("hold.txt", "held.txt"))
    hold.touch()
    process = command(project)
    try:
        deadline = time.monotonic() + 280
        while not reached.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert reached.exists(), "the case that is to hang was never reached"
        yield process
    finally:
        hold.unlink()
        process.kill()
        process.communicate()


def test_a_killed_and_budgeted_run_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    project = two_operators(tmp_path)
    uninterrupted = whole_run(project)
    cases = [each["case"] for each in uninterrupted["observations"]]
    names = {each["id"]: f"{each['operator']} {each['seed']}" for each in cases}
    assert (len(names), set(launches(project))) == (2 * SEEDS, set(names.values()))
    assert journals(project) == [], "a whole run leaves no journal"
    assert not any(note.startswith("resumed") for note in uninterrupted["notes"])

    # (1) the end of the process in the middle of a case
    with held(project) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    killed = set(journalled(project))
    assert 0 < len(killed) < 2 * SEEDS
    assert "one 3" in set(launches(project)) - {names[key] for key in killed}, "the case that hung is not kept"

    # (2) the end of the budget
    world = project.world(tick_ns=10**9)
    spent = run_stage(replace(FULL, budget_s=25.0), project.configuration(), world).document
    judged = {each.case.id for each in spent.observations}
    assert (spent.summary.verdict, spent.summary.exit_code) == (Verdict.INCONCLUSIVE, 4)
    assert killed < judged < set(names)
    assert spent.notes == (
        f"resumed: {len(killed)} of 10 cases from an earlier attempt",
        f"correctness: {len(judged)} of 10 cases judged within the budget; the same command goes on from there",
    )
    assert judged == set(journalled(project))
    launches(project)

    # (3) the rest
    resumed = whole_run(project)
    again = launches(project)
    assert resumed["notes"][0] == f"resumed: {len(judged)} of 10 cases from an earlier attempt"
    assert set(again) >= {names[key] for key in set(names) - judged}
    assert again.keys().isdisjoint({names[key] for key in judged} - WATCHED), "no case is run twice"
    assert without_times(resumed) == without_times(uninterrupted)
    assert journals(project) == []


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The two operators, which import a module that git ignores."""
    made = two_operators(tmp_path_factory.mktemp("key"))
    kernels = made.directory / "kernels.py"
    (made.directory / ".gitignore").write_text("ignored.py\nlaunches.txt\n")
    (made.directory / "ignored.py").write_text("")
    kernels.write_text("import ignored\n" + kernels.read_text())
    made.commit()
    return made


@pytest.fixture(scope="module")
def bench(project: Project) -> Iterator[Workbench]:
    with workbench(project.configuration(operators="kernels.py"), project.world()) as made:
        yield made


def key(project: Project, bench: Workbench, selection: Selection = FULL, **overrides: object) -> str | None:
    configuration = project.configuration(operators="kernels.py", **overrides)
    return attempt_key(selection, bench, configuration, read_revision(project.directory))


def test_more_time_or_another_gate_goes_on_from_the_same(project: Project, bench: Workbench) -> None:
    first = key(project, bench)
    assert first == key(project, bench)
    assert first == key(project, bench, replace(FULL, budget_s=60.0, diagnosis_s=1.0, fresh=True))
    assert first == key(project, bench, store="elsewhere", gate="all", budget=5)


def test_every_part_of_command_and_machine_belongs_to_the_key(project: Project, bench: Workbench) -> None:
    selections = {
        "stage": replace(FULL, stage=Stage.SMOKE),
        "patterns": replace(FULL, patterns=("one",)),
        "shard": replace(FULL, shard=Shard(index=1, count=2)),
        "axes": replace(FULL, axes=parse_axes(dtype="float32")),
        "checks": replace(FULL, checks=FULL.checks[:1]),
        "repeats": replace(FULL, repeats=2),
        "profile": replace(FULL, profile=Profile.QUICK),
        "changed": replace(FULL, changed="HEAD"),
    }
    keys = {name: key(project, bench, selection) for name, selection in selections.items()}
    keys["timeout"] = key(project, bench, timeout=30)
    keys["interpreter"] = key(project, bench, python="/elsewhere/python")
    keys["machine"] = key(project, replace(bench, machine=replace(bench.machine, key="another")))
    keys["devices"] = key(project, replace(bench, devices=("cuda",)))
    keys["nothing"] = key(project, bench)
    assert None not in keys.values()
    assert len(set(keys.values())) == len(keys)


def test_all_code_belongs_to_the_key_and_what_runs_leave_does_not(project: Project, bench: Workbench) -> None:
    here = project.directory
    states = {"committed": key(project, bench)}
    for name in ("kernels.py", "untracked.py", "ignored.py"):
        path = here / name
        before = path.read_text() if path.exists() else None
        path.write_text("# changed\n" + (before or ""))
        states[name] = key(project, bench)
        path.write_text("# changed again\n" + (before or ""))
        states[f"{name} again"] = key(project, bench)
        path.unlink() if before is None else path.write_text(before)
    assert key(project, bench) == states["committed"]

    (here / "baselines").mkdir()
    for name in ("launches.txt", "plot.png", "baselines/table.py"):
        (here / name).write_text("left by a run")
    assert key(project, bench) == states["committed"]

    project.commit()
    states["next commit"] = key(project, bench)
    assert None not in states.values()
    assert len(set(states.values())) == len(states) == 8


def test_without_a_commit_nothing_is_continued(tmp_path: Path, bench: Workbench) -> None:
    project = Project(directory=tmp_path).write(one="x + x")
    assert key(project, bench) is None
    project.git("init", "--quiet")
    assert key(project, bench) is None


def test_a_real_observation_is_judged_as_before(project: Project, bench: Workbench) -> None:
    (two,) = [operator for operator in bench.catalogue.operators if operator.name == "two"]
    wrong = cases(two, Stage.FULL, parse_axes(seed="4"), FULL.checks, ("cpu",))
    ((case, observation),) = bench.pool.run(wrong, profile=Profile.DEEP)
    assert observation.outputs and observation.clues, "a failure, and what was asked about it"
    with open_journal(project.directory, "key", project.world()) as journal:
        Attempt(budget=unlimited(), journal=journal).keep(observation)
    with open_journal(project.directory, "key", project.world()) as journal:
        earlier, rest = Attempt(budget=unlimited(), journal=journal).parted(wrong)
    assert (earlier, rest) == ([(case, observation)], [])


def unlimited() -> Budget:
    return Budget.begin("correctness", None, lambda: 0)


def ended(status: Status, signal_name: str | None = None) -> Observation:
    process = ProcessFacts(signal=signal_name, exit_code=None, phase=Phase.FUNCTION, detail=None, log_tail="")
    return Observation(case_id="case", status=status, process=process)


@pytest.mark.parametrize(
    ("observation", "lasting"),
    [
        (Observation(case_id="case", status=Status.RAN), True),
        (Observation(case_id="case", status=Status.RAISED), True),
        (ended(Status.CRASHED, "SIGSEGV"), True),
        (ended(Status.CRASHED), True),
        (ended(Status.TIMED_OUT, "SIGKILL"), True),
        (ended(Status.OUT_OF_MEMORY, "SIGKILL"), True),
        (ended(Status.CRASHED, "SIGKILL"), False),
        (ended(Status.CRASHED, "SIGTERM"), False),
        (ended(Status.REFERENCE_BROKEN, "SIGTERM"), False),
        (Observation(case_id="case", status=Status.WORKER_BROKEN), False),
        (Observation(case_id="case", status=Status.SKIPPED), False),
    ],
)
def test_what_a_stopping_machine_may_have_ended_is_run_again(observation: Observation, lasting: bool) -> None:
    assert is_lasting(observation) is lasting


def test_speed_keeps_its_share_where_it_is_asked_about_within_the_same_budget(project: Project) -> None:
    nightly, off = (project.configuration(performance=asked) for asked in ("nightly", "off"))
    assert share_for_performance(FULL, nightly) == 0.4
    assert share_for_performance(FULL, off) == 0.0
    assert share_for_performance(replace(FULL, stage=Stage.SMOKE), project.configuration(performance="pr")) == 0.0


def test_failures_keep_a_share_of_the_time_and_get_what_cases_leave() -> None:
    clock = iter(range(0, 10**12, 10**9))
    attempt = Attempt(budget=Budget.begin("correctness", 100.0, clock.__next__))
    assert attempt.budget_for_cases(600.0).seconds == pytest.approx(98 * 0.75), "a quarter at most"
    assert attempt.budget_for_cases(None).seconds == pytest.approx(95.0)
    assert attempt.seconds_for_diagnosis(5.0) == 5.0
    assert 80 < attempt.seconds_for_diagnosis(600.0) < 95
    spent = Attempt(budget=Budget.begin("correctness", 0.5, clock.__next__))
    assert 0 < spent.seconds_for_diagnosis(600.0) < 0.01, "not nothing, which would be no wish for it"
