"""One real job of a hostile pull request, looked at from every side: A1 to A6, A27, A28, A31."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attack_documents import Page
from attack_list import attack, twin
from hostile_job import CANARY, HARMLESS, ORDERS, SECRETS, HostileJob

from opsdebug_ci.report import decode

pytestmark = pytest.mark.slow

OUTPUTS = {"verdict", "failures", "regressions", "exit-code", "report-json", "summary-md"}


@attack("A1")
def test_a_name_adds_no_output_to_a_real_job(hostile_job: HostileJob) -> None:
    outputs = hostile_job.outputs
    assert set(outputs) >= OUTPUTS
    assert [name for name in outputs if not name.replace("-", "").islower()] == []
    assert (outputs["verdict"], outputs["failures"], outputs["exit-code"]) == ("fail", "6", "1")
    assert hostile_job.exit_code == 1


@attack("A2")
def test_the_runner_obeys_nothing_that_operators_print_or_raise(hostile_job: HostileJob) -> None:
    token, first, second = hostile_job.commands
    assert token.startswith("::warning title=opsdebug%3A the token is ")
    assert first.startswith("::error file=operators.py,line=")
    assert second.startswith("::error file=operators.py,line=")
    assert ("title=halved" in first, "title=attack" in second) == (True, True)
    assert hostile_job.errors == ""


@attack("A3")
@pytest.mark.parametrize("name", [*SECRETS, "PIP_INDEX_URL"])
def test_a_secret_is_not_there_for_an_operator(name: str, hostile_job: HostileJob) -> None:
    assert name not in hostile_job.spoils["environ"]


@attack("A3")
def test_no_value_that_an_operator_sees_is_the_token(hostile_job: HostileJob) -> None:
    assert [name for name, value in hostile_job.spoils["environ"].items() if CANARY in value] == []


@twin("A3")
@pytest.mark.parametrize("name", HARMLESS)
def test_what_a_build_needs_is_there(name: str, hostile_job: HostileJob) -> None:
    assert hostile_job.spoils["environ"][name] == HARMLESS[name]


@attack("A4")
@pytest.mark.parametrize("name", ORDERS)
def test_an_operator_gives_the_runner_no_orders(name: str, hostile_job: HostileJob) -> None:
    assert name not in hostile_job.spoils["environ"]
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "step_summary"}
    path = hostile_job.root / files.get(name, name.lower())
    assert "PWNED" not in (path.read_text(encoding="utf-8") if path.exists() else "")
    assert path.exists() == (name in files)


@twin("A4")
def test_the_step_itself_writes_its_summary(hostile_job: HostileJob) -> None:
    summary = (hostile_job.root / "step_summary").read_text(encoding="utf-8")
    assert summary == Path(hostile_job.outputs["summary-md"]).read_text(encoding="utf-8")
    assert "6 of 9 cases of 3 operators failed; 3 pass" in summary


def imports(job: HostileJob) -> list[tuple[str, list[str]]]:
    """Module and command line of every process that imported a planted one."""
    lines = (job.root / "imported").read_bytes().split(b"\0")
    pairs = (line.decode().partition("\t") for line in lines if line)
    return [(module, words.split("\x1f")) for module, _, words in pairs]


@attack("A5")
def test_the_control_side_imports_nothing_from_the_workspace(hostile_job: HostileJob) -> None:
    assert [(module, words) for module, words in imports(hostile_job) if "-I" in words] == []
    assert [module for module, _ in imports(hostile_job) if module in ("click", "msgspec", "opsdebug_ci")] == []


@twin("A5")
def test_the_interpreter_of_the_user_does(hostile_job: HostileJob) -> None:
    """Their PYTHONPATH is theirs: the planted modules are real ones, and the worker is on their side."""
    assert {"json", "sitecustomize"} <= {module for module, _ in imports(hostile_job)}
    assert all("-I" in words.split("\0") for words in hostile_job.spoils["chain"][1:])


@attack("A5")
@attack("A28")
def test_no_planted_program_was_started(hostile_job: HostileJob) -> None:
    """Neither the interpreter in the workspace nor anything that the configuration of git names."""
    assert not (hostile_job.root / "sprung").exists()


@twin("A28")
def test_the_planted_configuration_of_git_is_a_trap(hostile_job: HostileJob, tmp_path: Path) -> None:
    (hostile_job.workspace / "operators.py").touch()
    words = ["git", "-C", str(hostile_job.workspace), "status"]
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)}
    subprocess.run(words, env=environ, capture_output=True, check=False)
    sprung = hostile_job.root / "sprung"
    assert sprung.exists()
    sprung.unlink()


@attack("A6")
def test_the_name_of_a_branch_is_only_text(hostile_job: HostileJob) -> None:
    """The base of a real job's pull request."""
    assert [path for path in hostile_job.root.rglob("*") if path.name == "sprung"] == []
    how = decode(Path(hostile_job.outputs["report-json"]).read_bytes()).baseline_how
    assert 'a";touch sprung;"$(touch sprung)`touch sprung`' in how
    summary = (hostile_job.root / "step_summary").read_text(encoding="utf-8")
    assert 'a";touch sprung;"$(touch sprung)touch sprung ::error::b' in Page(summary).seen.replace("`", "")
    assert not [line for line in summary.splitlines() if line.startswith("::")]


@attack("A31")
def test_the_token_is_in_nothing_that_a_real_job_leaves(
    hostile_job: HostileJob, no_canary: Callable[..., None]
) -> None:
    assert list(hostile_job.root.rglob("*.opsbundle")), "bundles are among what is left"
    no_canary(hostile_job.log, hostile_job.errors, hostile_job.root)


@attack("A31")
def test_the_token_is_in_no_command_line(hostile_job: HostileJob) -> None:
    chain = hostile_job.spoils["chain"]
    assert len(chain) == 3
    assert [words for words in chain if CANARY in words] == []


@attack("A27")
def test_a_real_run_of_a_pull_request_is_not_recorded(hostile_job: HostileJob) -> None:
    assert not (hostile_job.workspace / "store").exists()
    assert "not recorded: this job is of event `pull_request`" in hostile_job.log
