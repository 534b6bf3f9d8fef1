"""The client's values, lists, paths and secrets, against a server that answers word by word."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

import pytest
from scripted_github import TOKEN, Clock, answer, client_of, cut, raw, scripted

from opsdebug_ci import __version__
from opsdebug_ci.errors import (
    GithubAmbiguousError,
    GithubAnswerError,
    GithubRefusedError,
    InternalError,
    UsageError,
)
from opsdebug_ci.github.api.client import open_client
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import Artifact, Comment, User

ADA = {"login": "ada", "id": 7, "type": "User", "site_admin": False}
PATH = "/repos/o/r/issues/7/comments"


def comment(number: int, **changes: object) -> dict[str, object]:
    return {"id": number, "user": ADA, "created_at": "t", "updated_at": "t", "body": "x", **changes}


def test_the_client_is_what_the_bot_asks() -> None:
    with scripted() as server:
        api: Api = client_of(server)
        assert api is not None


def test_a_value_is_read_and_fields_nobody_reads_are_ignored() -> None:
    with scripted(answer(200, ADA)) as server:
        assert client_of(server).get("/user", User) == User(login="ada", id=7, type="User")


def test_a_request_says_who_asks_for_what_form_and_for_no_encoding() -> None:
    with scripted(answer(200, ADA)) as server:
        client_of(server).get("/user", User, {"q": "a b&c=d", "n": 3})
        (seen,) = server.seen
    assert seen.line in {"GET /api/v3/user?q=a+b%26c%3Dd&n=3", "GET /api/v3/user?n=3&q=a+b%26c%3Dd"}
    wanted = {
        "accept": "application/vnd.github+json",
        "accept-encoding": "identity",
        "authorization": f"token {TOKEN}",
        "user-agent": f"opsdebug-ci/{__version__}",
        "x-github-api-version": "2022-11-28",
    }
    assert {name: seen.headers[name] for name in wanted} == wanted


@pytest.mark.parametrize("verb", ["POST", "PATCH"])
def test_a_body_is_sent_as_json_whatever_characters_it_has(verb: str) -> None:
    text = 'ü 🙂 \u202e \ud800 \x00 "quoted" \\ \r\n'
    with scripted(answer(201, comment(1))) as server:
        client = client_of(server)
        call = client.post if verb == "POST" else client.patch
        call(PATH, Comment, {"body": text})
        (seen,) = server.seen
    assert seen.headers["content-type"] == "application/json"
    assert json.loads(seen.body) == {"body": text}


def test_an_author_who_is_gone_is_none() -> None:
    with scripted(answer(200, comment(1, user=None))) as server:
        assert client_of(server).get("/repos/o/r/issues/comments/1", Comment).user is None


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (comment(1, id="1"), "$.id"),
        (comment(1, id=True), "$.id"),
        (comment(1, id=None), "$.id"),
        (comment(1, user={"login": "x"}), "`id`"),
        (comment(1, body=None), "$.body"),
        ({"body": "x"}, "`id`"),
        ([], "object"),
        (3, "object"),
    ],
)
def test_a_wrong_or_missing_field_is_named_with_the_path_and_not_asked_for_again(sent: object, field: str) -> None:
    with scripted(answer(200, sent)) as server, pytest.raises(GithubAnswerError) as caught:
        client_of(server).get(PATH, Comment)
    assert caught.value.message.startswith(f"GET {PATH}: got an answer of another shape: ")
    assert field in caught.value.message


def test_nesting_beyond_reason_is_no_endless_work() -> None:
    nested = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    with scripted(answer(200, body=nested)) as server, pytest.raises(GithubAnswerError, match="nested beyond reason"):
        client_of(server).get(PATH, Comment)


def test_pages_are_counted_and_addresses_of_the_server_are_not_followed() -> None:
    full = [comment(number) for number in range(100)]
    rest = [comment(number) for number in range(100, 141)]
    elsewhere = '<http://192.0.2.1/next>; rel="next"'
    with scripted(answer(200, full, link=elsewhere), answer(200, rest)) as server:
        client = client_of(server)
        found = client.pages(PATH, Comment, {"since": "2026"})
        assert [one.id for one in found] == list(range(141))
        assert [dict(parse_qsl(line.split("?")[1])) for line in server.lines] == [
            {"since": "2026", "per_page": "100", "page": "1"},
            {"since": "2026", "per_page": "100", "page": "2"},
        ]
        assert client.calls == 2


def test_a_page_that_is_not_full_is_the_last_unless_the_server_says_otherwise() -> None:
    hidden = answer(200, [comment(1)], link='<http://h/?page=2>; rel="next", <http://h/?page=2>; rel="last"')
    with scripted(hidden, answer(200, [comment(2)], link='<http://h/?page=1>; rel="prev"')) as server:
        assert [one.id for one in client_of(server).pages(PATH, Comment)] == [1, 2]


def test_a_full_last_page_costs_one_more_request() -> None:
    with scripted(answer(200, [comment(number) for number in range(100)]), answer(200, [])) as server:
        assert len(client_of(server).pages(PATH, Comment)) == 100


def test_a_list_without_end_is_an_error() -> None:
    page = answer(200, [comment(1)] * 100)
    with scripted(*[page] * 100) as server, pytest.raises(GithubAnswerError, match="more than 100 pages"):
        client_of(server).pages(PATH, Comment)


def test_a_list_within_a_field() -> None:
    file = {"id": 1, "name": "n", "size_in_bytes": 3, "expired": False}
    with scripted(answer(200, {"total_count": 1, "artifacts": [file]})) as server:
        found = client_of(server).pages("/repos/o/r/actions/runs/5/artifacts", Artifact, within="artifacts")
    assert found == (Artifact(id=1, name="n", size_in_bytes=3, expired=False),)


@pytest.mark.parametrize("sent", [{"total_count": 1}, {"artifacts": {}}, {"artifacts": [{"id": 1}]}, []])
def test_a_list_that_is_not_where_it_should_be(sent: object) -> None:
    with scripted(answer(200, sent)) as server, pytest.raises(GithubAnswerError, match="GET /repos/o/r/actions"):
        client_of(server).pages("/repos/o/r/actions/runs/5/artifacts", Artifact, within="artifacts")


@pytest.mark.parametrize("status", [204, 200, 404, 410])
def test_what_is_gone_is_deleted(status: int) -> None:
    with scripted(answer(status, body=b"")) as server:
        client_of(server).delete("/repos/o/r/issues/comments/1")
        assert server.lines == ["DELETE /api/v3/repos/o/r/issues/comments/1"]


def test_what_may_not_be_deleted_is_told() -> None:
    with scripted(answer(403, {"message": "no"})) as server, pytest.raises(GithubRefusedError):
        client_of(server).delete("/repos/o/r/issues/comments/1")


@pytest.mark.parametrize(
    "path",
    ["", "user", "//host/x", "/a//b", "/a?b=c", "/a#b", "/a b", "/a\r\nX: y", "/a/../b", "/a/%2e%2e/b", "/.", "/a/..",
     "http://192.0.2.1/x", "/a/é", "/users/github-actions[bot]"],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_never_sent(path: str) -> None:
    with scripted() as server, pytest.raises(InternalError):
        client_of(server).get(path, User)


@pytest.mark.parametrize("path", ["/users/github-actions%5Bbot%5D", "/a/b..c", "/a/...", "/a/.github", "/a/x@y:z,+~-_"])
def test_a_quoted_name_is_sent_as_it_is(path: str) -> None:
    with scripted(answer(200, ADA)) as server:
        client_of(server).get(path, User)
        assert server.lines == [f"GET /api/v3{path}"]


@pytest.mark.parametrize(
    "api_url",
    [
        "",
        "api",
        "ftp://h/x",
        "file:///etc/passwd",
        "https://",
        "https://u:p@h",
        "https://h/?q=1",
        "https://*.h/",
        "https://.h",
        "http://[::1",
    ],
)
def test_an_address_that_is_none_is_refused(api_url: str) -> None:
    with pytest.raises(UsageError, match="api_url"):
        open_client(api_url=api_url, token=TOKEN, clock=Clock())


@pytest.mark.parametrize("token", ["", f"{TOKEN}\n", f" {TOKEN}", f"{TOKEN}\r\nX-Evil: 1", f"{TOKEN}é"])
def test_a_token_that_cannot_be_sent_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(UsageError, match="token") as caught:
        open_client(api_url="http://127.0.0.1:9/", token=token, clock=Clock())
    assert TOKEN not in f"{caught.value} {caught.value.args} {caught.value!r}"


def test_the_token_is_in_no_text_even_where_the_server_sends_it_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    echo = {"message": f"bad {TOKEN[:9]}\u200b{TOKEN[9:]} and {TOKEN}", "errors": [{"message": TOKEN}, TOKEN]}
    script = [
        answer(403, echo),
        answer(422, echo),
        answer(418, body=TOKEN.encode() * 50),
        answer(301, echo, location=f"http://h/{TOKEN}"),
        answer(502, echo),
        answer(200, body=TOKEN.encode()),
        answer(200, {"login": TOKEN, "id": TOKEN}),
        cut(201, echo),
        raw(f"HTTP/1.1 2xx {TOKEN}\r\n\r\n".encode()),
    ]
    verbs = ["get", "get", "get", "get", "post", "post", "get", "post", "post"]
    texts = []
    with scripted(*script) as server:
        client = client_of(server, budget_s=0.0)
        texts += [repr(client), str(client)]
        for verb in verbs:
            with pytest.raises((GithubRefusedError, GithubAmbiguousError, GithubAnswerError)) as caught:
                client.get("/user", User) if verb == "get" else client.post("/user", User, {})
            error: BaseException | None = caught.value
            while error is not None:
                texts += [str(error), repr(error), repr(error.args), repr(vars(error))]
                error = error.__cause__ or error.__context__
        assert all(one.headers["authorization"] == f"token {TOKEN}" for one in server.seen), "it was there to be leaked"
    texts += [record.getMessage() for record in caplog.records]
    shown = "\n".join(texts)
    assert TOKEN not in shown
    assert "***" in shown
    assert texts[0].startswith("Client(http://127.0.0.1:")
