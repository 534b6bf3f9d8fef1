"""GitHub's JSON of workflow runs, their jobs, artifacts and check runs.

Decides how a remembered value is told; the referee holds it against GitHub's description.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from github_server.documents import Documents, node_id
from github_server.records import Artifact, Check, Job, PullRequest, Run
from github_server.state import APPS

WORKFLOW = 161335
"""Id of every workflow."""


def run_document(to: Documents, one: Run) -> dict[str, Any]:
    """A run."""
    api = f"{to.api}/repos/{one.repository}/actions/runs/{one.id}"
    home = to.state.repository(one.repository)
    head = to.state.repository(one.head_repository) if one.head_repository else None
    commit = {
        "id": one.head_sha,
        "tree_id": one.head_sha,
        "message": "a commit",
        "timestamp": one.created_at,
        "author": {"name": one.actor, "email": "somebody@example.org"},
        "committer": {"name": one.actor, "email": "somebody@example.org"},
    }
    assert home is not None
    return {
        "id": one.id,
        "name": one.path.rsplit("/", 1)[-1],
        "node_id": node_id("WFR", one.id),
        "head_branch": one.head_branch,
        "head_sha": one.head_sha,
        "path": one.path,
        "run_number": one.run_number,
        "run_attempt": one.run_attempt,
        "event": one.event,
        "status": one.status,
        "conclusion": one.conclusion,
        "workflow_id": WORKFLOW,
        "display_title": "a run",
        "url": api,
        "html_url": f"{to.html}/{one.repository}/actions/runs/{one.id}",
        "pull_requests": [pull_minimal(to, to.state.pulls[one.repository, number]) for number in one.pull_requests],
        "actor": to.user(one.actor),
        "triggering_actor": to.user(one.actor),
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "run_started_at": one.created_at,
        **{f"{name}_url": f"{api}/{name}" for name in ("jobs", "logs", "artifacts", "cancel", "rerun")},
        "check_suite_url": f"{to.api}/repos/{one.repository}/check-suites/{one.id}",
        "workflow_url": f"{to.api}/repos/{one.repository}/actions/workflows/{WORKFLOW}",
        "previous_attempt_url": None,
        "head_commit": commit,
        "repository": to.minimal_repository(home),
        "head_repository": None if head is None else to.minimal_repository(head),
    }


def pull_minimal(to: Documents, one: PullRequest) -> dict[str, Any]:
    """A pull request as a run or a check names it."""
    sides = {}
    for name, side in (("head", one.head), ("base", one.base)):
        repository = to.state.repository(side.repository or one.repository)
        assert repository is not None
        address = f"{to.api}/repos/{repository.full_name}"
        where = {"id": repository.id, "url": address, "name": repository.name}
        sides[name] = {"ref": side.ref, "sha": side.sha, "repo": where}
    address = f"{to.api}/repos/{one.repository}/pulls/{one.number}"
    return {"id": one.id, "number": one.number, "url": address, **sides}


def job_document(to: Documents, one: Job) -> dict[str, Any]:
    """A job of a run."""
    run = to.state.runs[one.run]
    api = f"{to.api}/repos/{one.repository}"
    return {
        "id": one.id,
        "run_id": run.id,
        "run_url": f"{api}/actions/runs/{run.id}",
        **({} if one.run_attempt is None else {"run_attempt": one.run_attempt}),
        "node_id": node_id("CR", one.id),
        "head_sha": run.head_sha,
        "head_branch": run.head_branch,
        "url": f"{api}/actions/jobs/{one.id}",
        "html_url": f"{to.html}/{one.repository}/actions/runs/{run.id}/job/{one.id}",
        "status": one.status,
        "conclusion": one.conclusion,
        "created_at": one.at,
        "started_at": one.at,
        "completed_at": one.at if one.status == "completed" else None,
        "name": one.name,
        "workflow_name": run.path.rsplit("/", 1)[-1],
        "steps": [],
        "check_run_url": f"{api}/check-runs/{one.id}",
        "labels": ["ubuntu-latest"],
        **dict.fromkeys(("runner_id", "runner_name", "runner_group_id", "runner_group_name")),
    }


def artifact_document(to: Documents, one: Artifact) -> dict[str, Any]:
    """An artifact."""
    api = f"{to.api}/repos/{one.repository}/actions/artifacts/{one.id}"
    return {
        "id": one.id,
        "node_id": node_id("MDg", one.id),
        "name": one.name,
        "size_in_bytes": one.size_in_bytes,
        "url": api,
        "archive_download_url": f"{api}/zip",
        "expired": one.expired,
        "digest": f"sha256:{hashlib.sha256(one.content).hexdigest()}",
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "expires_at": one.created_at,
        "workflow_run": workflow_run_of(to, one),
    }


def workflow_run_of(to: Documents, one: Artifact) -> dict[str, Any]:
    """The run an artifact says it is from."""
    run = to.state.runs[one.run]
    home = to.state.repository(run.repository)
    head = to.state.repository(run.head_repository) if run.head_repository else None
    assert home is not None
    return {
        "id": run.id,
        "repository_id": home.id,
        **({} if head is None else {"head_repository_id": head.id}),
        **({} if run.head_branch is None else {"head_branch": run.head_branch}),
        "head_sha": run.head_sha,
    }


def check_document(to: Documents, one: Check) -> dict[str, Any]:
    """A check run."""
    api = f"{to.api}/repos/{one.repository}/check-runs/{one.id}"
    return {
        "id": one.id,
        "node_id": node_id("CR", one.id),
        "head_sha": one.head_sha,
        "external_id": one.external_id or "",
        "url": api,
        "html_url": f"{to.html}/{one.repository}/runs/{one.id}",
        "details_url": one.details_url or to.html,
        "status": one.status,
        "conclusion": one.conclusion,
        "started_at": one.started_at,
        "completed_at": one.completed_at,
        "output": {
            "title": one.title,
            "summary": one.summary,
            "text": one.text,
            "annotations_count": len(one.annotations),
            "annotations_url": f"{api}/annotations",
        },
        "name": one.name,
        "check_suite": {"id": APPS[one.app]},
        "app": app_document(to, one.app),
        "pull_requests": [
            pull_minimal(to, pull)
            for pull in to.state.pulls_of(one.repository)
            if pull.state == "open" and pull.head.sha == one.head_sha and pull.head.repository == one.repository
        ],
    }


def app_document(to: Documents, slug: str) -> dict[str, Any]:
    """An app."""
    return {
        "id": APPS[slug],
        "slug": slug,
        "node_id": node_id("A", APPS[slug]),
        "owner": to.user("github"),
        "name": slug,
        "description": None,
        "external_url": to.html,
        "html_url": f"{to.html}/apps/{slug}",
        "created_at": "2018-07-30T09:30:17Z",
        "updated_at": "2018-07-30T09:30:17Z",
        "permissions": {"checks": "write", "pull_requests": "write"},
        "events": ["push"],
    }


def annotation_document(to: Documents, check: Check, one: Mapping[str, object]) -> dict[str, Any]:
    """An annotation of a check run."""
    return {
        "path": one["path"],
        "start_line": one["start_line"],
        "end_line": one["end_line"],
        **{name: one.get(name) for name in ("start_column", "end_column", "title", "raw_details")},
        "annotation_level": one["annotation_level"],
        "message": one["message"],
        "blob_href": f"{to.html}/{check.repository}/blob/{check.head_sha}/{one['path']}",
    }
