"""The whole action as a consumer's workflow sees it, run by act on this machine."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CONSUMER = Path(__file__).parent / "consumer"
PARTS = ("action.yml", ".github/action", "opsdebug_ci", "pyproject.toml", "README.md", "LICENSE")
BRANCH = 'a";touch "$RESULTS/pwned";"$(touch "$RESULTS/pwned")`id`'
CANARY = "canary-4711"
STEPS = {"clean": "right", "planted": "wrong", "hostile": "hostile"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumed:
    """What one run of the consumer's workflow left."""

    exit_code: int
    log: list[dict[str, Any]]
    results: Path
    installed_before: tuple[str, str]
    installed_after: tuple[str, str]
    action_before: dict[str, str]
    action_after: dict[str, str]

    def step(self, job: str) -> dict[str, Any]:
        """Outcome and outputs of the action's step in `job`."""
        steps = json.loads((self.results / f"{job}.json").read_text(encoding="utf-8"))
        return dict(steps[STEPS[job]])

    def messages(self, job: str) -> str:
        return "\n".join(str(line.get("msg", "")) for line in self.log if line.get("jobID") == job)

    def commands(self, job: str, name: str) -> list[str]:
        """Messages of the workflow commands `name` that the runner obeyed in `job`."""
        return [
            str(line.get("raw", line.get("msg", "")))
            for line in self.log
            if line.get("jobID") == job and line.get("command") == name
        ]


def git(directory: Path, *words: str) -> str:
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *author, *words], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout


def exported(directory: Path) -> Path:
    """The action's files alone, without anything that git ignores."""
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *PARTS)
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)
    return directory


def wheelhouse(root: Path) -> Path:
    """A directory of wheels, filled as docs/action.md says."""
    wheels = root / "wheel house"
    sources = exported(root / "sources")
    words = ("wheel", "--quiet", "--wheel-dir", str(wheels), str(sources), "setuptools")
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True, timeout=300)
    return wheels


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


def pip_settings() -> dict[str, str]:
    """pip's configuration of this machine as variables, since act's home directory is another one."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    entries = re.findall(r"^(?:global|install|user|:env:)\.([a-z-]+)=(.+)$", listed.stdout, re.M)
    settings = {f"PIP_{name.upper().replace('-', '_')}": str(ast.literal_eval(value)) for name, value in entries}
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=False)
    return settings | ({"PIP_CACHE_DIR": cache.stdout.strip()} if cache.returncode == 0 else {})


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


def act(root: Path, action: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the consumer's workflow on this machine, with a home directory of its own."""
    home = root / "home"
    home.mkdir()
    repository = consumer_repository(root)
    words = ["pull_request", "--json", "--eventpath", str(event_file(root, repository))]
    words += ["--platform", "ubuntu-latest=-self-hosted"]
    words += ["--local-repository", f"opsdebug-ci/opsdebug-ci@v1={action}"]
    words += [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
    return subprocess.run(
        [str(BIN / "act"), *words],
        cwd=repository,
        env=dict(os.environ) | {"HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


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
    done = act(root, action, variables)
    (root / "log").write_text(done.stdout + done.stderr, encoding="utf-8")
    return Consumed(
        exit_code=done.returncode,
        log=[json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")],
        results=results,
        installed_before=before[0],
        installed_after=installed(),
        action_before=before[1],
        action_after=content(action),
    )


def right_operators_pass(consumed: Consumed) -> None:
    step = consumed.step("clean")
    assert step["outcome"] == "success", consumed.messages("clean")
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
    assert consumed.commands("clean", "error") == []


def wrong_operators_fail_the_job_after_the_outputs_are_set(consumed: Consumed) -> None:
    assert consumed.exit_code == 1
    step = consumed.step("planted")
    assert step["outcome"] == "failure", consumed.messages("planted")
    outputs = step["outputs"]
    assert (outputs["verdict"], outputs["exit-code"]) == ("fail", "1"), consumed.messages("planted")
    report = json.loads((consumed.results / "planted-report.json").read_text(encoding="utf-8"))
    failed = {case["case"]["operator"] for case in report["observations"] if case["verdict"] == "fail"}
    assert failed == {"halved\nverdict=pass", "attack"}
    assert int(outputs["failures"]) == sum(case["verdict"] == "fail" for case in report["observations"])
    assert set(outputs) == {"verdict", "failures", "regressions", "exit-code", "report-json", "summary-md"}


def failures_are_shown_beside_the_code(consumed: Consumed) -> None:
    errors = consumed.commands("planted", "error")
    assert errors, consumed.messages("planted")
    assert any("wrong/operators.py" in error for error in errors), errors


def the_attack_reached_nothing(consumed: Consumed) -> None:
    assert not (consumed.results / "pwned").exists()
    text = (consumed.results / "planted-report.json").read_text(encoding="utf-8")
    assert "secrets []" in text
    assert CANARY not in text
    obeyed = [error for job in STEPS for error in consumed.commands(job, "error")]
    assert len(obeyed) >= 3
    ours = re.compile(r"::error (file=wrong/operators\.py,line=\d+,)?title=[^:,]*::")
    assert [error for error in obeyed if not ours.match(error)] == []
    for command in ("add-mask", "set-env", "add-path"):
        assert consumed.commands("planted", command) == []
    assert "PWNED" not in (consumed.results / "planted-summary.md").read_text(encoding="utf-8")


def hostile_inputs_stay_text_and_are_refused(consumed: Consumed) -> None:
    step = consumed.step("hostile")
    assert step["outcome"] == "failure", consumed.messages("hostile")
    assert step["outputs"]["exit-code"] == "2"
    assert step["outputs"]["verdict"] == "error"
    (error,) = consumed.commands("hostile", "error")
    for name in ("stage", "operators", "changed", "gate"):
        assert f"`{name}` is " in error


def the_job_summary_is_written(consumed: Consumed) -> None:
    for job in ("clean", "planted"):
        heading = (consumed.results / f"{job}-summary.md").read_text(encoding="utf-8").splitlines()[0]
        assert heading
        assert heading in consumed.messages(job)


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
