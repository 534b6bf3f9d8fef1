"""Every scripted fault does what it says, on a real connection, and to the request it was meant for."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from github_server import (
    Answer,
    GithubServer,
    answered,
    dribble,
    endless,
    garbled,
    outage,
    primary_rate_limit,
    redirected,
    reset,
    retyped,
    secondary_rate_limit,
    stalled,
    too_many_requests,
    truncated,
)
from github_server.faults import Effect

HEAD = "a" * 40
REPOSITORY = "acme/kernels"
COMMENTS = "/repos/acme/kernels/issues/7/comments"
PATTERN = "/repos/*/*/issues/*/comments"


def filled(server: GithubServer) -> str:
    """Put a pull request there; a token that may do everything."""
    server.repository(REPOSITORY)
    server.pull_request(REPOSITORY, 7, head_sha=HEAD)
    return server.token(permissions={"pull-requests": "write", "actions": "read"}, repository=REPOSITORY)


@pytest.fixture
def server() -> Iterator[GithubServer]:
    with GithubServer() as made:
        yield made


class Reply:
    """An answer, read to its end."""

    def __init__(
        self,
        address: str,
        token: str = "",
        *,
        method: str = "GET",
        body: object = None,
        timeout: float = 10,
        context: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None
        connection = (
            HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=context)
            if context
            else HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        )
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request(method, target, None if body is None else json.dumps(body), headers)
            got = connection.getresponse()
            self.status = got.status
            self.headers = {name.lower(): value for name, value in got.getheaders()}
            self.content = got.read()
        finally:
            connection.close()


Ask = Callable[..., Reply]


@pytest.fixture
def ask(server: GithubServer) -> Ask:
    token = filled(server)
    return lambda method="GET", body=None, **more: Reply(server.url + COMMENTS, token, method=method, body=body, **more)


@pytest.mark.parametrize(
    ("effect", "status", "acted"),
    [
        (outage(500), 500, False),
        (outage(502), 502, False),
        (outage(503), 503, False),
        (outage(502, acted=True), 502, True),
        (too_many_requests(), 429, False),
        (secondary_rate_limit(), 403, False),
        (primary_rate_limit(1500), 403, False),
        (answered(Answer(status=403, value={"message": "no"}), acted=True), 403, True),
    ],
    ids=lambda value: value.name if isinstance(value, Effect) else str(value),
)
def test_an_answer_instead(server: GithubServer, ask: Ask, effect: Effect, status: int, acted: bool) -> None:
    fault = server.fail("POST", PATTERN, effect, first=2)
    replies = [ask("POST", {"body": str(index)}) for index in range(3)]
    assert [one.status for one in replies] == [201, status, 201]
    assert [one.body for one in server.comments_of(REPOSITORY, 7)] == (["0", "1", "2"] if acted else ["0", "2"])
    assert [(one.status, one.fault) for one in server.asked("POST", PATTERN)] == [
        (201, ""),
        (status, effect.name),
        (201, ""),
    ]
    assert (fault.hits, fault.seen) == (1, 3)


def test_headers_of_limits(server: GithubServer, ask: Ask) -> None:
    limits = (too_many_requests(7), too_many_requests(), secondary_rate_limit(60), secondary_rate_limit())
    server.script("GET", PATTERN, *limits, None, primary_rate_limit(1500))
    replies = [ask() for _ in range(6)]
    assert [one.status for one in replies] == [429, 429, 403, 403, 200, 403]
    assert [one.headers.get("retry-after") for one in replies] == ["7", None, "60", None, None, None]
    assert replies[5].headers["x-ratelimit-remaining"] == "0"
    assert 1490 < int(replies[5].headers["x-ratelimit-reset"]) - server.state.clock() <= 1500
    assert b"You have exceeded a secondary rate limit" in replies[3].content


@pytest.mark.parametrize("acted", [False, True])
def test_a_reset(server: GithubServer, ask: Ask, acted: bool) -> None:
    server.fail("POST", PATTERN, reset(acted=acted))
    with pytest.raises(ConnectionError):
        ask("POST", {"body": "x"})
    assert len(server.comments_of(REPOSITORY, 7)) == acted
    assert server.requests[-1].status == 0


def test_damaged_bodies(server: GithubServer, ask: Ask) -> None:
    server.comment(REPOSITORY, 7, "x")
    whole = ask().content
    server.fail("GET", PATTERN, truncated())
    with pytest.raises(IncompleteRead) as cut:
        ask()
    assert whole.startswith(cut.value.partial)
    server.fail("GET", PATTERN, garbled())
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(ask().content)
    server.fail("GET", PATTERN, retyped("id", "seven"))
    assert json.loads(ask().content)[0]["id"] == "seven"
    server.fail("GET", PATTERN, outage(502, page=True))
    page = ask()
    assert (page.headers["content-type"], page.content[:6]) == ("text/html", b"<html>")
    assert server.violations == ()


def test_an_answer_that_claims_to_be_of_github_is_judged(server: GithubServer, ask: Ask) -> None:
    wrong = Answer(value=[{"id": "seven"}])
    server.script("GET", PATTERN, answered(wrong), answered(wrong, claimed=False))
    assert [ask().content, ask().content] == [b'[{"id": "seven"}]'] * 2
    found = [one.where for one in server.take_violations()]
    assert found.count("answer.0.id") == 1
    assert len(found) == 8, "and seven fields that are missing"


def test_slow_bodies(server: GithubServer, ask: Ask) -> None:
    server.fail("GET", PATTERN, dribble(0.001))
    assert ask().content == b"[]"
    server.fail("GET", PATTERN, dribble(30))
    with pytest.raises(TimeoutError):
        ask(timeout=0.2)
    server.fail("GET", PATTERN, stalled(30))
    with pytest.raises(TimeoutError):
        ask(timeout=0.2)
    server.fail("POST", PATTERN, stalled(30, acted=True))
    with pytest.raises(TimeoutError):
        ask("POST", {"body": "x"}, timeout=0.5)
    while not server.comments_of(REPOSITORY, 7):  # it may still be reading
        time.sleep(0.001)
    assert len(server.comments_of(REPOSITORY, 7)) == 1


def test_a_body_without_end(server: GithubServer) -> None:
    token = filled(server)
    server.fail("GET", PATTERN, endless(0))
    connection = HTTPConnection("127.0.0.1", server.wire.server_port, timeout=10)
    connection.request("GET", COMMENTS, headers={"Authorization": f"token {token}"})
    got = connection.getresponse()
    assert len(got.read(3_000_000)) == 3_000_000
    connection.close()


def test_faults_end_with_the_server() -> None:
    with GithubServer() as server:
        token = filled(server)
        server.fail("GET", PATTERN, stalled(3600))

        def hang() -> None:
            with contextlib.suppress(OSError, HTTPException):
                Reply(server.url + COMMENTS, token)

        hanging = threading.Thread(target=hang)
        hanging.start()
        while server.wire.connections == 0:
            time.sleep(0.001)
    hanging.join(10)
    assert not hanging.is_alive()


def test_patterns(server: GithubServer, ask: Ask) -> None:
    server.fail("GET", "/repos/*/*/issues/comments/*", outage())
    server.fail("PATCH", "**", outage())
    assert ask().status == 200
    server.fail("*", "/repos/**", outage(503), count=2)
    server.fail("*", "/repos/**", outage(500), count=4)
    assert [ask().status for _ in range(5)] == [503, 503, 500, 500, 200]


def test_a_barrier_makes_two_meet(server: GithubServer, ask: Ask) -> None:
    gate = server.barrier("POST", PATTERN, 2)
    one = threading.Thread(target=ask, args=("POST", {"body": "1"}))
    one.start()
    while gate.arrived == 0:
        time.sleep(0.001)
    assert server.comments_of(REPOSITORY, 7) == ()
    ask("POST", {"body": "2"})
    one.join(10)
    assert gate.met
    assert {one.body for one in server.comments_of(REPOSITORY, 7)} == {"1", "2"}
    assert ask("POST", {"body": "3"}).status == 201


def test_a_barrier_that_nobody_else_comes_to_opens(server: GithubServer, ask: Ask) -> None:
    gate = server.barrier("POST", PATTERN, 2, timeout_s=0.01)
    assert ask("POST", {"body": "1"}).status == 201
    assert not gate.met


def test_a_renamed_repository(server: GithubServer) -> None:
    token = server.token(permissions={"pull-requests": "write"})
    server.repository("acme/old", id=77)
    server.rename("acme/old", REPOSITORY)
    server.pull_request(REPOSITORY, 7, head_sha=HEAD)
    old = f"{server.url}/repos/acme/old/issues/7/comments"
    got = Reply(f"{old}?per_page=5", token)
    assert (got.status, got.headers["location"]) == (
        301,
        f"{server.url}/repositories/77/issues/7/comments?per_page=5",
    )
    assert json.loads(Reply(got.headers["location"], token).content) == []
    posted = Reply(old, token, method="POST", body={"body": "x"})
    assert posted.status == 307
    assert Reply(posted.headers["location"], token, method="POST", body={"body": "x"}).status == 201
    assert [one.body for one in server.comments_of(REPOSITORY, 7)] == ["x"]


def artifact_of(server: GithubServer, content: bytes) -> tuple[str, str]:
    """Put an artifact there; the address of its archive and a token."""
    token = filled(server)
    run = server.run(REPOSITORY, head_sha=HEAD)
    artifact = server.artifact(run, "opsdebug-v1-a1-s1of1", content)
    return f"{server.url}/repos/{REPOSITORY}/actions/artifacts/{artifact.id}/zip", token


def test_an_archive_lies_on_another_server(server: GithubServer) -> None:
    address, token = artifact_of(server, b"PK the archive")
    first = Reply(address, token)
    assert (first.status, first.content) == (302, b"")
    place = first.headers["location"]
    assert urlsplit(place).port != urlsplit(server.url).port
    assert Reply(place).content == b"PK the archive"
    assert Reply(place, token).content == b"PK the archive"
    assert [one.authorized for one in server.storage.visits] == [False, True]
    assert Reply(place.replace(".zip", "0.zip")).status == 404


def test_an_archive_that_leads_elsewhere(server: GithubServer) -> None:
    address, token = artifact_of(server, b"PK")
    place = Reply(address, token).headers["location"]
    server.storage.fail(redirected("{self}"), count=3)
    assert [Reply(place).headers.get("location") for _ in range(4)] == [place, place, place, None]
    server.storage.fail(truncated())
    with pytest.raises(IncompleteRead):
        Reply(place)
    server.artifact_location = lambda artifact: f"file:///etc/{artifact.name}"
    assert Reply(address, token).headers["location"] == "file:///etc/opsdebug-v1-a1-s1of1"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate that nobody has signed, for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(timezone.utc)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    pem = serialization.Encoding.PEM
    files[0].write_bytes(made.public_bytes(pem))
    files[1].write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return files


def test_enterprise_with_its_own_certificate(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=files[0])
    with GithubServer("/api/v3", certificate=files) as server:
        address, token = artifact_of(server, b"PK")
        assert server.url.startswith("https://127.0.0.1:")
        assert server.url.endswith("/api/v3")
        comment = Reply(server.url + COMMENTS, token, method="POST", body={"body": "x"}, context=trusting)
        document = json.loads(comment.content)
        assert document["url"].startswith(f"{server.url}/repos/{REPOSITORY}/issues/comments/")
        assert document["html_url"].startswith(f"{server.html}/{REPOSITORY}/pull/7#")
        place = Reply(address, token, context=trusting).headers["location"]
        assert Reply(place, context=trusting).content == b"PK"
        with pytest.raises(ssl.SSLCertVerificationError):
            Reply(server.url + COMMENTS, token, context=ssl.create_default_context())
        server.fail("GET", PATTERN, reset())
        with pytest.raises((ConnectionError, ssl.SSLError)):
            Reply(server.url + COMMENTS, token, context=trusting)
        outside = Reply(server.html + COMMENTS, token, context=trusting)
        assert outside.status == 404
        assert [one.where for one in server.take_violations()] == ["operation"]
