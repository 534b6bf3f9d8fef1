"""The client and a server that behaves as GitHub is described to: every kind of answer, every request judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from github_server import GithubServer, retyped
from scripted_github import Clock

from opsdebug_ci.errors import GithubAnswerError, GithubRefusedError
from opsdebug_ci.github.api.client import Client, open_client
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import (
    Artifact,
    CheckRun,
    Comment,
    Job,
    Permission,
    PullRequest,
    User,
    WorkflowRun,
)

HOME = "acme/kernels"
HEAD = "a" * 40
MAY = {"pull-requests": "write", "checks": "write", "actions": "read"}
COMMENTS = f"/repos/{HOME}/issues/7/comments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    server: GithubServer
    run: int
    artifact: int

    def client(self, **changes: object) -> Client:
        token = self.server.token(**{"permissions": MAY, "repository": HOME, **changes})  # type: ignore[arg-type]
        return open_client(api_url=self.server.url, token=token, clock=Clock())


@pytest.fixture(params=["", "/api/v3"], ids=["GitHub", "Enterprise"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with GithubServer(request.param) as server:
        server.repository(HOME)
        server.repository("mallory/kernels", fork=True)
        server.pull_request(HOME, 7, head_sha=HEAD, head_repository="mallory/kernels", labels=("kernel",))
        run = server.run(HOME, head_sha=HEAD, head_repository="mallory/kernels")
        artifact = server.artifact(run, "opsdebug-v1-a1-s1of1", b"PK the content")
        server.role(HOME, "ada", "maintain")
        yield Place(server=server, run=run.id, artifact=artifact.id)


def test_every_kind_of_answer_is_read(place: Place) -> None:
    api: Api = place.client()
    pull = api.get(f"/repos/{HOME}/pulls/7", PullRequest)
    assert (pull.number, pull.head.sha, [label.name for label in pull.labels]) == (7, HEAD, ["kernel"])
    assert pull.head.repo is not None
    assert pull.head.repo.full_name == "mallory/kernels"
    assert [one.number for one in api.pages(f"/repos/{HOME}/pulls", PullRequest, {"state": "open"})] == [7]
    assert [one.number for one in api.pages(f"/repos/{HOME}/commits/{HEAD}/pulls", PullRequest)] == [7]
    run = api.get(f"/repos/{HOME}/actions/runs/{place.run}", WorkflowRun)
    assert (run.id, run.head_sha, run.pull_requests) == (place.run, HEAD, ())
    files = api.pages(f"/repos/{HOME}/actions/runs/{place.run}/artifacts", Artifact, within="artifacts")
    assert [(one.id, one.size_in_bytes) for one in files] == [(place.artifact, 14)]
    place.server.job(place.server.state.runs[place.run], "shard 1/2", 2, "failure")
    place.server.job(place.server.state.runs[place.run], "report", None, None)
    jobs = api.pages(f"/repos/{HOME}/actions/runs/{place.run}/jobs", Job, within="jobs")
    assert [(one.run_attempt, one.conclusion) for one in jobs] == [(2, "failure"), (0, None)]
    assert api.get(f"/repos/{HOME}/collaborators/ada/permission", Permission).permission == "write"


def test_a_comment_is_created_changed_found_on_a_later_page_and_removed(place: Place) -> None:
    client = place.client()
    for number in range(120):
        place.server.comment(HOME, 7, f"talk {number}")
    made = client.post(COMMENTS, Comment, {"body": "one"})
    changed = client.patch(f"/repos/{HOME}/issues/comments/{made.id}", Comment, {"body": "two"})
    assert (changed.id, changed.body, changed.user) == (made.id, "two", made.user)
    assert client.pages(COMMENTS, Comment)[-1].id == made.id
    client.delete(f"/repos/{HOME}/issues/comments/{made.id}")
    client.delete(f"/repos/{HOME}/issues/comments/{made.id}")
    assert len(client.pages(COMMENTS, Comment)) == 120


def test_a_check_is_opened_and_closed(place: Place) -> None:
    client = place.client()
    made = client.post(f"/repos/{HOME}/check-runs", CheckRun, {"name": "n", "head_sha": HEAD, "status": "in_progress"})
    done = {"status": "completed", "conclusion": "success"}
    assert client.patch(f"/repos/{HOME}/check-runs/{made.id}", CheckRun, done).conclusion == "success"
    path = f"/repos/{HOME}/commits/{HEAD}/check-runs"
    assert [one.id for one in client.pages(path, CheckRun, within="check_runs")] == [made.id]


def test_a_file_is_fetched_from_where_it_lies(place: Place) -> None:
    assert place.client().download(f"/repos/{HOME}/actions/artifacts/{place.artifact}/zip", 14) == b"PK the content"


def test_a_token_of_a_fork_may_not_write(place: Place) -> None:
    client = place.client(permissions={"pull-requests": "read", "checks": "read", "actions": "read"})
    assert client.pages(COMMENTS, Comment) == ()
    with pytest.raises(GithubRefusedError, match="Resource not accessible by integration") as comment:
        client.post(COMMENTS, Comment, {"body": "x"})
    with pytest.raises(GithubRefusedError) as check:
        client.post(f"/repos/{HOME}/check-runs", CheckRun, {"name": "n", "head_sha": HEAD})
    assert (comment.value.status, check.value.status) == (403, 403)
    assert "`pull-requests: write`" in comment.value.next_step
    assert "`checks: write`" in check.value.next_step


def test_the_token_of_a_job_may_not_ask_who_it_is(place: Place) -> None:
    with pytest.raises(GithubRefusedError) as caught:
        place.client().get("/user", User)
    assert caught.value.status == 403


def test_a_token_that_has_expired(place: Place) -> None:
    client = place.client(requests=1)
    client.pages(COMMENTS, Comment)
    with pytest.raises(GithubRefusedError, match="Bad credentials") as caught:
        client.post(COMMENTS, Comment, {"body": "x"})
    assert caught.value.status == 401
    assert "expired" in caught.value.next_step


def test_what_is_not_there_and_what_is_too_long(place: Place) -> None:
    client = place.client()
    with pytest.raises(GithubRefusedError) as missing:
        client.get(f"/repos/{HOME}/pulls/8", PullRequest)
    with pytest.raises(GithubRefusedError, match="65536") as long:
        client.post(COMMENTS, Comment, {"body": "x" * 70_000})
    assert (missing.value.status, long.value.status) == (404, 422)


def test_a_repository_with_another_name_now_is_told(place: Place) -> None:
    place.server.repository("acme/old")
    place.server.rename("acme/old", "acme/new")
    client = place.client(repository=None)
    for call in (
        lambda: client.get("/repos/acme/old/pulls/7", PullRequest),
        lambda: client.post("/repos/acme/old/issues/7/comments", Comment, {"body": "x"}),
    ):
        with pytest.raises(GithubRefusedError) as caught:
            call()
        assert caught.value.status in (301, 307)
        assert "renamed" in caught.value.next_step
    assert not any("new" in one.path for one in place.server.requests)


def test_an_answer_that_breaks_the_description_is_named(place: Place) -> None:
    place.server.comment(HOME, 7, "x")
    place.server.fail("GET", "/repos/*/*/issues/*/comments", retyped("id", "7"))
    with pytest.raises(GithubAnswerError, match=r"Expected `int`, got `str` - at `\$\[0\]\.id`"):
        place.client().pages(COMMENTS, Comment)
    assert [one.id for one in place.client().pages(COMMENTS, Comment)] != []
