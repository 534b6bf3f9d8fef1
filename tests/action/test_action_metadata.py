"""The action, the workflows and the templates as the tools that check such files see them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from opsdebug_ci.github.inputs import PREFIX
from opsdebug_ci.github.scaffold import scaffold
from opsdebug_ci.plan import load_configuration

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
ACTION = ROOT / "action.yml"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / "opsdebug_ci/github/templates").glob("*.yml"))


def tool(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / name), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT
    )


def load(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def actions_used(node: Any) -> list[str]:
    """Every `uses:` below `node`."""
    if isinstance(node, dict):
        own = [node["uses"]] if isinstance(node.get("uses"), str) else []
        return own + [use for item in node.values() for use in actions_used(item)]
    return [use for item in node for use in actions_used(item)] if isinstance(node, list) else []


def scripts(node: Any) -> list[str]:
    """Every `run:` below `node`."""
    if isinstance(node, dict):
        own = [node["run"]] if isinstance(node.get("run"), str) else []
        return own + [script for item in node.values() for script in scripts(item)]
    return [script for item in node for script in scripts(item)] if isinstance(node, list) else []


def test_there_is_something_to_check() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml", "release.yml"]
    assert [path.name for path in TEMPLATES] == ["pull-request.yml"]


def test_zizmor_finds_nothing() -> None:
    result = tool("zizmor", "--offline", "--persona=auditor", ACTION, *WORKFLOWS, *TEMPLATES)
    assert result.returncode == 0, result.stdout + result.stderr


def test_zizmor_would_find_something(tmp_path: Path) -> None:
    planted = tmp_path / "action.yml"
    planted.write_text(
        ACTION.read_text(encoding="utf-8").replace('"$GITHUB_ACTION_PATH/.github', "${{ inputs.python }}/.github"),
        encoding="utf-8",
    )
    result = tool("zizmor", "--offline", "--persona=auditor", planted)
    assert result.returncode != 0
    assert "template-injection" in result.stdout


def test_the_action_fits_its_schema() -> None:
    result = tool("check-jsonschema", "--builtin-schema", "vendor.github-actions", ACTION)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_workflows_fit_their_schema() -> None:
    result = tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS, *TEMPLATES)
    assert result.returncode == 0, result.stdout + result.stderr


def test_actionlint_finds_nothing() -> None:
    result = tool("actionlint", *WORKFLOWS, *TEMPLATES)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_action_uses_no_other_action_and_no_expression_in_a_script() -> None:
    action = load(ACTION)
    assert actions_used(action["runs"]) == []
    assert len(scripts(action["runs"])) == 2
    assert [script for script in scripts(action["runs"]) if "${{" in script] == []
    assert {step["shell"] for step in action["runs"]["steps"]} == {"bash"}
    assert "action_path" not in ACTION.read_text(encoding="utf-8"), "wrong inside a container; use the variable"


def test_nothing_writes_the_jobs_environment() -> None:
    sources = [ACTION, *(ROOT / ".github/action").iterdir(), *(ROOT / "opsdebug_ci/pipeline").glob("*.py")]
    assert len(sources) >= 5
    for source in sources:
        assert not re.search(r"GITHUB_(ENV|PATH)\b", source.read_text(encoding="utf-8")), source


def test_every_input_reaches_a_step_by_env_and_has_a_text_as_default() -> None:
    action = load(ACTION)
    passed = {value for step in action["runs"]["steps"] for value in step["env"].values()}
    for name, declared in action["inputs"].items():
        assert isinstance(declared["default"], str), name
        assert declared["description"].endswith("."), name
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
        assert f"${{{{ inputs.{name} }}}}" in passed, name
    for step in action["runs"]["steps"]:
        for variable, value in step["env"].items():
            if match := re.fullmatch(r"\$\{\{ inputs\.(\S+) \}\}", value):
                assert variable == PREFIX + match[1].upper().replace("-", "_")


def test_the_document_lists_every_input_and_output_with_its_default() -> None:
    text = (ROOT / "docs/action.md").read_text(encoding="utf-8")
    inputs, outputs = (re.findall(r"^\| `([a-z-]+)` \|(.*?)\|", part, re.M) for part in text.split("## Outputs"))
    action = load(ACTION)
    assert {name: default.strip(" `") for name, default in inputs} == {
        name: declared["default"] for name, declared in action["inputs"].items()
    }
    assert [name for name, _ in outputs] == list(action["outputs"])


@pytest.mark.parametrize("path", [*WORKFLOWS, *TEMPLATES], ids=lambda path: path.name)
def test_workflows_grant_nothing_by_default_pin_what_they_use_and_keep_no_credentials(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    assert "concurrency" in workflow
    used = actions_used(workflow)
    assert used
    for use in used:
        assert re.search(r"@[0-9a-f]{40}$", use) or use in ("./", "opsdebug-ci/opsdebug-ci@v1"), use
    checkouts = [
        step for job in workflow["jobs"].values() for step in job["steps"] if "checkout" in step.get("uses", "")
    ]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    for line in path.read_text(encoding="utf-8").splitlines():
        assert not re.search(r"uses: \S+@[0-9a-f]{40}$", line), "the version belongs beside the hash"


def test_the_projects_own_workflows_check_the_built_in_operators() -> None:
    assert load_configuration(ROOT).operators == ("opsdebug_ci.catalogue",)
    for path in (path for path in WORKFLOWS if path.name != "release.yml"):
        steps = [step for job in load(path)["jobs"].values() for step in job["steps"] if step.get("uses") == "./"]
        steps = [step for step in steps if "push" not in step["with"]]
        assert len(steps) == 1
        assert "config" not in steps[0]["with"], "the nearest configuration is the project's own"


def test_the_self_test_gates_changes_and_releases() -> None:
    for name in ("ci.yml", "release.yml"):
        jobs = load(ROOT / ".github/workflows" / name)["jobs"]
        assert [step["run"] for step in jobs["selftest"]["steps"] if step.get("name") == "Self-test"] == [
            "opsdebug selftest"
        ]
    assert load(ROOT / ".github/workflows/release.yml")["jobs"]["wheel"]["needs"] == "selftest"
    assert "make selftest" in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()


def test_the_scaffold_is_complete_and_valid(tmp_path: Path) -> None:
    written = {file.path: file.text for file in scaffold()}
    assert list(written) == [".github/workflows/opsdebug.yml", "opsdebug.toml", "opsdebug_operators.py"]
    compile(written["opsdebug_operators.py"], "opsdebug_operators.py", "exec")
    assert "opsdebug_operators.py" in written["opsdebug.toml"]
    templates = [path for path in (ROOT / "opsdebug_ci/github/templates").iterdir() if path.is_file()]
    assert sorted(written.values()) == sorted(path.read_text(encoding="utf-8") for path in templates)
