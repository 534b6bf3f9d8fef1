"""The referee: planted violations are found, their clean twins are not, and GitHub's own examples pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from github_server.description import github_description
from github_server.gaps import ANY_OPERATION, VALUES
from github_server.referee import Exchange, Referee

COMMENTS = "/repos/acme/kernels/issues/7/comments"
CHECKS = "/repos/acme/kernels/check-runs"
JSON = {"Content-Type": "application/json; charset=utf-8"}

EXAMPLES_OF_GITHUB_AGAINST_ITS_OWN_DESCRIPTION = {
    ("get", "/repos/{owner}/{repo}", "200"): ("'language' is a required property",),
    ("get", "/user", "200"): ("contain discriminating property",),
    ("get", "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", "200"): (
        "'created_at' is a required property",
        "is not a 'date-time'",
    ),
    ("get", "/repos/{owner}/{repo}/pulls", "200"): ("'type' is a required property",),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}", "200"): ("'type' is a required property",),
    ("get", "/repos/{owner}/{repo}/commits/{commit_sha}/pulls", "200"): ("'type' is a required property",),
    ("get", "/repos/{owner}/{repo}/collaborators/{username}/permission", "200"): (
        "'role_name' is a required property",
    ),
}
"""Examples that lack a field which the description requires, or tell the time more finely than the referee takes."""


def example(pointer: str, name: str) -> Any:
    """An example's value; one that is itself a reference is followed."""
    description = github_description()
    value = description.resolved(f"{pointer}/examples/{name}")[1]["value"]
    return description.resolved(value["$ref"].removeprefix("#"))[1]["value"] if "$ref" in value else value


def answers_of_github() -> Iterator[tuple[str, str, str, str, str]]:
    """Method, path, status, place of the media type and name of every example of an answer."""
    description = github_description()
    for path, methods in description.whole["paths"].items():
        for method, operation in methods.items():
            for status in operation["responses"]:
                escaped = path.replace("/", "~1")
                pointer, response = description.resolved(f"/paths/{escaped}/{method}/responses/{status}")
                content = response.get("content", {}).get("application/json", {})
                for name in content.get("examples", {}):
                    yield method, path, status, f"{pointer}/content/application~1json", name


def test_the_slice_says_where_it_is_from() -> None:
    whole = github_description().whole
    assert whole["openapi"] == "3.0.3"
    assert (whole["info"]["version"], whole["info"]["license"]["name"]) == ("23.0.2", "MIT")
    assert sum(map(len, whole["paths"].values())) == 26


def test_examples_of_github_pass() -> None:
    wrong: dict[tuple[str, str, str], set[str]] = {}
    judged = 0
    for method, path, status, pointer, name in answers_of_github():
        judged += 1
        for one in github_description().complaints(f"{pointer}/schema", example(pointer, name)):
            wrong.setdefault((method, path, status), set()).add(one.message[-300:])
    assert judged == 28
    assert wrong.keys() == EXAMPLES_OF_GITHUB_AGAINST_ITS_OWN_DESCRIPTION.keys()
    for key, messages in wrong.items():
        known = EXAMPLES_OF_GITHUB_AGAINST_ITS_OWN_DESCRIPTION[key]
        assert [one for one in messages if not any(part in one for part in known)] == []


def test_requests_of_github_pass() -> None:
    description, judged = github_description(), 0
    for path, methods in description.whole["paths"].items():
        for method, operation in methods.items():
            pointer = f"/paths/{path.replace('/', '~1')}/{method}/requestBody/content/application~1json"
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            for name in content.get("examples", {}):
                judged += 1
                value = example(pointer, name)
                assert list(description.complaints(f"{pointer}/schema", value)) == []
                assert list(description.strange(f"{pointer}/schema", value)) == []
    assert judged == 6


COMMENT = example(
    "/paths/~1repos~1{owner}~1{repo}~1issues~1{issue_number}~1comments/post/responses/201/content/application~1json",
    "default",
)
CHECK = example(
    "/paths/~1repos~1{owner}~1{repo}~1check-runs/post/responses/201/content/application~1json",
    "example-of-in-progress-conclusion",
)
ANNOTATION = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m"}


def posted(
    path: str, body: object, answer: object, *, status: int = 201, query: str = "", headers: dict[str, str] = JSON
) -> list[str]:
    """What the referee says of a POST."""
    exchange = Exchange(
        method="POST",
        path=path,
        query=query,
        body=json.dumps(body).encode(),
        status=status,
        headers=headers,
        content=json.dumps(answer).encode(),
    )
    return [f"{one.where}: {one.message}" for one in Referee().violations(exchange)]


def created(**output: object) -> dict[str, object]:
    """A request for a check run."""
    return {"name": "n", "head_sha": "a" * 40, "output": {"title": "t", "summary": "s", **output}}


def without(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != name}


@pytest.mark.parametrize(
    ("path", "body", "answer", "said"),
    [
        (COMMENTS, {"bod": "x"}, COMMENT, ["request: 'body' is a required property", "request.bod: "]),
        (COMMENTS, {"body": "x", "bod": "y"}, COMMENT, ["request.bod: `bod` is not in the description"]),
        (COMMENTS, {"body": 7}, COMMENT, ["request.body: 7 is not of type 'string'"]),
        (COMMENTS, {"body": None}, COMMENT, ["request.body: None for not nullable", "request.body: None is not"]),
        (COMMENTS, {"body": "x"}, {**COMMENT, "id": "1"}, ["answer.id: '1' is not of type 'integer'"]),
        (COMMENTS, {"body": "x"}, {**COMMENT, "id": 2**63}, ["answer.id: 9223372036854775808 is not a 'int64'"]),
        (COMMENTS, {"body": "x"}, {**COMMENT, "url": "/x"}, ["answer.url: '/x' is not a 'uri'"]),
        (COMMENTS, {"body": "x"}, {**COMMENT, "created_at": "now"}, ["answer.created_at: 'now' is not a 'date-time'"]),
        (COMMENTS, {"body": "x"}, without(COMMENT, "user"), ["answer: 'user' is a required property"]),
        (COMMENTS, {"body": "x"}, {**COMMENT, "by": "me"}, ["answer.by: `by` is not in the description"]),
        (COMMENTS, {"body": "x"}, {**COMMENT, "user": {**COMMENT["user"], "id": "1"}}, ["answer.user.id: '1' is not"]),
        (CHECKS, {**created(), "conclusion": "sucess"}, CHECK, ["request.conclusion: 'sucess' is not one of"]),
        (CHECKS, created(annotations=[ANNOTATION] * 51), CHECK, ["request.output.annotations: "]),
        (CHECKS, created(summary="s" * 65_536), CHECK, ["request.output.summary: "]),
        (CHECKS, created(annotations=[{**ANNOTATION, "line": 1}]), CHECK, ["request.output.annotations.0.line: "]),
        (CHECKS, created(), {**CHECK, "status": "done"}, ["answer.status: 'done' is not one of"]),
    ],
)
def test_a_planted_violation_is_found(path: str, body: object, answer: object, said: list[str]) -> None:
    found = posted(path, body, answer)
    assert [one[: len(start)] for one, start in zip(found, said, strict=True)] == said


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        (COMMENTS, {"body": "x"}, COMMENT),
        (COMMENTS, {"body": ""}, {**COMMENT, "user": None}),
        (COMMENTS, {"body": "x" * 70_000}, COMMENT),
        (CHECKS, {**created(), "conclusion": "success"}, CHECK),
        (CHECKS, created(annotations=[ANNOTATION] * 50), CHECK),
        (CHECKS, created(summary="s" * 65_535), {**CHECK, "conclusion": None}),
    ],
)
def test_its_clean_twin_is_left_alone(path: str, body: object, answer: object) -> None:
    assert posted(path, body, answer) == []


def test_statuses() -> None:
    error = {"message": "m", "documentation_url": "https://docs.github.com/rest", "status": "410"}
    assert posted(COMMENTS, {"body": "x"}, COMMENT, status=200) == ["answer: status 200 is not in the description"]
    assert posted(COMMENTS, {"body": "x"}, error, status=418) == ["answer: status 418 is not in the description"]
    assert posted(COMMENTS, {"body": "x"}, error, status=410) == []
    for status in ANY_OPERATION:
        where = {**JSON, "Location": "https://example.org"}
        assert posted(COMMENTS, {"body": "x"}, {**error, "status": str(status)}, status=status, headers=where) == []
        assert posted(COMMENTS, {"body": "x"}, {**error, "message": 7}, status=status, headers=where) != []
        assert posted(COMMENTS, {"body": "x"}, {**error, "status": "0"}, status=422) != []


def test_operations_and_parameters() -> None:
    def got(path: str, query: str = "", method: str = "GET", body: bytes = b"") -> list[str]:
        exchange = Exchange(
            method=method, path=path, query=query, body=body, status=200, headers={}, content=b"", answered=False
        )
        return [f"{one.where}: {one.message}" for one in Referee().violations(exchange)]

    assert got(COMMENTS, "per_page=100&page=2&since=2026-01-01T00:00:00Z") == []
    assert got("/repos/acme/kernels/issues/comments/5") == []
    assert got("/graphql", method="POST") == ["operation: there is no such operation in the description"]
    assert got("/repos/acme/kernels/issues/7/comment") == ["operation: there is no such operation in the description"]
    assert got(COMMENTS, method="DELETE") == ["operation: there is no such operation in the description"]
    assert got("/repos/acme/kernels/issues/seven/comments") == ["path.issue_number: 'seven' is not of type 'integer'"]
    assert got(COMMENTS, "per_page=all") == ["query.per_page: 'all' is not of type 'integer'"]
    assert got(COMMENTS, "perpage=1") == ["query.perpage: is not in the description"]
    assert got(COMMENTS, "page=1&page=2") == ["query.page: is given more than once"]
    assert got("/repos/a/b/pulls", "state=opened")[0].startswith("query.state: 'opened' is not one of")
    assert got(COMMENTS, body=b"{}") == ["request: the operation takes no body"]
    assert got(COMMENTS, method="POST") == ["request: a body is required"]
    assert got(COMMENTS, method="POST", body=b"body=x")[0].startswith("request: no JSON")


def test_answers_that_are_no_json() -> None:
    assert posted(COMMENTS, {"body": "x"}, COMMENT, headers={}) == ["answer: `Content-Type` is not `application/json`"]
    exchange = Exchange(method="DELETE", path="/repos/a/b/issues/comments/5", status=204, headers={}, content=b"{}")
    assert [one.message for one in Referee().violations(exchange)] == ["status 204 has no body in the description"]
    exchange = Exchange(method="GET", path=COMMENTS, status=200, headers=JSON, content=b"[")
    assert "no JSON" in str(Referee().violations(exchange)[0])
    exchange = Exchange(method="GET", path="/repos/a/b/actions/artifacts/5/zip", status=302, headers={}, content=b"")
    assert [one.message for one in Referee().violations(exchange)] == ["a redirection without `Location`"]


def test_a_gap_lets_its_value_pass_and_no_other() -> None:
    pointer = "/paths/~1repos~1{owner}~1{repo}~1pulls/get/responses/200/content/application~1json"
    pull = example(pointer, "default")[0]
    team = without(pull, "requested_teams")
    lean = {
        **team,
        **{side: {**pull[side], "repo": None} for side in ("head", "base")},
    }
    exchange = Exchange(
        method="GET", path="/repos/a/b/pulls", status=200, headers=JSON, content=json.dumps([lean]).encode()
    )
    found = {one.where for one in Referee().violations(exchange)}
    assert found == {"answer.0.base.repo"}, "a repository that has pull requests is not deleted"
    assert all(gap.reason for gap in VALUES)
