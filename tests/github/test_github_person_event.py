"""Events of what a person does: which are read, what is believed, what breaks nothing."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.github.event import read_event
from opsdebug_ci.github.person_event import PersonRequest, read_person_request

AT = "2026-11-30T10:00:00Z"
HEAD = "a" * 40
ADA = {"login": "ada", "id": 5, "type": "User", "site_admin": False}
COMMENTED: dict[str, Any] = {
    "action": "created",
    "issue": {"number": 7, "pull_request": {"url": "https://api/x"}, "user": {"login": "eve"}},
    "comment": {
        "id": 99,
        "user": ADA,
        "created_at": AT,
        "body": "/opsdebug accept gelu",
        "author_association": "OWNER",
    },
    "repository": {"full_name": "acme/kernels", "default_branch": "main"},
    "sender": {"login": "ada", "id": 5},
}
LABELLED: dict[str, Any] = {
    "action": "labeled",
    "label": {"name": "opsdebug-accept"},
    "pull_request": {"number": 7, "updated_at": AT, "head": {"sha": HEAD}, "user": {"login": "eve"}},
    "repository": {"full_name": "acme/kernels", "default_branch": "main"},
    "sender": ADA,
}


def read(name: str, payload: object, tmp_path: Path) -> PersonRequest | None:
    file = tmp_path / "event.json"
    file.write_text(payload if isinstance(payload, str) else json.dumps(payload), "utf-8")
    return read_person_request({"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(file)})


def changed(payload: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    copy = json.loads(json.dumps(payload))
    *parents, last = path.split(".")
    inner = copy
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    return dict(copy)


def test_a_comment_on_a_pull_request(tmp_path: Path) -> None:
    assert read("issue_comment", COMMENTED, tmp_path) == PersonRequest(
        number=7,
        login="ada",
        account=5,
        kind="User",
        at=datetime(2026, 11, 30, 10, tzinfo=timezone.utc),
        comment=99,
        body="/opsdebug accept gelu",
    )


@pytest.mark.parametrize("name", ["pull_request_target", "pull_request"])
def test_a_label_on_a_pull_request(name: str, tmp_path: Path) -> None:
    assert read(name, LABELLED, tmp_path) == PersonRequest(
        number=7,
        login="ada",
        account=5,
        kind="User",
        at=datetime(2026, 11, 30, 10, tzinfo=timezone.utc),
        label="opsdebug-accept",
        head=HEAD,
    )


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("issue_comment", changed(COMMENTED, "action", "edited")),
        ("issue_comment", changed(COMMENTED, "action", "deleted")),
        ("issue_comment", changed(COMMENTED, "issue", {"number": 7})),  # an issue is no pull request
        ("issue_comment", changed(COMMENTED, "comment", None)),
        ("pull_request_target", changed(LABELLED, "action", "unlabeled")),
        ("pull_request_target", changed(LABELLED, "action", "synchronize")),
        ("pull_request_target", COMMENTED),
        ("issue_comment", LABELLED),
        ("push", COMMENTED),
        ("workflow_run", COMMENTED),
        ("pull_request_review_comment", COMMENTED),
        ("", COMMENTED),
    ],
)
def test_everything_else_is_none(name: str, payload: object, tmp_path: Path) -> None:
    assert read(name, payload, tmp_path) is None


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("issue_comment", changed(COMMENTED, "issue.number", 0)),
        ("issue_comment", changed(COMMENTED, "issue.number", "7")),
        ("issue_comment", changed(COMMENTED, "comment.user", None)),
        ("issue_comment", changed(COMMENTED, "comment.created_at", "yesterday")),
        ("issue_comment", changed(COMMENTED, "comment.created_at", "2026-11-30T10:00:00")),
        ("issue_comment", changed(COMMENTED, "comment.id", True)),
        ("issue_comment", changed(COMMENTED, "comment.body", ["a"])),
        ("pull_request_target", changed(LABELLED, "sender", None)),
        ("pull_request_target", changed(LABELLED, "sender.id", -1)),
        ("issue_comment", "{"),
        ("issue_comment", "[]"),
        ("issue_comment", '{"issue": ' + "[" * 100_000),
        ("issue_comment", ""),
    ],
)
def test_what_github_never_writes_is_refused(name: str, payload: object, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLimitError):
        read(name, payload, tmp_path)


def test_a_head_that_is_no_hash_is_none(tmp_path: Path) -> None:
    found = read("pull_request_target", changed(LABELLED, "pull_request.head.sha", "main; rm -rf /"), tmp_path)
    assert found is not None and found.head == ""


def test_an_event_of_a_person_never_makes_a_baseline(tmp_path: Path) -> None:
    file = tmp_path / "event.json"
    file.write_text(json.dumps(COMMENTED))
    environ = {"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": str(file), "GITHUB_REF": "refs/heads/main"}
    event = read_event(environ)
    assert (event.recording, event.default_branch) == (False, "main")
