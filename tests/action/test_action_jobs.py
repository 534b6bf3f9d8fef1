"""Which jobs of the workflows an event starts, as act reads their conditions; none of them is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from act_runs import BIN, act, git
from workflow_files import actions_used, loaded

from opsdebug_ci.github.scaffold import scaffold

NOTHING = """\
name: nothing
description: Does nothing.
runs:
  using: composite
  steps:
    - shell: bash
      run: "true"
"""
ON_A_PULL_REQUEST = {"number": 7, "pull_request": {"url": "u"}}
SIDES = {"number": 7, "head": {"sha": "a" * 40, "ref": "x"}, "base": {"sha": "b" * 40, "ref": "main"}}
NIGHT = {"full", "baseline", "report"}


def commented(body: str, issue: Mapping[str, Any]) -> dict[str, Any]:
    return {"action": "created", "issue": issue, "comment": {"body": body}}


def labelled(name: str) -> dict[str, Any]:
    return {"action": "labeled", "label": {"name": name}, "pull_request": SIDES}


def ended(conclusion: str) -> dict[str, Any]:
    return {"action": "completed", "workflow_run": {"id": 1, "conclusion": conclusion}}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("jobs")
    place = root / "repository"
    for file in scaffold():
        (place / file.path).parent.mkdir(parents=True, exist_ok=True)
        (place / file.path).write_text(file.text, encoding="utf-8")
    (root / "nothing").mkdir()
    (root / "nothing/action.yml").write_text(NOTHING, encoding="utf-8")
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=base")
    return place


USUAL = (
    ("opsdebug.yml", "pull_request", {"pull_request": SIDES}, {"smoke"}),
    ("opsdebug.yml", "merge_group", {"merge_group": {"head_sha": "a" * 40}}, {"smoke"}),
    ("opsdebug-report.yml", "workflow_run", ended("cancelled"), {"report"}),
    ("opsdebug-report.yml", "workflow_run", ended("skipped"), set()),
    ("opsdebug-nightly.yml", "push", {"ref": "refs/heads/main"}, NIGHT),
    ("opsdebug-nightly.yml", "workflow_dispatch", {"ref": "refs/heads/main"}, NIGHT),
    ("opsdebug-release.yml", "release", {"action": "published", "release": {"tag_name": "v1"}}, {"replay"}),
    ("opsdebug-accept.yml", "pull_request_target", labelled("bug"), set()),
)
"""What slow tests see run, or what differs from another row in a word."""


@pytest.mark.skipif(not (BIN / "act").exists(), reason="conditions are read by act")
@pytest.mark.parametrize(
    ("workflow", "event", "payload", "jobs"),
    [
        *(pytest.param(*one, marks=pytest.mark.slow) for one in USUAL),
        ("opsdebug-report.yml", "workflow_run", ended("failure"), {"report"}),
        ("opsdebug-report.yml", "workflow_run", ended("action_required"), set()),
        ("opsdebug-nightly.yml", "schedule", {"schedule": "17 2 * * *"}, NIGHT),
        ("opsdebug-nightly.yml", "workflow_dispatch", {"ref": "refs/heads/topic"}, {"full", "report"}),
        ("opsdebug-accept.yml", "issue_comment", commented("/opsdebug accept gelu", ON_A_PULL_REQUEST), {"accept"}),
        ("opsdebug-accept.yml", "issue_comment", commented("/opsdebug accept gelu", {"number": 8}), set()),
        ("opsdebug-accept.yml", "issue_comment", commented("see /opsdebug accept gelu", ON_A_PULL_REQUEST), set()),
        ("opsdebug-accept.yml", "pull_request_target", labelled("opsdebug-accept: gelu"), {"accept"}),
    ],
)
def test_an_event_starts_these_jobs(
    repository: Path, tmp_path: Path, workflow: str, event: str, payload: dict[str, Any], jobs: set[str]
) -> None:
    home = {"full_name": "acme/kernels", "default_branch": "main"}
    file = tmp_path / "event.json"
    file.write_text(json.dumps({**payload, **({} if event == "schedule" else {"repository": home})}), encoding="utf-8")
    used = actions_used(loaded((repository / ".github/workflows" / workflow).read_text(encoding="utf-8")))
    done = act(
        event,
        file,
        repository=repository,
        home=tmp_path / "home",
        actions=dict.fromkeys(used, repository.parent / "nothing"),
        variables={},
        options=("--dryrun", "--workflows", f".github/workflows/{workflow}"),
    )
    assert done.exit_code == 0, done.text
    assert {line["jobID"] for line in done.log if "jobID" in line} == jobs
