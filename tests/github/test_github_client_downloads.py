"""Files: where a redirection may lead, what goes along, and how much comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_github import TOKEN, Clock, ScriptedGithub, Step, answer, client_of, cut, dribble, raw, reset, scripted

from opsdebug_ci.errors import GithubAnswerError, GithubRefusedError, GithubUnreachableError
from opsdebug_ci.github.api.connection import Loss, Lost, Reply
from opsdebug_ci.github.api.download import Redirections, is_inner

PATH = "/repos/o/r/actions/artifacts/5/zip"
LIMIT = 1000
FILE = bytes(range(256)) * 3


def to(address: str, status: int = 302) -> Step:
    return answer(status, body=b"", location=address)


def place(server: ScriptedGithub, rest: str = "/blob?sig=a%2Bb&se=1") -> str:
    return f"http://127.0.0.1:{server.port}{rest}"


def test_a_file_lies_elsewhere_and_the_token_does_not_go_there() -> None:
    with scripted(answer(200, body=FILE)) as storage, scripted(to(place(storage))) as server:
        client = client_of(server)
        assert client.download(PATH, LIMIT) == FILE
        assert server.lines == [f"GET /api/v3{PATH}"]
        assert server.seen[0].headers["authorization"] == f"token {TOKEN}"
        assert storage.lines == ["GET /blob?sig=a%2Bb&se=1"], "the signature as it is"
        assert set(storage.seen[0].headers) <= {"host", "user-agent", "accept-encoding", "connection", "accept"}
        assert TOKEN not in repr(storage.seen)
        assert client.calls == 2


def test_the_token_stays_where_it_belongs() -> None:
    """A renamed repository redirects on the same host; another port is another server."""
    with scripted(to("/api/v3/repositories/1/zip", 301), answer(200, body=FILE)) as server:
        assert client_of(server).download(PATH, LIMIT) == FILE
        assert [one.headers["authorization"] for one in server.seen] == [f"token {TOKEN}"] * 2


def test_a_way_that_led_away_does_not_bring_the_token_back() -> None:
    with scripted() as storage, scripted(to(place(storage)), answer(200, body=FILE)) as server:
        storage.script.append(to(place(server, "/api/v3/user")))
        assert client_of(server).download(PATH, LIMIT) == FILE
        assert [one.headers.get("authorization") for one in server.seen] == [f"token {TOKEN}", None]


def test_no_password_of_the_machine_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with scripted(answer(200, body=FILE)) as storage, scripted(to(place(storage))) as server:
        assert client_of(server).download(PATH, LIMIT) == FILE
        assert "authorization" not in storage.seen[0].headers
        assert server.seen[0].headers["authorization"] == f"token {TOKEN}"


def test_a_file_without_redirection() -> None:
    with scripted(answer(200, body=FILE)) as server:
        assert client_of(server).download(PATH, LIMIT) == FILE


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_redirection_is_followed(status: int) -> None:
    with scripted(answer(200, body=FILE)) as storage, scripted(to(place(storage), status)) as server:
        assert client_of(server).download(PATH, LIMIT) == FILE


@pytest.mark.parametrize(("hops", "taken"), [(5, True), (6, False)])
def test_as_many_redirections_as_are_followed(hops: int, taken: bool) -> None:
    with scripted() as server:
        server.script += [to("/again")] * hops + [answer(200, body=FILE)] * taken
        if taken:
            assert client_of(server).download(PATH, LIMIT) == FILE
        else:
            with pytest.raises(GithubAnswerError, match="more than 5 redirections"):
                client_of(server).download(PATH, LIMIT)


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT, LIMIT + 1, 2**16 + 1])
@pytest.mark.parametrize("announced", [True, False])
def test_a_file_may_be_as_large_as_the_caller_says(size: int, announced: bool) -> None:
    body = b"x" * size
    whole = answer(200, body=body) if announced else raw(b"HTTP/1.0 200 OK\r\n\r\n" + body)
    with scripted(whole) as storage, scripted(to(place(storage))) as server:
        if size <= LIMIT:
            assert client_of(server).download(PATH, LIMIT) == body
        else:
            with pytest.raises(GithubAnswerError, match=r"bytes"):
                client_of(server).download(PATH, LIMIT)


def test_a_file_that_says_it_is_huge_is_not_begun_and_one_without_end_not_finished() -> None:
    huge = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n")
    endless = dribble(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"8000\r\n" + b"x" * 0x8000 + b"\r\n", 0.0
    )
    for step in (huge, endless):
        too_large = pytest.raises(GithubAnswerError, match="more than 65536 bytes")
        with scripted(step) as storage, scripted(to(place(storage))) as server, too_large:
            client_of(server).download(PATH, LIMIT)


def test_the_body_of_a_redirection_is_bounded_too() -> None:
    endless = dribble(
        b"HTTP/1.1 302 Found\r\nlocation: /x\r\ntransfer-encoding: chunked\r\n\r\n",
        b"8000\r\n" + b"x" * 0x8000 + b"\r\n",
        0.0,
    )
    with scripted(endless) as server, pytest.raises(GithubAnswerError, match="more than 65536 bytes"):
        client_of(server).download(PATH, LIMIT)


def test_a_compressed_file_is_not_unpacked() -> None:
    bomb = answer(200, body=b"\x1f\x8b" + b"x" * 90, content_encoding="gzip")
    with scripted(bomb) as server, pytest.raises(GithubAnswerError, match="encoding that was not asked for"):
        client_of(server).download(PATH, LIMIT)


FAULTS: dict[str, Step] = {
    "500": answer(500, {}),
    "403: the address has expired": answer(403, body=b"<Error>Request has expired</Error>"),
    "404: not there yet": answer(404, body=b""),
    "429": answer(429, {}),
    "cut": cut(200, ["x"] * 9),
    "reset": reset(b"HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\nabc"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_the_address_is_asked_for_anew(fault: str) -> None:
    clock = Clock()
    with scripted(FAULTS[fault], answer(200, body=FILE)) as storage:
        with scripted(to(place(storage, "/1")), to(place(storage, "/2"))) as server:
            assert client_of(server, clock).download(PATH, LIMIT) == FILE
        assert storage.lines == ["GET /1", "GET /2"]
    assert clock.sleeps == [0.5]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_interface_itself_is_that_of_any_request(fault: str) -> None:
    clock = Clock()
    with scripted(FAULTS[fault]) as server:
        if fault[:3] in ("403", "404"):
            with pytest.raises(GithubRefusedError):
                client_of(server, clock).download(PATH, LIMIT)
        else:
            server.script.append(answer(200, body=FILE))
            assert client_of(server, clock).download(PATH, LIMIT) == FILE


def test_storage_that_goes_on_refusing_has_no_file() -> None:
    refused = pytest.raises(GithubAnswerError, match=r"got HTTP 403 from '127\.0\.0\.1', 3 times")
    with scripted(*[answer(403, {})] * 3) as storage, scripted(*[to(place(storage))] * 3) as server, refused as caught:
        client_of(server).download(PATH, LIMIT)
    assert "sig" not in caught.value.message


def test_an_artifact_that_has_expired_is_a_refusal() -> None:
    expired = answer(410, {"message": "Artifact has expired"})
    with scripted(expired) as server, pytest.raises(GithubRefusedError) as caught:
        client_of(server).download(PATH, LIMIT)
    assert caught.value.status == 410


def test_a_file_that_drops_is_not_awaited_beyond_its_deadline() -> None:
    slow = dribble(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n", b"x")
    late = pytest.raises(GithubUnreachableError, match="no whole answer within")
    with scripted(slow) as storage, scripted(to(place(storage))) as server, late:
        client_of(server, budget_s=0.0, download_deadline_s=1.5).download(PATH, LIMIT)


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://h/", "javascript:1", "http://u:p@127.0.0.1/x",
     "http://[::1", "http://h:99999/"],
)  # fmt: skip
def test_no_other_scheme_and_no_user(location: str) -> None:
    with scripted(to(location)) as server, pytest.raises(GithubAnswerError, match="redirection"):
        client_of(server).download(PATH, LIMIT)


@pytest.mark.parametrize("headers", [{}, {"location": ""}, {"location": "//"}, {"location": "http://"}])
def test_a_redirection_without_address_leads_to_itself_and_ends(headers: dict[str, str]) -> None:
    too_many = pytest.raises(GithubAnswerError, match="more than 5 redirections")
    with scripted(*[answer(302, body=b"", **headers)] * 6) as server, too_many:
        client_of(server).download(PATH, LIMIT)


def follow(api_url: str, location: str) -> list[str]:
    """Addresses that are asked for, where the interface redirects to `location`."""
    asked: list[str] = []

    def ask(url: str, headers: object) -> Reply | Lost:
        asked.append(url)
        return Lost(kind=Loss.UNSENT, reason="a test")

    first = Reply(status=302, headers={"location": location}, body=b"")
    Redirections(api_url=api_url, what="GET /x", ask=ask).follow(f"{api_url}/x", first, {"Authorization": "token x"})
    return asked


def test_an_address_that_nobody_can_ask_is_told_and_not_tried_again() -> None:
    clock = Clock()
    with scripted(to("http://.example/x")) as server, pytest.raises(GithubAnswerError, match="an address that is none"):
        client_of(server, clock).download(PATH, LIMIT)
    assert clock.sleeps == []


SECURE = "https://github.example/api/v3"


@pytest.mark.parametrize(
    "location",
    ["http://blobs.example/x", "https://127.0.0.1/x", "https://127.1/x", "https://0x7f000001/x", "https://2130706433/x",
     "https://0177.0.0.1/x", "https://[::1]/x", "https://[::ffff:10.0.0.1]/x", "https://[fe80::1%25eth0]/x",
     "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/x", "https://192.168.1.1/x", "https://172.16.0.1/x",
     "https://100.64.0.1/x", "https://0.0.0.0/x", "https://224.0.0.1/x", "https://[fd00::1]/x", "https://localhost/x",
     "https://[64:ff9b::a9fe:a9fe]/x", "https://[ff02::1]/x", "https://\u00b9\u00b27.0.0.1/x",
     "https://127.0.0.1\\.example/x", "https://blobs.ex\u00e4mple/x", "https://127%2e0.0.1/x", "https://LOCALHOST./x",
     "https://a.localhost/x", "https://[2002:7f00:1::]/x"],
)  # fmt: skip
def test_nothing_within_this_network_is_asked_and_nothing_in_clear(location: str) -> None:
    with pytest.raises(GithubAnswerError, match="wanted"):
        follow(SECURE, location)


@pytest.mark.parametrize(
    "location", ["https://blobs.example/x?sig=1", "https://140.82.121.4/x", "https://[2606:50c0::1]:8443/x"]
)
def test_what_lies_in_public_is_asked(location: str) -> None:
    assert follow(SECURE, location) == [location]


def test_an_address_is_asked_as_it_was_looked_at() -> None:
    """Some take a tab out of an address, and others end the host there."""
    assert follow(SECURE, "https://127.0.0.1\t.example/x") == ["https://127.0.0.1.example/x"]


def test_an_interface_within_this_network_may_keep_its_files_there() -> None:
    assert follow("https://10.0.0.5/api/v3", "https://10.0.0.6/x") == ["https://10.0.0.6/x"]
    assert follow("http://10.0.0.5/api/v3", "http://10.0.0.6/x") == ["http://10.0.0.6/x"]


@pytest.mark.parametrize(
    "host", ["github.com", "1.2.3.4.example", "localhost.example", "a", "", "8.8.8.8", "2606:50c0::1"]
)
def test_names_and_public_addresses_are_not_inner(host: str) -> None:
    assert not is_inner(host)
