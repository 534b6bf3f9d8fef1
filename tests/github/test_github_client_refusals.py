"""What a refusal says to the person who has to do something about it."""

from __future__ import annotations

import pytest
from scripted_github import TOKEN, answer, client_of, scripted

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.api.connection import Reply
from opsdebug_ci.github.api.records import User
from opsdebug_ci.github.api.refusal import HIDDEN, QUOTE_CHARACTERS, Redaction, needed_permission, refusal

NO_PERMISSION = b'{"message": "Resource not accessible by integration", "documentation_url": "https://docs/x"}'


def refused(verb: str, path: str, status: int, body: bytes = b"{}") -> GithubRefusedError:
    return refusal(verb, path, Reply(status=status, headers={}, body=body), Redaction(TOKEN))


@pytest.mark.parametrize(
    ("verb", "path", "permission"),
    [
        ("POST", "/repos/o/r/issues/7/comments", "pull-requests: write"),
        ("PATCH", "/repos/o/r/issues/comments/1", "pull-requests: write"),
        ("DELETE", "/repos/o/r/issues/comments/1", "pull-requests: write"),
        ("POST", "/repos/o/r/issues/comments/1/reactions", "pull-requests: write"),
        ("DELETE", "/repos/o/r/issues/7/labels/x", "pull-requests: write"),
        ("GET", "/repos/o/r/issues/7/comments", "pull-requests: read"),
        ("GET", "/repos/o/r/pulls", "pull-requests: read"),
        ("GET", "/repos/o/r/pulls/7", "pull-requests: read"),
        ("GET", "/repos/o/r/commits/abc/pulls", "pull-requests: read"),
        ("POST", "/repos/o/r/check-runs", "checks: write"),
        ("PATCH", "/repos/o/r/check-runs/1", "checks: write"),
        ("GET", "/repos/o/r/commits/abc/check-runs", "checks: read"),
        ("GET", "/repos/o/r/actions/runs/5", "actions: read"),
        ("GET", "/repos/o/r/actions/runs/5/artifacts", "actions: read"),
        ("GET", "/repos/o/r/actions/artifacts/5/zip", "actions: read"),
        ("POST", "/repos/o/r/git/refs", "contents: write"),
        ("GET", "/repos/o/r/contents/a/b", "contents: read"),
        ("GET", "/repos/pulls/issues/git/commits/abc", "contents: read"),
        ("GET", "/repos/actions/pulls", ""),
        ("GET", "/repos/o/r/collaborators/ada/permission", ""),
        ("GET", "/user", ""),
        ("GET", "/users/pulls", ""),
    ],
)
def test_the_permission_a_request_needs(verb: str, path: str, permission: str) -> None:
    assert needed_permission(verb, path) == permission


def test_a_missing_permission_names_the_line_to_add_and_what_holds_for_forks() -> None:
    error = refused("POST", "/repos/o/r/issues/7/comments", 403, NO_PERMISSION)
    assert str(error) == (
        "POST /repos/o/r/issues/7/comments: got HTTP 403 (Resource not accessible by integration); wanted it done\n"
        "  next: add `pull-requests: write` to `permissions:` of the job; the token of a workflow that a fork's pull "
        "request triggered is read-only whatever `permissions:` says: let a workflow on `workflow_run` publish"
    )
    assert (error.status, error.code) == (403, "github-refused")


@pytest.mark.parametrize(
    ("status", "said", "wanted"),
    [
        (401, "Bad credentials", "expired"),
        (404, "Not Found", "pull-requests: write"),
        (410, "Gone", "still there"),
        (422, "Validation Failed", "shorten or correct"),
        (301, "Moved Permanently", "renamed"),
        (403, "Unable to create comment because issue is locked.", "unlock the conversation"),
        (403, "Repository was archived so is read-only.", "unarchive the repository"),
        (409, "Conflict", "GitHub's text"),
    ],
)
def test_every_kind_has_a_next_step(status: int, said: str, wanted: str) -> None:
    error = refused("PATCH", "/repos/o/r/issues/comments/1", status, f'{{"message": "{said}"}}'.encode())
    assert f"HTTP {status} ({said})" in error.message
    assert wanted in error.next_step
    assert error.status == status


def test_the_text_of_a_validation_is_kept_whatever_form_its_details_have() -> None:
    for details, wanted in [
        (
            b'[{"message": "Body is too long (maximum is 65536 characters)"}]',
            "Body is too long (maximum is 65536 characters)",
        ),
        (b'[{"resource": "Label", "code": "already_exists", "field": "name"}]', "name already_exists"),
        (b'["No commit found"]', "No commit found"),
        (b'"Only 65535 characters are allowed"', "Only 65535 characters are allowed"),
    ]:
        error = refused("POST", "/x", 422, b'{"message": "Validation Failed", "errors": ' + details + b"}")
        assert error.message == f"POST /x: got HTTP 422 (Validation Failed: {wanted}); wanted it done"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>\n<h1>Proxy says\tno</h1>", " (<html> <h1>Proxy says no</h1>)"),
        (b'{"message": "a\\nb\\u202ec\\u0000 d::error::e"}', " (a bc d::error::e)"),
        (b"", ""),
        (b"{}", ""),
        (b'{"message": 3}', ' ({"message": 3})'),
        (b"\xff\xfe", " (��)"),
        (b"[" * 100_000, f" ({'[' * (QUOTE_CHARACTERS - 1)}…)"),
    ],
)
def test_the_quote_is_one_harmless_line(body: bytes, said: str) -> None:
    assert refused("GET", "/x", 400, body).message == f"GET /x: got HTTP 400{said}; wanted it done"


def test_a_token_is_hidden_also_where_it_would_be_cut_or_is_split_by_hidden_characters() -> None:
    hide = Redaction(TOKEN).one_line
    assert hide(f"a {TOKEN} b") == f"a {HIDDEN} b"
    assert hide(f"{TOKEN[:5]}\u200b{TOKEN[5:]}") == HIDDEN
    cut = hide("x" * (QUOTE_CHARACTERS - 10) + TOKEN)
    assert TOKEN[:5] not in cut
    assert TOKEN not in repr(Redaction(TOKEN))
    assert Redaction("a+b/c").one_line("a%2Bb%2Fc a+b/c") == f"{HIDDEN} {HIDDEN}"
    assert hide("nothing to hide") == "nothing to hide"


def test_the_error_is_raised_as_it_is() -> None:
    with scripted(answer(404, {"message": "Not Found"})) as server, pytest.raises(GithubRefusedError) as caught:
        client_of(server).get("/repos/o/r/pulls/7", User)
    assert str(caught.value) == str(refused("GET", "/repos/o/r/pulls/7", 404, b'{"message": "Not Found"}'))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
