"""Whose comment and check it is: tokens of other apps, several workflows and events on one commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from github_server.records import Run
from publication_scene import MAY, NUMBER, REPOSITORY, Scene, scene
from shard_notation import cases, divided

from opsdebug_ci.github.api.client import open_client
from opsdebug_ci.model.document import OperatorSource
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.pipeline.publication.publish import publish
from opsdebug_ci.pipeline.publication.request import PublishRequest

NIGHTLY = ".github/workflows/opsdebug-nightly.yml"
WITHOUT_CHECKS = {name: right for name, right in MAY.items() if name != "checks"}


def later_run(here: Scene, text: str, **facts: object) -> Run:
    """A run of the newest commit that is not of the pull request: `path`, `event`, `head_repository` tell of what."""
    told = {"run_number": 900, "run_attempt": 1, "head_repository": REPOSITORY, "conclusion": "success", **facts}
    run = here.server.run(REPOSITORY, head_sha=here.head, **told)  # type: ignore[arg-type]  # facts by name
    for shard in divided(cases(text), 1):
        here.upload(run, here.claimed(shard, run))
    return run


def conclusions(here: Scene) -> list[str | None]:
    return [check.conclusion for check in here.checks()]


@pytest.mark.parametrize("may", [MAY, WITHOUT_CHECKS], ids=["with a check", "without"])
def test_the_token_of_another_app_has_one_comment_too(may: Mapping[str, str]) -> None:
    with scene() as here:
        app = here.server.token(login="another-app[bot]", permissions=may, repository=REPOSITORY, app="another-app")
        for text in ("softmax:wrong", "softmax:wrong gelu:wrong", "softmax:wrong gelu:pass"):
            here.push()
            here.publish(here.run(text), token=app)
        (comment,) = here.server.comments_of(REPOSITORY, NUMBER)
        assert (comment.author, here.head in comment.body) == ("another-app[bot]", True)
        assert ("1 fixed" in comment.body) is (may is MAY)  # else it learns who it is only by writing


def test_a_job_writes_a_comment_of_its_own_beside_that_of_another_app() -> None:
    with scene() as here:
        app = here.server.token(login="another-app[bot]", permissions=MAY, repository=REPOSITORY, app="another-app")
        here.publish(here.run("softmax:wrong"), token=app)
        here.publish(here.run("softmax:wrong"))
        authors = [comment.author for comment in here.server.comments_of(REPOSITORY, NUMBER)]
        assert authors == ["another-app[bot]", "github-actions[bot]"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"event": "push", "path": NIGHTLY}, id="workflow"),
        pytest.param({"event": "push"}, id="event"),
        pytest.param({"event": "pull_request", "head_repository": "third/kernels"}, id="fork"),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_another_run_of_the_same_commit_hides_nothing(other: Mapping[str, object], first: bool) -> None:
    """Run numbers count within one workflow; what a push or another fork's pull request finds is no answer to this."""
    with scene() as here:
        here.server.repository("third/kernels", fork=True)
        mine = here.run("softmax:wrong")
        runs = (later_run(here, "softmax:pass", **other), mine)
        told = [here.publish(run) for run in (runs if first else reversed(runs))]
        assert {one.conclusion for one in told} == {"pass", "fail"}
        assert sorted(map(str, conclusions(here))) == ["failure", "success"]
        assert len(here.ours) == 1


def test_a_later_run_of_the_same_kind_still_speaks_for_the_commit() -> None:
    with scene() as here:
        older, newer = here.run("softmax:wrong"), here.run("softmax:pass", conclusion="success")
        here.publish(newer)
        here.publish(older)
        assert (conclusions(here), here.ours) == (["success"], [])


def after(here: Scene, folder: Path, run: Run, attempt: int) -> PublishedDocument:
    """The report job that the end of that attempt starts."""
    path = folder / "event.json"
    path.write_text(json.dumps({"workflow_run": {"id": run.id, "run_attempt": attempt, "event": "pull_request"}}))
    environ = {**here.environ(), "GITHUB_EVENT_NAME": "workflow_run", "GITHUB_EVENT_PATH": str(path)}
    api = open_client(api_url=here.server.url, token=here.token, clock=here.clock)
    return publish(PublishRequest(), api, here.clock, replace(here.world(), environ=environ))


def test_an_attempt_is_told_by_itself_while_the_next_is_under_way(tmp_path: Path) -> None:
    """So that its annotations do not stay beside what the next one comes to."""
    with scene() as here:
        run = here.run("gelu:pass", but=[1])
        for shard in divided(cases("softmax:wrong"), 1):
            assert shard.run is not None
            beside = (OperatorSource(operator="softmax", file="kernels.py", line=3),)
            here.upload(run, here.claimed(replace(shard, run=replace(shard.run, sources=beside)), run))
        again = here.run("softmax:pass", of=run, but=[1])
        assert after(here, tmp_path, again, 1).conclusion == "fail"
        for shard in divided(cases("softmax:pass"), 1):
            here.upload(again, here.claimed(shard, again))
        assert after(here, tmp_path, again, 2).conclusion == "pass"
        first, second = here.checks()
        assert [(one.conclusion, len(one.annotations)) for one in (first, second)] == [("failure", 1), ("success", 0)]


def test_an_older_attempt_that_is_told_last_changes_nothing(tmp_path: Path) -> None:
    with scene() as here:
        run = here.run("softmax:wrong")
        again = here.run("softmax:pass", of=run, conclusion="success")
        assert after(here, tmp_path, again, 2).conclusion == "pass"
        after(here, tmp_path, again, 1)
        assert (conclusions(here), here.ours) == (["success"], [])
