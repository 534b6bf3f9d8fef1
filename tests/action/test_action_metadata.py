"""The action and this project's own workflows as the tools that check such files see them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from workflow_files import ROOT, actions_used, checkouts, load, scripts, steps, tool

from opsdebug_ci.github.inputs import PREFIX
from opsdebug_ci.plan import load_configuration

ACTION = ROOT / "action.yml"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_there_is_something_to_check() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml", "release.yml", "report.yml"]


def test_zizmor_finds_nothing() -> None:
    result = tool("zizmor", "--offline", "--persona=auditor", ACTION, *WORKFLOWS)
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
    result = tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)
    assert result.returncode == 0, result.stdout + result.stderr


def test_actionlint_finds_nothing() -> None:
    result = tool("actionlint", *WORKFLOWS)
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


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_grant_nothing_by_default_pin_what_they_use_and_keep_no_credentials(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    assert "concurrency" in workflow
    used = actions_used(workflow)
    assert used
    for use in used:
        assert re.search(r"@[0-9a-f]{40}$", use) or use == "./", use
    assert checkouts(workflow)
    assert all(step["with"]["persist-credentials"] is False for step in checkouts(workflow))
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    for line in path.read_text(encoding="utf-8").splitlines():
        assert not re.search(r"uses: \S+@[0-9a-f]{40}$", line), "the version belongs beside the hash"


def test_a_job_that_may_write_runs_no_operator_and_checks_out_no_pull_request() -> None:
    writing = [
        job for path in WORKFLOWS for job in load(path)["jobs"].values() if "write" in job["permissions"].values()
    ]
    assert len(writing) == 3
    for job in writing:
        assert all({"publish", "push"} & set(step["with"]) for step in job["steps"] if step.get("uses") == "./")
        assert all("ref" not in step["with"] for step in job["steps"] if "checkout" in step.get("uses", ""))
        assert scripts(job) == []


def test_the_projects_own_workflows_check_the_built_in_operators() -> None:
    assert load_configuration(ROOT).operators == ("opsdebug_ci.catalogue",)
    for name in ("ci.yml", "nightly.yml"):
        used = [step["with"] for step in steps(load(ROOT / ".github/workflows" / name)) if step.get("uses") == "./"]
        running = [given for given in used if not {"push", "publish"} & set(given)]
        assert len(running) == 1
        assert "config" not in running[0], "the nearest configuration is the project's own"


def test_the_projects_own_pull_requests_are_told_what_was_found() -> None:
    report = load(ROOT / ".github/workflows/report.yml")
    assert report["on"]["workflow_run"]["workflows"] == [load(ROOT / ".github/workflows/ci.yml")["name"]]
    for name in ("report.yml", "nightly.yml"):
        told = [
            step["with"] for step in steps(load(ROOT / ".github/workflows" / name)) if "publish" in step.get("with", {})
        ]
        assert [given["publish"] for given in told] == ["true"]


def test_the_self_test_gates_changes_and_releases() -> None:
    for name in ("ci.yml", "release.yml"):
        jobs = load(ROOT / ".github/workflows" / name)["jobs"]
        assert [step["run"] for step in jobs["selftest"]["steps"] if step.get("name") == "Self-test"] == [
            "opsdebug selftest"
        ]
    assert load(ROOT / ".github/workflows/release.yml")["jobs"]["wheel"]["needs"] == "selftest"
    assert "make selftest" in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
