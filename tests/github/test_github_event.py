from __future__ import annotations

import json
from pathlib import Path

import pytest

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.github.event import Event, ci_context, read_event
from opsdebug_ci.github.payload import EVENT_LIMIT_BYTES
from opsdebug_ci.model import CiContext, Stage

HEAD = "a" * 40
BASE = "b" * 40
MERGE = "c" * 40


def job(directory: Path, name: str, payload: object) -> dict[str, str]:
    """The environment of a job whose event file holds `payload`."""
    path = directory / "event.json"
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload), encoding="utf-8")
    return {
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "acme/kernels",
        "GITHUB_SHA": MERGE,
        "GITHUB_RUN_ID": "1658821493",
        "GITHUB_RUN_ATTEMPT": "2",
        "GITHUB_JOB": "smoke-job",
    }


def pull_request(number: object = 7, ref: str = "main", repo: object = "acme/kernels") -> dict[str, object]:
    return {
        "pull_request": {
            "number": number,
            "head": {"sha": HEAD, "ref": "topic", "repo": None if repo is None else {"full_name": repo}},
            "base": {"sha": BASE, "ref": ref, "repo": {"full_name": "acme/kernels"}},
            "title": "anything",
        },
        "sender": {"login": "someone"},
    }


def test_outside_ci_everything_is_empty() -> None:
    assert read_event({}) == Event()
    assert ci_context({}, stage=Stage.SMOKE, shard="2/8") == CiContext()


def test_pull_request(tmp_path: Path) -> None:
    assert read_event(job(tmp_path, "pull_request", pull_request())) == Event(
        name="pull_request",
        repository="acme/kernels",
        pull_request=7,
        head_commit=HEAD,
        base_commit=BASE,
        base_branch="main",
        recording=False,
        from_fork=False,
    )


@pytest.mark.parametrize("repo", ["someone/kernels", None])
def test_a_fork_or_a_deleted_fork_is_a_fork(tmp_path: Path, repo: str | None) -> None:
    assert read_event(job(tmp_path, "pull_request", pull_request(repo=repo))).from_fork


def test_merge_group_has_no_pull_request(tmp_path: Path) -> None:
    payload = {"merge_group": {"head_sha": HEAD, "base_sha": BASE, "base_ref": "refs/heads/main", "head_ref": "x"}}
    assert read_event(job(tmp_path, "merge_group", payload)) == Event(
        name="merge_group",
        repository="acme/kernels",
        head_commit=HEAD,
        base_commit=BASE,
        base_branch="main",
        recording=False,
    )


@pytest.mark.parametrize("name", ["push", "schedule", "workflow_dispatch"])
def test_other_events_carry_the_commit_only(tmp_path: Path, name: str) -> None:
    assert read_event(job(tmp_path, name, {"ref": "refs/heads/main"})) == Event(
        name=name, repository="acme/kernels", head_commit=MERGE, recording=False
    )


def test_the_end_of_another_run_carries_its_id_and_no_commit(tmp_path: Path) -> None:
    payload = {
        "workflow_run": {"id": 30433642, "head_sha": HEAD, "event": "pull_request"},
        "repository": {"default_branch": "main"},
    }
    event = read_event({**job(tmp_path, "workflow_run", payload), "GITHUB_REF": "refs/heads/main"})
    assert event == Event(
        name="workflow_run",
        repository="acme/kernels",
        default_branch="main",
        recording=False,
        finished_run=30433642,
        finished_event="pull_request",
    )


def test_another_event_tells_of_no_finished_run(tmp_path: Path) -> None:
    payload = {**pull_request(), "workflow_run": {"id": 30433642}}
    assert read_event(job(tmp_path, "pull_request", payload)).finished_run is None


@pytest.mark.parametrize(
    ("name", "ref", "recording"),
    [
        ("push", "refs/heads/main", True),
        ("schedule", "refs/heads/main", True),
        ("workflow_dispatch", "refs/heads/main", True),
        ("push", "refs/heads/topic", False),
        ("workflow_dispatch", "refs/heads/topic", False),
        ("push", "refs/tags/main", False),
        ("workflow_run", "refs/heads/main", False),
        ("release", "refs/heads/main", False),
    ],
)
def test_only_the_default_branch_makes_baselines(tmp_path: Path, name: str, ref: str, recording: bool) -> None:
    environ = job(tmp_path, name, {"repository": {"default_branch": "main"}})
    assert read_event({**environ, "GITHUB_REF": ref}).recording is recording


@pytest.mark.parametrize(
    ("name", "ref", "branch"),
    [
        ("schedule", "refs/heads/trunk", "trunk"),
        ("schedule", "refs/tags/trunk", ""),
        ("push", "refs/heads/trunk", ""),
        ("workflow_dispatch", "refs/heads/trunk", ""),
    ],
)
def test_a_night_runs_on_the_default_branch_though_its_event_names_no_repository(
    tmp_path: Path, name: str, ref: str, branch: str
) -> None:
    """All that some servers write of it is `{"schedule": CRON}`."""
    event = read_event({**job(tmp_path, name, {"schedule": "17 2 * * *"}), "GITHUB_REF": ref})
    assert (event.default_branch, event.recording, event.head_commit) == (branch, bool(branch), MERGE)


@pytest.mark.parametrize("payload", [{}, pull_request(), {"merge_group": {"head_sha": HEAD, "base_sha": BASE}}])
def test_every_event_names_the_default_branch(tmp_path: Path, payload: dict[str, object]) -> None:
    environ = job(tmp_path, "any", {**payload, "repository": {"default_branch": "trunk"}})
    assert read_event(environ).default_branch == "trunk"


def test_a_pull_request_makes_no_baseline_whatever_it_claims(tmp_path: Path) -> None:
    payload = {**pull_request(), "repository": {"default_branch": "main"}}
    assert not read_event({**job(tmp_path, "pull_request", payload), "GITHUB_REF": "refs/heads/main"}).recording


@pytest.mark.parametrize("ref", ['a";curl x|sh;"', "$(id)", "`id`", "line\nbreak", "x" * 250, "ветка-分支"])
def test_a_hostile_branch_name_stays_literal(tmp_path: Path, ref: str) -> None:
    assert read_event(job(tmp_path, "pull_request", pull_request(ref=ref))).base_branch == ref


@pytest.mark.parametrize("sha", ["main", "-" * 40, "A" * 40, "a" * 39, "a" * 40 + "\n"])
def test_a_hash_that_is_none_is_dropped(tmp_path: Path, sha: str) -> None:
    payload = pull_request()
    payload["pull_request"]["base"]["sha"] = sha  # type: ignore[index]
    assert read_event(job(tmp_path, "pull_request", payload)).base_commit == ""


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "not json",
        "[1, 2]",
        '{"pull_request": {"number": "7"}}',
        '{"pull_request": {"number": true}}',
        '{"pull_request": {"head": {"sha": 1}}}',
        '{"deep": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"pull_request": null} trailing',
    ],
)
def test_an_event_that_github_does_not_write_is_refused(tmp_path: Path, payload: str) -> None:
    with pytest.raises(EnvironmentLimitError, match=r"`GITHUB_EVENT_PATH` names .*got .*wanted the event as JSON") as e:
        read_event(job(tmp_path, "pull_request", payload))
    assert "unset GITHUB_EVENT_NAME" in e.value.next_step


def test_an_event_too_large_is_refused_and_one_at_the_limit_is_not(tmp_path: Path) -> None:
    environ = job(tmp_path, "push", "{}" + " " * (EVENT_LIMIT_BYTES - 2))
    assert read_event(environ).name == "push"
    environ = job(tmp_path, "push", "{}" + " " * (EVENT_LIMIT_BYTES - 1))
    with pytest.raises(EnvironmentLimitError, match="more than 26214400 bytes"):
        read_event(environ)


def test_a_missing_event_file_is_said(tmp_path: Path) -> None:
    environ = job(tmp_path, "push", {}) | {"GITHUB_EVENT_PATH": str(tmp_path / "none.json")}
    with pytest.raises(EnvironmentLimitError, match="No such file"):
        read_event(environ)


def test_the_context_names_job_stage_shard_and_attempt(tmp_path: Path) -> None:
    environ = job(tmp_path, "pull_request", pull_request())
    assert ci_context(environ, stage=Stage.SMOKE, shard="2/8") == CiContext(
        key="acme/kernels/1658821493/smoke-job/smoke@2of8",
        attempt=2,
        event="pull_request",
        pull_request=7,
        recording=False,
    )
    assert ci_context(environ, stage=Stage.FULL).key == "acme/kernels/1658821493/smoke-job/full"


def test_legs_are_told_apart_by_operators_and_by_what_the_workflow_says() -> None:
    environ = {"GITHUB_RUN_ID": "7", "GITHUB_REPOSITORY": "acme/kernels", "GITHUB_JOB": "test", "OPSDEBUG_LEG": "tf32"}
    assert ci_context(environ, stage=Stage.FULL, operators=("gelu", "soft*")).key == ("/7/test/full[gelu,soft*]#tf32")
    assert ci_context(environ | {"OPSDEBUG_LEG": "a b"}, stage=Stage.FULL).key == "/7/test/full"
