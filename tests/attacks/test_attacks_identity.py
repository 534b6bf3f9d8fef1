"""Who may say what to whom: A17, A19, A32, and tokens in what a publication leaves (A31)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from attack_documents import HEAD
from attack_list import attack, twin
from github_server import answered
from github_server.answers import error
from hostile_job import CANARY, obeyed, read_outputs
from report_scene import FORK, NUMBER, READ, REPOSITORY, RUN_ID, WRITE, Scene, failing, zipped

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.event import read_event
from opsdebug_ci.model.shard import SHARD_FILE
from opsdebug_ci.pipeline.action import run_action
from opsdebug_ci.report import encode

OTHER = "b" * 40
NEITHER = {**READ, "checks": "none", "pull-requests": "none"}


@attack("A17")
@pytest.mark.slow
def test_a_token_that_may_only_read_leaves_log_and_summary(
    scene: Scene, tmp_path: Path, no_canary: Callable[..., None]
) -> None:
    token = scene.server.token(permissions=READ, repository=REPOSITORY)
    scene.upload(failing())
    done = scene.step(token=token)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Traceback" not in done.stdout
    commands = obeyed(done.stdout)
    assert [line for line in commands if line.startswith("::error file=kernels/gelu.py,line=3,title=gelu")]
    assert [line for line in commands if line.startswith("::warning") and "checks: write" in line]
    assert [line for line in commands if line.startswith("::warning") and "pull-requests: write" in line]
    assert "- **gelu**: `tail_mask`" in (tmp_path / "step_summary").read_text(encoding="utf-8")
    outputs = read_outputs((tmp_path / "output").read_text(encoding="utf-8"))
    assert (outputs["verdict"], outputs["exit-code"]) == ("fail", "1")
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert token not in done.stdout
    assert token.encode() not in left
    assert scene.comments() == ()
    assert scene.server.checks_of(REPOSITORY, HEAD) == ()
    no_canary(done.stdout)


@attack("A17")
@pytest.mark.parametrize(
    ("permissions", "comments", "checks"),
    [
        ({**WRITE, "checks": "read"}, 1, 0),
        ({**WRITE, "pull-requests": "read"}, 0, 1),
        (READ, 0, 0),
        ({**WRITE, "checks": "none"}, 1, 0),
    ],
    ids=["no checks", "no comments", "neither", "checks not even read"],
)
def test_what_may_be_said_is_said_and_the_rest_noted(
    permissions: dict[str, str], comments: int, checks: int, scene: Scene
) -> None:
    scene.upload(failing())
    told = scene.publish(token=scene.server.token(permissions=permissions, repository=REPOSITORY))
    assert (told.exit_code, told.conclusion) == (1, "fail")
    assert (len(scene.ours()), len(scene.server.checks_of(REPOSITORY, HEAD))) == (comments, checks)
    assert len(told.notes) == 2 - comments - checks
    assert all("next: " in note for note in told.notes)
    assert bool(told.remarks) == (checks == 0)


@attack("A17")
def test_a_token_that_nobody_knows_is_told_in_one_line(scene: Scene) -> None:
    with pytest.raises(GithubRefusedError) as told:
        scene.publish(token=CANARY)
    assert CANARY not in f"{told.value}{told.value!r}{told.value.__cause__!r}"
    assert told.value.next_step
    assert len(told.value.message.splitlines()) == 1


@twin("A17")
def test_a_token_that_may_write_says_it_on_the_page_and_not_in_the_log(scene: Scene) -> None:
    scene.upload(failing())
    told = scene.publish()
    assert (told.exit_code, told.notes, told.remarks) == (1, (), ())
    assert len(scene.ours()) == 1
    assert scene.check().conclusion == "failure"


@attack("A17")
@pytest.mark.parametrize("status", [403, 422])
@pytest.mark.parametrize("path", ["/repos/*/*/commits/*/pulls", "/repos/*/*/pulls"])
def test_where_pull_requests_may_not_be_asked_for_the_check_is_made_all_the_same(
    path: str, status: int, scene: Scene
) -> None:
    refused = answered(error(status, "Resource not accessible by integration"), claimed=False)
    scene.server.fail("GET", path, refused, count=100)
    scene.server.close(REPOSITORY, NUMBER)  # so that every way to it is tried
    scene.upload(failing())
    told = scene.publish()
    assert (told.exit_code, told.conclusion, told.pull_request) == (1, "fail", None)
    assert scene.check().conclusion == "failure"
    assert len(told.notes) == 1
    assert told.notes[0].startswith("no pull request is told: ")


def two_of_one_commit(scene: Scene) -> None:
    scene.open_pull(8, base_ref="release")


def closed(scene: Scene) -> None:
    scene.server.close(REPOSITORY, NUMBER)


def moved_on(scene: Scene) -> None:
    scene.server.push(REPOSITORY, NUMBER, OTHER)


def fork_is_gone(scene: Scene) -> None:
    scene.server.pull_request(REPOSITORY, NUMBER, head_sha=HEAD, head_repository=None, author="stranger")
    scene.run = scene.server.run(REPOSITORY, id=RUN_ID, head_sha=HEAD, head_repository=None)


def of_another_fork(scene: Scene) -> None:
    """The same commit and the same name of a branch, in a fork of somebody who wants to be told instead."""
    scene.server.repository("evil/kernels", fork=True)
    scene.server.pull_request(REPOSITORY, NUMBER, head_sha=HEAD, head_repository="evil/kernels")


@attack("A19")
@pytest.mark.parametrize("happened", [two_of_one_commit, closed, moved_on, fork_is_gone, of_another_fork])
def test_where_it_is_not_certain_no_pull_request_is_told(happened: Callable[[Scene], None], scene: Scene) -> None:
    happened(scene)
    scene.upload(failing())
    told = scene.publish()
    assert (told.exit_code, told.pull_request, told.comment) == (1, None, "none")
    assert scene.comments() == scene.comments(8) == ()
    assert len(told.notes) == 1
    assert told.notes[0].startswith("no pull request is told: ")
    assert scene.check().status == "completed"


@attack("A19")
@pytest.mark.parametrize("base", ["main", "release"])
def test_a_pull_request_of_the_same_branch_at_another_commit_is_not_told(base: str, scene: Scene) -> None:
    scene.server.repository("evil/kernels", fork=True)
    scene.server.pull_request(REPOSITORY, 8, head_sha=OTHER, head_repository=FORK, base_ref=base)
    scene.server.pull_request(REPOSITORY, 9, head_sha=HEAD, head_repository="evil/kernels")
    scene.upload(failing())
    assert scene.publish().pull_request == NUMBER
    assert [len(scene.comments(number)) for number in (NUMBER, 8, 9)] == [1, 0, 0]


@twin("A19")
def test_the_only_pull_request_of_a_commit_is_told(scene: Scene) -> None:
    scene.upload(failing())
    assert (scene.publish().pull_request, len(scene.ours())) == (NUMBER, 1)


PULL = {
    "number": NUMBER,
    "head": {"sha": HEAD, "ref": "change", "repo": {"full_name": FORK}},
    "base": {"sha": OTHER, "ref": "main"},
}
HOME = {"repository": {"default_branch": "main"}}
GROUP = {"head_sha": HEAD, "base_sha": OTHER, "base_ref": "refs/heads/main"}


@attack("A32")
@pytest.mark.parametrize(
    ("event", "payload", "ref", "recording", "head", "base"),
    [
        ("pull_request", {"action": "opened", "pull_request": PULL}, "refs/pull/7/merge", False, HEAD, OTHER),
        ("pull_request", {"action": "closed", "pull_request": PULL}, "refs/heads/main", False, HEAD, OTHER),
        ("pull_request_target", {"pull_request": PULL}, "refs/heads/main", False, HEAD, OTHER),
        ("merge_group", {"merge_group": GROUP}, "refs/heads/gh-readonly-queue/main/pr-7-a", False, HEAD, OTHER),
        ("merge_group", {"merge_group": GROUP}, "refs/heads/main", False, HEAD, OTHER),
        ("push", {}, "refs/heads/main", True, "c" * 40, ""),
        ("push", {}, "refs/heads/main2", False, "c" * 40, ""),
        ("push", {}, "refs/tags/main", False, "c" * 40, ""),
        ("push", {}, "refs/tags/v1", False, "c" * 40, ""),
        ("schedule", {}, "refs/heads/main", True, "c" * 40, ""),
        ("workflow_dispatch", {}, "refs/heads/main", True, "c" * 40, ""),
        ("workflow_dispatch", {}, "refs/heads/change", False, "c" * 40, ""),
        ("release", {}, "refs/tags/v1", False, "c" * 40, ""),
        ("workflow_run", {"workflow_run": {"id": RUN_ID}}, "refs/heads/main", False, "", ""),
        ("issue_comment", {}, "refs/heads/main", False, "c" * 40, ""),
    ],
)
def test_what_each_event_means(
    event: str, payload: dict[str, object], ref: str, recording: bool, head: str, base: str, tmp_path: Path
) -> None:
    (tmp_path / "event.json").write_text(json.dumps({**HOME, **payload}), encoding="utf-8")
    read = read_event(
        {
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_SHA": "c" * 40,
            "GITHUB_REF": ref,
        }
    )
    assert (read.recording, read.head_commit, read.base_commit) == (recording, head, base)
    assert read.from_fork == event.startswith("pull_request")


def run_step(event: str, payload: dict[str, object], tmp_path: Path) -> tuple[int, str]:
    """The step that runs operators, with a command line that says `ran`."""
    (tmp_path / "event.json").write_text(json.dumps({**HOME, **payload}), encoding="utf-8")
    (tmp_path / "temp").mkdir()
    stdout = io.StringIO()
    environ = {
        "PATH": "/usr/bin:/bin",
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REPOSITORY": REPOSITORY,
        "RUNNER_TEMP": str(tmp_path / "temp"),
    }
    code = run_action(environ, opsdebug=("/bin/sh", "-c", "echo ran >&2; exit 2"), stdout=stdout)
    return code, stdout.getvalue()


@attack("A32")
@pytest.mark.parametrize("action", ["opened", "labeled", "synchronize"])
def test_operators_never_run_beside_a_token_that_can_write(action: str, tmp_path: Path) -> None:
    code, log = run_step("pull_request_target", {"action": action, "pull_request": PULL}, tmp_path)
    assert code == 2
    assert "ran\n" not in log
    assert obeyed(log)[0].startswith("::error title=opsdebug%3A usage::this job was triggered by `pull_request_target`")


@twin("A32")
@pytest.mark.parametrize("event", ["pull_request", "push", "merge_group"])
def test_other_events_run_operators(event: str, tmp_path: Path) -> None:
    payload = {"pull_request": {"pull_request": PULL}, "merge_group": {"merge_group": GROUP}}.get(event, {})
    assert "ran\n" in run_step(event, payload, tmp_path)[1]


@attack("A32")
@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch", "merge_group", "release"])
def test_of_what_is_no_pull_request_a_check_is_made_and_no_comment(event: str, scene: Scene) -> None:
    scene.run = scene.server.run(REPOSITORY, id=RUN_ID, head_sha=HEAD, event=event, head_branch="main")
    scene.upload(failing())
    told = scene.publish()
    assert (told.exit_code, told.comment, told.notes) == (1, "none", ())
    assert scene.comments() == ()
    assert scene.check().conclusion == "failure"


@attack("A31")
def test_a_server_that_says_the_token_back_is_not_quoted(scene: Scene) -> None:
    said = answered(error(403, f"you sent {scene.token}"), claimed=False)
    for verb, path in (("POST", "/repos/*/*/check-runs"), ("GET", "/repos/*/*/issues/*/comments")):
        scene.server.fail(verb, path, said, count=100)
    scene.upload(failing())
    told = scene.publish()
    assert told.exit_code == 1
    assert [note for note in told.notes if "you sent ***" in note]
    assert scene.token not in repr(told)


@twin("A31")
def test_what_a_server_says_is_quoted(scene: Scene) -> None:
    scene.server.fail("POST", "/repos/*/*/check-runs", answered(error(403, "come back later"), claimed=False), count=9)
    scene.upload(failing())
    assert "come back later" in scene.publish().notes[0]


@attack("A18")
@pytest.mark.parametrize(
    "claims",
    [
        {"head_commit": OTHER},
        {"repository": "evil/kernels"},
        {"ci_run": RUN_ID + 1},
        {"suite": "other"},
        {"stage": "full"},
        {"attempt": 2},
        {"shard": 2, "shards": 2},
    ],
    ids=lambda claims: next(iter(claims)),
)
def test_a_shard_that_claims_to_be_of_something_else_is_rejected(claims: dict[str, object], scene: Scene) -> None:
    scene.open_pull(8, head_sha=OTHER)
    scene.upload(replace(failing(), **claims), name="opsdebug-v1-a1-s1of1")  # type: ignore[arg-type]
    told = scene.publish()
    assert (told.exit_code, told.conclusion, told.pull_request) == (4, "incomplete", NUMBER)
    assert scene.check().conclusion == "failure"
    assert "the only job left what cannot be taken" in scene.ours()[0].body.lower()
    assert scene.comments(8) == ()
    assert scene.server.checks_of(REPOSITORY, OTHER) == ()


@attack("A18")
def test_a_number_of_a_pull_request_in_a_shard_is_not_even_read(scene: Scene) -> None:
    scene.open_pull(8, head_sha=OTHER)
    shard = json.loads(encode(failing()))
    scene.upload(zipped({SHARD_FILE: json.dumps({**shard, "pull_request": 8, "issue": 8}).encode()}))
    assert scene.publish().pull_request == NUMBER
    assert (len(scene.ours()), scene.comments(8)) == (1, ())


@twin("A18")
def test_a_shard_that_says_what_the_server_says_is_taken(scene: Scene) -> None:
    scene.upload(failing())
    assert (scene.publish().exit_code, scene.check().conclusion) == (1, "failure")
