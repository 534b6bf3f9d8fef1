"""Every input of the action, given to every kind of job: it changes what the job does, or is refused."""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from workflow_files import ROOT, load, loaded, steps

from opsdebug_ci.errors import ConfigurationError
from opsdebug_ci.github.input_use import DEFAULTS, MEANT, Task, check_use, task_of
from opsdebug_ci.github.inputs import PREFIX
from opsdebug_ci.github.scaffold import scaffold
from opsdebug_ci.pipeline.action import run_action
from opsdebug_ci.store.files.layout import MARKER

ACTION = load(ROOT / "action.yml")

GIVEN = {
    "stage": "full",
    "config": "other.toml",
    "operators": "gelu",
    "changed": "main",
    "shard": "2/3",
    "python": "python3.99",
    "store": "elsewhere",
    "record": "kept",
    "push": "again",
    "publish": "true",
    "comment": "changes",
    "comment-id": "gpu",
    "expected-shards": "3",
    "run-id": "7",
    "comment-author": "my-app[bot]",
    "workflow": ".github/workflows/x.yml",
    "token": "canary-0815",
    "gate": "all",
    "timeout": "5",
    "budget": "9",
    "annotations": "false",
    "summary": "false",
    "working-directory": "below",
    "wheelhouse": "wheels",
}
"""A value of every input that is not its default."""

JOBS: dict[Task, dict[str, str]] = {
    Task.RUN: {},
    Task.REPLAY: {"stage": "replay"},
    Task.PUSH: {"push": "recorded"},
    Task.PUBLISH: {"publish": "true"},
}

ANSWERS = {"annotations", "summary"}
"""What they change is what is told of a document; tests of the step see it."""

TELLS = """\
{ printf '%s\\n' "$@"; pwd; printf 'token %s\\n' "$OPSDEBUG_TOKEN"; } > "$TOLD"
exit 3
"""
"""In place of the command line."""


def variables(inputs: dict[str, str]) -> dict[str, str]:
    return {PREFIX + name.upper().replace("-", "_"): value for name, value in inputs.items()}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for place in (tmp_path, tmp_path / "below"):
        for name in ("recorded", "again"):
            (place / name).mkdir(parents=True)
            (place / name / MARKER).write_text("{}", encoding="utf-8")
        for name in ("opsdebug.toml", "other.toml"):
            (place / name).write_text('operators = ["a.py"]\n', encoding="utf-8")
    (tmp_path / "temp").mkdir()
    return tmp_path


def told(workspace: Path, inputs: dict[str, str]) -> tuple[int, str]:
    """Exit code of the step, and everything that can be seen of it, without names that differ from step to step."""
    environ = {
        "PATH": "/usr/bin:/bin",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_OUTPUT": str(workspace / "output"),
        "RUNNER_TEMP": str(workspace / "temp"),
        "TOLD": str(workspace / "told"),
        **variables(inputs),
    }
    for name in ("told", "output"):
        (workspace / name).unlink(missing_ok=True)
    log = io.StringIO()
    code = run_action(environ, opsdebug=("sh", "-c", TELLS, "opsdebug"), stdout=log)
    seen = [workspace / name for name in ("output", "told") if (workspace / name).exists()]
    text = log.getvalue() + "".join(path.read_text(encoding="utf-8") for path in seen)
    return code, re.sub(r"opsdebug_[0-9a-f]+|opsdebug-(shard|report)-\w+", "", text)


def test_the_table_has_every_input_and_its_default() -> None:
    assert set(MEANT) == set(ACTION["inputs"]) == set(GIVEN)
    defaults = {name: DEFAULTS.get(name, "") for name in MEANT}
    assert defaults == {name: declared["default"] for name, declared in ACTION["inputs"].items()}
    assert not [name for name, value in GIVEN.items() if value == defaults[name]]


@pytest.mark.parametrize("task", Task)
def test_defaults_stay_silent(workspace: Path, task: Task) -> None:
    defaults = {name: declared["default"] for name, declared in ACTION["inputs"].items()}
    assert task_of(variables(JOBS[task])) is task
    assert told(workspace, defaults | JOBS[task]) == told(workspace, JOBS[task])
    assert told(workspace, JOBS[task])[0] == 3


@pytest.mark.parametrize("task", Task)
def test_every_input_is_used_or_refused(workspace: Path, task: Task) -> None:
    set_up = set(ACTION["runs"]["steps"][0]["env"].values())
    without = told(workspace, JOBS[task])
    refused, used = set(), set()
    for name in sorted(set(GIVEN) - ANSWERS - set(JOBS[task])):
        inputs = JOBS[task] | {name: GIVEN[name]}
        if task_of(variables(inputs)) is not task:
            continue
        code, text = told(workspace, inputs)
        if code == 2:
            assert f"`{name}` is '{GIVEN[name]}'; wanted " in text, name
            assert "; next: leave them out of the `with:` block" in text
            assert not (workspace / "told").exists(), "nothing was run"
            refused.add(name)
        else:
            assert (code, text) != without or f"${{{{ inputs.{name} }}}}" in set_up, f"{name} is passed over"
            used.add(name)
    assert refused == {name for name in refused | used if task not in MEANT[name] or name in _LIMITED.get(task, ())}


_LIMITED = {Task.PUBLISH: ("gate",), Task.REPLAY: ("changed",)}
"""Inputs that have a meaning with another value."""


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            {"publish": "true", "shard": "1/3", "operators": "gelu"},
            "`operators` is 'gelu'; wanted nothing with `publish`; `shard` is '1/3'; wanted nothing with `publish`",
        ),
        ({"publish": "true", "gate": "new"}, "`gate` is 'new'; wanted `never` or nothing with `publish`"),
        ({"push": "kept", "stage": "full"}, "`stage` is 'full'; wanted nothing with `push`"),
        ({"run-id": "7"}, "`run-id` is '7'; wanted nothing where operators run"),
        ({"stage": "replay", "changed": "main"}, "`changed` is 'main'; wanted `auto` or nothing with stage `replay`"),
    ],
)
def test_what_means_nothing_is_told_at_once(inputs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        check_use(variables(inputs))
    assert refusal.value.message == message
    assert refusal.value.exit_code == 2


def _examples() -> list[tuple[str, dict[str, str]]]:
    """Every step with the action in our own workflows, in those that `init` writes, and in the documents."""
    files = {file.path: loaded(file.text) for file in scaffold() if file.path.endswith(".yml")}
    files |= {path.name: load(path) for path in sorted((ROOT / ".github/workflows").glob("*.yml"))}
    found = [(name, step) for name, workflow in files.items() for step in steps(workflow)]
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            found += [(page.name, step) for step in _steps(loaded(block))]
    return [(name, step["with"]) for name, step in found if _is_ours(step)]


def _steps(node: Any) -> list[Any]:
    if isinstance(node, dict):
        own = [node] if "uses" in node else []
        return own + list(itertools.chain.from_iterable(map(_steps, node.values())))
    return list(itertools.chain.from_iterable(map(_steps, node))) if isinstance(node, list) else []


def _is_ours(step: dict[str, Any]) -> bool:
    return step.get("uses") == "./" or step.get("uses", "").startswith("opsdebug-ci/opsdebug-ci@")


def test_every_workflow_of_ours_and_every_example_keeps_working() -> None:
    examples = _examples()
    assert len(examples) >= 15
    assert {task_of(variables(inputs)) for _, inputs in examples} == set(Task)
    for name, inputs in examples:
        task = task_of(variables(inputs))
        check_use(variables(inputs))
        assert task in (Task.PUSH, Task.PUBLISH) or "token" not in inputs, name
