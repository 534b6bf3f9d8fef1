"""The whole action as a consumer's workflow sees it, run by act on this machine."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from act_runs import Act, act, exported, git, pip_settings, wheelhouse

pytestmark = pytest.mark.slow

CONSUMER = Path(__file__).parent / "consumer"
BRANCH = 'a";touch "$RESULTS/pwned";"$(touch "$RESULTS/pwned")`id`'
CANARY = "canary-4711"
PUBLISHED = ("conclusion", "comment-url", "check-url")
STEPS = {"clean": "right", "planted": "wrong", "hostile": "hostile"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumed:
    """What one run of the consumer's workflow left."""

    act: Act
    results: Path
    installed_before: tuple[str, str]
    installed_after: tuple[str, str]
    action_before: dict[str, str]
    action_after: dict[str, str]

    def step(self, job: str) -> dict[str, Any]:
        """Outcome and outputs of the action's step in `job`."""
        steps = json.loads((self.results / f"{job}.json").read_text(encoding="utf-8"))
        return dict(steps[STEPS[job]])


def content(directory: Path) -> dict[str, str]:
    """Hash of every file."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def installed() -> tuple[str, str]:
    """The packages of the user's interpreter, and a hash over the files of its site-packages (caches aside)."""
    freeze = subprocess.run(
        [sys.executable, "-m", "pip", "freeze", "--all", "--exclude-editable"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    site = Path(sysconfig.get_path("purelib"))
    names = sorted(str(path) for path in site.rglob("*") if "__pycache__" not in path.parts)
    return freeze, hashlib.sha256("\n".join(names).encode()).hexdigest()


def consumer_repository(root: Path) -> Path:
    """A repository whose second commit brings operators, a workflow and modules that nobody may import."""
    repository = root / "repository"
    shutil.copytree(CONSUMER, repository)
    (repository / ".github/workflows").mkdir(parents=True)
    (repository / "workflow.yml").rename(repository / ".github/workflows/operators.yml")
    for module in ("json.py", "sitecustomize.py", "click.py"):
        (repository / module).write_text("raise SystemExit('the workspace was imported')\n", encoding="utf-8")
    git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "commit", "--quiet", "--allow-empty", "--message=base")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message=operators")
    return repository


def event_file(root: Path, repository: Path) -> Path:
    """A pull request of a branch with a hostile name, onto the repository's first commit."""
    base = git(repository, "rev-parse", "HEAD~1").strip()
    pull_request = {
        "number": 7,
        "head": {"sha": "a" * 40, "ref": BRANCH, "repo": {"full_name": "acme/kernels"}},
        "base": {"sha": base, "ref": "main", "repo": {"full_name": "acme/kernels"}},
    }
    path = root / "event.json"
    path.write_text(json.dumps({"pull_request": pull_request}), encoding="utf-8")
    return path


def consume(root: Path) -> Consumed:
    """Run the workflow once and gather what it left."""
    results = root / "results"
    results.mkdir()
    action = exported(root / "action")
    variables = pip_settings() | {
        "RESULTS": str(results),
        "WHEELHOUSE": str(wheelhouse(root)),
        "GITHUB_REPOSITORY": "acme/kernels",
        "SECRET_TOKEN": CANARY,
    }
    before = installed(), content(action)
    repository = consumer_repository(root)
    done = act(
        "pull_request",
        event_file(root, repository),
        repository=repository,
        home=root / "home",
        actions={"opsdebug-ci/opsdebug-ci@v1": action},
        variables=variables,
    )
    (root / "log").write_text(done.text, encoding="utf-8")
    return Consumed(
        act=done,
        results=results,
        installed_before=before[0],
        installed_after=installed(),
        action_before=before[1],
        action_after=content(action),
    )


def right_operators_pass(consumed: Consumed) -> None:
    step = consumed.step("clean")
    assert step["outcome"] == "success", consumed.act.messages("clean")
    outputs = step["outputs"]
    assert {name: outputs[name] for name in ("verdict", "failures", "exit-code")} == {
        "verdict": "pass",
        "failures": "0",
        "exit-code": "0",
    }
    report = json.loads((consumed.results / "clean-report.json").read_text(encoding="utf-8"))
    assert report["schema"] == "opsdebug.run/1"
    assert {case["case"]["operator"] for case in report["observations"]} == {"halved"}
    assert (report["run"]["ci"]["event"], report["run"]["ci"]["pull_request"]) == ("pull_request", 7)
    assert "halved" in (consumed.results / "clean-summary.md").read_text(encoding="utf-8")
    assert consumed.act.commands("clean", "error") == []


def wrong_operators_fail_the_job_after_the_outputs_are_set(consumed: Consumed) -> None:
    assert consumed.act.exit_code == 1
    step = consumed.step("planted")
    assert step["outcome"] == "failure", consumed.act.messages("planted")
    outputs = step["outputs"]
    assert (outputs["verdict"], outputs["exit-code"]) == ("fail", "1"), consumed.act.messages("planted")
    report = json.loads((consumed.results / "planted-report.json").read_text(encoding="utf-8"))
    failed = {case["case"]["operator"] for case in report["observations"] if case["verdict"] == "fail"}
    assert failed == {"halved\nverdict=pass", "attack"}
    assert int(outputs["failures"]) == sum(case["verdict"] == "fail" for case in report["observations"])
    told = {"verdict", "failures", "regressions", "exit-code", "report-json", "summary-md"}
    assert set(outputs) == told | {"artifact-name", "artifact-path", "bundle-dir", *PUBLISHED}
    assert (outputs["artifact-name"], {outputs[name] for name in PUBLISHED}) == ("opsdebug-v1-a1-s1of1", {""})


def failures_are_shown_beside_the_code(consumed: Consumed) -> None:
    errors = consumed.act.commands("planted", "error")
    assert errors, consumed.act.messages("planted")
    assert any("wrong/operators.py" in error for error in errors), errors


def the_attack_reached_nothing(consumed: Consumed) -> None:
    assert not (consumed.results / "pwned").exists()
    text = (consumed.results / "planted-report.json").read_text(encoding="utf-8")
    assert "secrets []" in text
    assert CANARY not in text
    obeyed = [error for job in STEPS for error in consumed.act.commands(job, "error")]
    assert len(obeyed) >= 3
    ours = re.compile(r"::error (file=wrong/operators\.py,line=\d+,)?title=[^:,]*::")
    assert [error for error in obeyed if not ours.match(error)] == []
    for command in ("add-mask", "set-env", "add-path"):
        assert consumed.act.commands("planted", command) == []
    assert "PWNED" not in (consumed.results / "planted-summary.md").read_text(encoding="utf-8")


def hostile_inputs_stay_text_and_are_refused(consumed: Consumed) -> None:
    step = consumed.step("hostile")
    assert step["outcome"] == "failure", consumed.act.messages("hostile")
    assert step["outputs"]["exit-code"] == "2"
    assert step["outputs"]["verdict"] == "error"
    (error,) = consumed.act.commands("hostile", "error")
    for name in ("stage", "operators", "changed", "gate"):
        assert f"`{name}` is " in error


def the_job_summary_is_written(consumed: Consumed) -> None:
    for job in ("clean", "planted"):
        heading = (consumed.results / f"{job}-summary.md").read_text(encoding="utf-8").splitlines()[0]
        assert heading
        assert heading in consumed.act.messages(job)


def the_users_interpreter_and_the_action_are_unchanged(consumed: Consumed) -> None:
    assert consumed.installed_after == consumed.installed_before
    assert consumed.action_after == consumed.action_before
    assert len(consumed.action_before) > 20


def no_variable_of_the_action_is_left_in_the_job(consumed: Consumed) -> None:
    assert (consumed.results / "leaked").read_text(encoding="utf-8") == ""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_action_as_a_consumer_sees_it(tmp_path: Path) -> None:
    """One run of act serves every check: test processes side by side share no fixture."""
    consumed = consume(tmp_path)
    right_operators_pass(consumed)
    wrong_operators_fail_the_job_after_the_outputs_are_set(consumed)
    failures_are_shown_beside_the_code(consumed)
    the_attack_reached_nothing(consumed)
    hostile_inputs_stay_text_and_are_refused(consumed)
    the_job_summary_is_written(consumed)
    the_users_interpreter_and_the_action_are_unchanged(consumed)
    no_variable_of_the_action_is_left_in_the_job(consumed)
