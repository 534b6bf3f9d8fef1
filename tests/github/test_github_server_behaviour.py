"""The fake GitHub does as GitHub does: lists, tokens, limits, checks, and PyGithub can work with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import github
import pytest
import requests
from github_server import GithubServer

HEAD = "a" * 40
OLDER = "b" * 40
REPOSITORY = "acme/kernels"
EVERYTHING = {"pull-requests": "write", "checks": "write", "actions": "read"}
Reply = requests.Response


@pytest.fixture
def server() -> Iterator[GithubServer]:
    """A repository with a pull request of a fork."""
    with GithubServer() as made:
        made.repository(REPOSITORY)
        made.repository("fork/kernels", fork=True)
        made.pull_request(REPOSITORY, 7, head_sha=HEAD, head_repository="fork/kernels", commits=(OLDER,))
        yield made


class Client:
    """Plain requests with one token."""

    def __init__(self, server: GithubServer, token: str | None) -> None:
        self.server = server
        self._session = requests.Session()
        self._session.trust_env = False
        if token is not None:
            self._session.headers["Authorization"] = f"Bearer {token}"

    def __call__(self, method: str, rest: str, body: object = None, *, of: str = f"/repos/{REPOSITORY}") -> Reply:
        with self._session.request(
            method, f"{self.server.url}{of}{rest}", json=body, timeout=10, allow_redirects=False
        ) as reply:
            assert reply.content is not None
        return reply

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self._session.close()


@pytest.fixture
def ask(server: GithubServer) -> Iterator[Client]:
    with Client(server, server.token(permissions=EVERYTHING, repository=REPOSITORY)) as client:
        yield client


def hub(server: GithubServer, token: str) -> github.Github:
    return github.Github(
        base_url=server.url, auth=github.Auth.Token(token), seconds_between_requests=0, seconds_between_writes=0
    )


def test_the_client_library_can_work_with_it(server: GithubServer) -> None:
    for index in range(141):
        server.comment(REPOSITORY, 7, f"comment {index}", author="somebody")
    client = hub(server, server.token(permissions=EVERYTHING, repository=REPOSITORY))
    repository = client.get_repo(REPOSITORY)
    pull = repository.get_pull(7)
    assert [one.body for one in pull.get_issue_comments()] == [f"comment {index}" for index in range(141)]
    comment = pull.create_issue_comment("first")
    comment.edit("second")
    comment.create_reaction("eyes")
    assert (comment.user.login, comment.user.type) == ("github-actions[bot]", "Bot")
    assert (
        server.comments_of(REPOSITORY, 7)[-1].body == repository.get_issue(7).get_comment(comment.id).body == "second"
    )
    assert [one.content for one in server.reactions_of(comment.id)] == ["eyes"]
    comment.delete()
    assert len(server.comments_of(REPOSITORY, 7)) == 141
    check = repository.create_check_run("opsdebug smoke", HEAD, status="in_progress")
    annotation = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m"}
    output = {"title": "t", "summary": "s", "annotations": [annotation]}
    for _ in range(3):
        check.edit(output=output)
    check.edit(status="completed", conclusion="failure", output=output)
    assert [one.message for one in check.get_annotations()] == ["m"] * 4
    assert [one.number for one in repository.get_pulls(head="fork:change")] == [7]
    assert list(repository.get_pulls(head="acme:change")) == []
    client.close()


def test_pages(server: GithubServer, ask: Client) -> None:
    for index in range(141):
        server.comment(REPOSITORY, 7, str(index))

    def page(query: str) -> tuple[int, list[str]]:
        reply = ask("GET", f"/issues/7/comments{query}")
        return len(reply.json()), sorted(reply.links)

    assert page("") == (30, ["last", "next"])
    assert page("?per_page=100") == page("?per_page=500") == (100, ["last", "next"])
    assert page("?per_page=100&page=2") == (41, ["first", "prev"])
    assert page("?per_page=50&page=2") == (50, ["first", "last", "next", "prev"])
    assert page("?page=9") == (0, ["first", "prev"])
    found, address = [], f"{server.url}/repos/{REPOSITORY}/issues/7/comments?per_page=60"
    while address:
        assert address.startswith(server.url)
        reply = ask("GET", "", of=address.removeprefix(server.url))
        found += [one["body"] for one in reply.json()]
        address = reply.links.get("next", {}).get("url", "")
    assert found == [str(index) for index in range(141)]


def test_permissions_of_a_job(server: GithubServer) -> None:
    server.repository("acme/secret", private=True)
    server.pull_request("acme/secret", 1, head_sha=HEAD)
    reading = server.token(permissions={"pull-requests": "read"}, repository=REPOSITORY)
    with Client(server, reading) as ask:
        refused = ask("POST", "/issues/7/comments", {"body": "x"})
        assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
        assert ask("GET", "/issues/7/comments").status_code == 200
        assert ask("POST", "/check-runs", {"name": "n", "head_sha": HEAD}).status_code == 403
        assert ask("GET", "/pulls/1", of="/repos/acme/secret").status_code == 404
        assert ask("GET", "", of="/user").status_code == 403
        assert ask("GET", "/collaborators/acme/permission").json()["permission"] == "admin"
    with Client(server, server.token(repository="acme/secret")) as ask:
        assert ask("GET", "/pulls/1", of="/repos/acme/secret").status_code == 403
        assert ask("GET", "/pulls/7").status_code == 200
        assert ask("POST", "/issues/7/comments", {"body": "x"}).status_code == 403
    with Client(server, server.token(permissions={"issues": "write"}, repository=REPOSITORY)) as ask:
        assert ask("POST", "/issues/7/comments", {"body": "x"}).status_code == 201
    assert server.comments_of(REPOSITORY, 7)[-1].body == "x"


def test_persons(server: GithubServer) -> None:
    server.repository("acme/secret", private=True)
    server.role(REPOSITORY, "maintainer", "maintain")
    with Client(server, server.token(login="stranger", kind="person")) as ask:
        assert ask("GET", "", of="/user").json()["login"] == "stranger"
        assert ask("GET", "", of="/repos/acme/secret").status_code == 404
        comment = ask("POST", "/issues/7/comments", {"body": "x"}).json()
        assert ask("PATCH", f"/issues/comments/{comment['id']}", {"body": "y"}).status_code == 403
        assert ask("GET", "/collaborators/maintainer/permission").json()["permission"] == "write"
        assert ask("GET", "/collaborators/stranger/permission").json()["role_name"] == "read"
        assert ask("GET", "/collaborators/nobody/permission").status_code == 404
        server.comment(REPOSITORY, 7, "x", author="passer-by")
        assert ask("GET", "/collaborators/passer-by/permission").json()["permission"] == "read"
    with Client(server, server.token(login="maintainer", kind="person")) as ask:
        assert ask("PATCH", f"/issues/comments/{comment['id']}", {"body": "y"}).status_code == 200
        assert ask("POST", "/check-runs", {"name": "n", "head_sha": HEAD}).status_code == 403
    with Client(server, None) as ask:
        assert ask("GET", "/issues/7/comments").status_code == 200
        assert ask("POST", "/issues/7/comments", {"body": "x"}).status_code == 401
        assert ask("GET", "", of="/user").status_code == 401
        assert ask("GET", "", of="/rate_limit").json()["rate"]["limit"] == 1000


def test_tokens_that_are_none_any_more(server: GithubServer) -> None:
    token = server.token(permissions=EVERYTHING, requests=2)
    with Client(server, token) as ask:
        replies = [ask("GET", "/pulls/7") for _ in range(3)]
    assert [one.status_code for one in replies] == [200, 200, 401]
    assert [one.headers["x-ratelimit-remaining"] for one in replies] == ["999", "998", "997"]
    assert replies[2].json()["message"] == "Bad credentials"
    other = server.token(permissions=EVERYTHING, until_s=server.state.clock() - 1)
    with Client(server, other) as ask, Client(server, "made up") as another:
        assert ask("GET", "/pulls/7").status_code == another("GET", "/pulls/7").status_code == 401
    assert [one.token for one in server.requests] == ["github-actions[bot]"] * 4 + ["unknown"]
    assert token not in repr(server.requests)


def test_texts_of_comments(server: GithubServer, ask: Client) -> None:
    long = ask("POST", "/issues/7/comments", {"body": "é" * 65_537})
    assert long.status_code == 422
    assert long.json()["errors"] == [
        {
            "resource": "IssueComment",
            "code": "unprocessable",
            "field": "data",
            "message": "Body is too long (maximum is 65536 characters)",
        }
    ]
    made = ask("POST", "/issues/7/comments", {"body": "é" * 65_536})
    assert made.status_code == 201
    address = f"/issues/comments/{made.json()['id']}"
    assert ask("PATCH", address, {"body": "x" * 65_537}).status_code == 422
    assert ask("PATCH", address, {"body": " \n"}).status_code == 422
    assert ask("GET", address).json()["body"] == "é" * 65_536
    assert ask("DELETE", address).status_code == 204
    assert ask("GET", address).status_code == ask("DELETE", address).status_code == 404
    assert ask("GET", "/issues/8/comments").status_code == 404
    assert ask("POST", "/issues/7/comments", {"body": "\ud800"}).json()["message"] == "Problems parsing JSON"
    assert ask("POST", "/issues/7/comments", ["x"]).json()["message"] == "Body should be a JSON object"
    assert {one.where for one in server.take_violations()} == {"request"}
    assert server.comments_of(REPOSITORY, 7) == ()


def test_limits_of_checks(server: GithubServer, ask: Client) -> None:
    note = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m"}

    def made(**more: Any) -> tuple[int, str]:
        reply = ask("POST", "/check-runs", {"name": "n", "head_sha": HEAD, **more})
        return reply.status_code, reply.json().get("message", "").removeprefix("Invalid request.\n\n")

    def output(**more: Any) -> dict[str, Any]:
        return {"title": "t", "summary": "s", **more}

    assert made(output=output(annotations=[note] * 50))[0] == 201
    assert made(output=output(text="t" * 65_535, summary="s" * 65_535))[0] == 201
    assert server.violations == ()
    assert made(output=output(annotations=[note] * 51)) == (
        422,
        "No more than 50 items are allowed; 51 were supplied.",
    )
    assert made(output=output(summary="s" * 65_536))[1] == "Only 65535 characters are allowed; 65536 were supplied."
    assert made(conclusion="sucess")[0] == made(output={"title": "t"})[0] == made(name="")[0] == 422
    assert {one.where for one in server.take_violations()} == {
        "request.output.annotations",
        "request.output.summary",
        "request.conclusion",
        "request.output",
    }
    assert made(status="completed") == (422, '"conclusion" wasn\'t supplied.')
    assert made(output=output(annotations=[{**note, "end_line": 2, "start_column": 1}]))[0] == 422
    assert made(head_sha="c" * 40) == (422, f"No commit found for SHA: {'c' * 40}")
    assert len(server.checks_of(REPOSITORY, HEAD)) == 2


def test_life_of_a_check(server: GithubServer, ask: Client) -> None:
    made = ask(
        "POST", "/check-runs", {"name": "n", "head_sha": HEAD, "status": "in_progress", "external_id": "e"}
    ).json()
    assert (made["status"], made["conclusion"], made["completed_at"]) == ("in_progress", None, None)
    address = f"/check-runs/{made['id']}"
    done = ask("PATCH", address, {"conclusion": "failure"}).json()
    assert (done["status"], done["conclusion"], done["external_id"]) == ("completed", "failure", "e")
    assert ask("PATCH", address, {"output": {"summary": "s"}}).json()["conclusion"] == "failure"
    assert ask("PATCH", address, {"status": "in_progress"}).json()["conclusion"] is None
    theirs = server.check(REPOSITORY, "n", HEAD, app="another-app")
    refused = ask("PATCH", f"/check-runs/{theirs.id}", {"conclusion": "success"})
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Invalid app_id `15368` - check run can only be modified by the GitHub App that created it.",
    )
    second = ask("POST", "/check-runs", {"name": "n", "head_sha": HEAD}).json()

    def listed(query: str) -> list[int]:
        return [one["id"] for one in ask("GET", f"/commits/{HEAD}/check-runs{query}").json()["check_runs"]]

    assert listed("") == [second["id"], theirs.id]
    assert listed("?filter=all") == [second["id"], theirs.id, made["id"]]
    assert listed("?app_id=15368&check_name=n") == [second["id"]]
    assert listed("?check_name=m") == []


def test_pull_requests_of_a_commit(server: GithubServer, ask: Client) -> None:
    server.pull_request(REPOSITORY, 8, head_sha=HEAD, head_repository="fork/kernels", base_ref="release")
    server.pull_request(REPOSITORY, 9, head_sha=HEAD, head_repository=None, author="gone")
    server.pull_request(REPOSITORY, 10, head_sha=HEAD, state="closed")

    def of(sha: str) -> list[int]:
        return [one["number"] for one in ask("GET", f"/commits/{sha}/pulls").json()]

    assert of(HEAD) == [7, 8, 9]
    assert of(OLDER) == [7], "it has the commit, though no longer as its newest"
    server.push(REPOSITORY, 7, "c" * 40)
    assert of(HEAD) == [7, 8, 9]
    assert ask("GET", f"/commits/{'d' * 40}/pulls").status_code == 422
    assert ask("GET", "/pulls/9").json()["head"]["repo"] is None
    assert ask("GET", "/pulls/7").json()["head"]["sha"] == "c" * 40
    assert [one["number"] for one in ask("GET", "/pulls?state=all").json()] == [10, 9, 8, 7]
    assert [one["number"] for one in ask("GET", "/pulls?head=fork:change").json()] == [8, 7]
    assert [one["number"] for one in ask("GET", "/pulls?base=release").json()] == [8]


def test_labels(server: GithubServer, ask: Client) -> None:
    server.label(REPOSITORY, 7, "accepted", actor="maintainer")
    server.label(REPOSITORY, 7, "other", actor="stranger")
    server.label(REPOSITORY, 7, "other", actor="stranger", put=False)
    assert [one["name"] for one in ask("GET", "/issues/7/labels").json()] == ["accepted"]
    assert [one["name"] for one in ask("GET", "/pulls/7").json()["labels"]] == ["accepted"]
    events = ask("GET", "/issues/7/events").json()
    assert [(one["event"], one["label"]["name"], one["actor"]["login"]) for one in events] == [
        ("labeled", "accepted", "maintainer"),
        ("labeled", "other", "stranger"),
        ("unlabeled", "other", "stranger"),
    ]


def test_runs_and_artifacts(server: GithubServer, ask: Client) -> None:
    run = server.run(REPOSITORY, head_sha=HEAD, head_repository="fork/kernels", run_number=12)
    for attempt in (1, 2):
        server.artifact(run, f"opsdebug-v1-a{attempt}-s1of1", b"zip")
    server.run(REPOSITORY, id=run.id, head_sha=HEAD, run_number=12, run_attempt=2, head_repository=None)
    found = ask("GET", f"/actions/runs/{run.id}").json()
    assert (found["run_attempt"], found["head_repository"], found["pull_requests"]) == (2, None, [])
    listed = ask("GET", f"/actions/runs/{run.id}/artifacts").json()
    assert (listed["total_count"], [one["name"][13] for one in listed["artifacts"]]) == (2, ["2", "1"])
    named = ask("GET", f"/actions/runs/{run.id}/artifacts?name=opsdebug-v1-a1-s1of1").json()
    assert (named["total_count"], named["artifacts"][0]["size_in_bytes"]) == (1, 3)
    assert ask("GET", f"/actions/runs?head_sha={HEAD}&event=pull_request").json()["total_count"] == 1
    assert ask("GET", "/actions/runs/5").status_code == 404
    expired = server.artifact(run, "old", b"zip", expired=True)
    assert ask("GET", f"/actions/artifacts/{expired.id}/zip").status_code == 410
    with Client(server, server.token(repository=REPOSITORY)) as nothing:
        assert nothing("GET", f"/actions/runs/{run.id}/artifacts").status_code == 200, "the repository is public"
        address = f"/actions/artifacts/{named['artifacts'][0]['id']}/zip"
        assert nothing("GET", address).status_code == 403, "downloads need the permission all the same"


def test_of_each_job_of_a_run_the_newest_is_listed(server: GithubServer, ask: Client) -> None:
    run = server.run(REPOSITORY, head_sha=HEAD, run_attempt=2, status="in_progress", conclusion=None)
    for name, attempt, conclusion in (("a", 1, "success"), ("b", 1, "failure"), ("b", 2, None), ("c", None, "skipped")):
        server.job(run, name, attempt, conclusion)
    server.job(server.run(REPOSITORY, head_sha=HEAD), "of another run")
    listed = ask("GET", f"/actions/runs/{run.id}/jobs").json()
    assert listed["total_count"] == 3
    assert [(one["name"], one.get("run_attempt"), one["status"], one["conclusion"]) for one in listed["jobs"]] == [
        ("a", 1, "completed", "success"),
        ("b", 2, "in_progress", None),
        ("c", None, "completed", "skipped"),
    ]
    assert ask("GET", f"/actions/runs/{run.id}/jobs?filter=all&per_page=3").json()["total_count"] == 4
    assert ask("GET", "/actions/runs/5/jobs").status_code == 404


def test_what_is_not_there_is_a_violation(server: GithubServer, ask: Client) -> None:
    assert ask("GET", "/labels").status_code == 404
    assert [one.where for one in server.take_violations()] == ["operation"]
    assert ask("POST", "/issues/7/comments", {"bod": "x"}).status_code == 422
    assert [one.where for one in server.take_violations()] == ["request", "request.bod"]


def test_leaving_with_a_violation_raises() -> None:
    said = "GET /repos/acme/kernels/labels: operation: there is no such operation"
    with pytest.raises(AssertionError, match=said), GithubServer() as made, Client(made, None) as ask:
        ask("GET", "/labels")
