"""Which request is sent again, after what, and how long a job waits."""

from __future__ import annotations

import email.utils
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from github.Auth import Token
from github.GithubException import GithubException
from github.GithubRetry import GithubRetry
from github.Requester import Requester
from scripted_github import Clock, Step, answer, client_of, cut, dribble, raw, reset, scripted, silence

from opsdebug_ci.errors import GithubAmbiguousError, GithubRefusedError, GithubUnreachableError
from opsdebug_ci.github.api.client import Client, Limits, open_client
from opsdebug_ci.github.api.connection import Reply
from opsdebug_ci.github.api.patience import is_limit
from opsdebug_ci.github.api.records import User

ADA = {"login": "ada", "id": 7}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"
LIMIT = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
NO_PERMISSION = {"message": "Resource not accessible by integration"}

CALLS: dict[str, Callable[[Client], object]] = {
    "GET": lambda client: client.get("/x", User),
    "PATCH": lambda client: client.patch("/x", User, {"a": 1}),
    "DELETE": lambda client: client.delete("/x"),
    "POST": lambda client: client.post("/x", User, {"a": 1}),
}

ONCE: dict[str, Callable[[Client], object]] = {
    "POST": CALLS["POST"],
    "PATCH": lambda client: client.patch("/x", User, {"a": 1}, once=True),
}
"""What may not be obeyed twice."""

PASSING: dict[str, Step] = {
    "500": answer(500, {"message": "Server Error"}),
    "502": answer(502, body=b"<html>Bad Gateway</html>"),
    "503 with a time": answer(503, {}, retry_after="1"),
    "408": answer(408, {}),
    "reset without an answer": reset(),
    "reset within the headers": reset(b"HTTP/1.1 200 OK\r\nconte"),
    "reset within the body": reset(HEAD),
    "closed without an answer": raw(b""),
    "closed within the body": raw(HEAD),
    "cut chunks": raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"log\r\n"),
    "no HTTP": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
}  # fmt: skip

DAMAGED: dict[str, Step] = {
    "no JSON": answer(200, body=b"<html>sign in to the network</html>"),
    "nothing": answer(200, body=b""),
    "half of the JSON, and no length": raw(b'HTTP/1.0 200 OK\r\n\r\n{"login": "ad'),
    "another shape that is cut": answer(200, body=b'[{"login": 3'),
    "no UTF-8": answer(200, body=b'{"login": "\xff\xfe", "id": 1}'),
}

SLOW: dict[str, Step] = {
    "silence": silence(),
    "headers drop by drop": dribble(b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n"),
    "one header drop by drop": dribble(b"HTTP/1.1 200 OK\r\nx-a: ", b"b"),
    "body drop by drop": dribble(HEAD),
    "chunks drop by drop": dribble(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}

DEADLINE_S = 1.5
"""Of one answer: a hundred times what one takes."""

LIMITS: dict[str, tuple[Step, float]] = {
    "429 with a time": (answer(429, {}, retry_after="7"), 7.0),
    "429 without": (answer(429, {}), 60.0),
    "429 with a date": (answer(429, {}, retry_after=email.utils.formatdate(1_000_020, usegmt=True)), 20.0),
    "429 with nonsense": (answer(429, {}, retry_after="soon"), 60.0),
    "429 with a time that is over": (answer(429, {}, retry_after=email.utils.formatdate(900_000)), 0.5),
    "429 with no wait": (answer(429, {}, retry_after="0"), 0.5),
    "secondary with a time": (answer(403, LIMIT, retry_after="30"), 30.0),
    "secondary without": (answer(403, LIMIT), 60.0),
    "abuse": (answer(403, {"message": "You have triggered an abuse detection mechanism."}), 60.0),
    "403 with a time": (answer(403, {"message": "slow down"}, retry_after="9"), 9.0),
    "primary": (answer(403, {}, x_ratelimit_remaining="0", x_ratelimit_reset="1000040"), 40.0),
    "primary by 429": (answer(429, {}, x_ratelimit_remaining="0", x_ratelimit_reset="1000041"), 41.0),
    "primary, reset over": (answer(403, {}, x_ratelimit_remaining="0", x_ratelimit_reset="999000"), 0.5),
    "primary without a time": (answer(403, {}, x_ratelimit_remaining="0", x_ratelimit_reset="x"), 60.0),
}  # fmt: skip


@contextmanager
def refused_port() -> Iterator[int]:
    """One that is taken, so that nobody else gets it, and at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


@pytest.mark.parametrize("verb", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_by_itself_is_asked_again(verb: str, fault: str) -> None:
    clock = Clock()
    with scripted(PASSING[fault], PASSING[fault], answer(200, ADA)) as server:
        CALLS[verb](client_of(server, clock))
        assert server.lines == [f"{verb} /api/v3/x"] * 3
    assert clock.sleeps == [0.5, 1.0]


@pytest.mark.parametrize("verb", ["GET", "PATCH"])
@pytest.mark.parametrize("fault", DAMAGED)
def test_a_damaged_answer_is_asked_for_again(verb: str, fault: str) -> None:
    with scripted(DAMAGED[fault], answer(200, ADA)) as server:
        assert CALLS[verb](client_of(server)) == User(login="ada", id=7)


def test_an_answer_that_does_not_come_is_asked_for_again_and_never_awaited_beyond_its_deadline() -> None:
    """All at once: each takes a deadline that a whole answer keeps on a busy machine too."""

    def asked(fault: Step) -> tuple[str, list[float]]:
        clock = Clock()
        with scripted(fault, answer(200, ADA)) as server:
            login = client_of(server, clock, deadline_s=DEADLINE_S).get("/x", User).login
        return login, clock.sleeps

    with ThreadPoolExecutor(len(SLOW)) as pool:
        found = dict(zip(SLOW, pool.map(asked, SLOW.values()), strict=True))
    assert found == dict.fromkeys(SLOW, ("ada", [0.5]))


@pytest.mark.parametrize("verb", ONCE)
@pytest.mark.parametrize("fault", [*PASSING, *DAMAGED])
def test_what_may_not_be_obeyed_twice_is_sent_once_whatever_comes_back(fault: str, verb: str) -> None:
    clock = Clock()
    with scripted({**PASSING, **DAMAGED}[fault]) as server, pytest.raises(GithubAmbiguousError, match="sent once"):
        ONCE[verb](client_of(server, clock))
    assert server.lines == [f"{verb} /api/v3/x"]
    assert clock.sleeps == []


def test_a_post_whose_answer_does_not_come_is_sent_once() -> None:
    def asked(fault: str) -> list[str]:
        with scripted(SLOW[fault]) as server, pytest.raises(GithubAmbiguousError):
            CALLS["POST"](client_of(server, deadline_s=DEADLINE_S))
        return server.lines

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(asked, ["silence", "body drop by drop"])) == [["POST /api/v3/x"]] * 2


@pytest.mark.parametrize("sent", [{}, {"login": 3, "id": 1}, [], "x"])
def test_a_post_whose_answer_has_another_shape_may_have_been_obeyed(sent: object) -> None:
    with scripted(answer(201, sent)) as server, pytest.raises(GithubAmbiguousError):
        CALLS["POST"](client_of(server))
    assert server.lines == ["POST /api/v3/x"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirection_is_followed_and_a_post_least_of_all(status: int) -> None:
    for verb, call in CALLS.items():
        with scripted(answer(status, {}, location="/api/v3/y")) as server, pytest.raises(GithubRefusedError) as caught:
            call(client_of(server))
        assert server.lines == [f"{verb} /api/v3/x"]
        assert caught.value.status == status


def test_pygithub_does_not_wait_and_ask_by_itself() -> None:
    with scripted(answer(202, ADA)) as server:
        assert CALLS["GET"](client_of(server)) == User(login="ada", id=7)


def test_the_server_notices_a_post_that_is_sent_again() -> None:
    """What PyGithub does when it is left alone; so the tests above would see it."""
    fault = answer(502, {})
    with scripted(fault, fault, fault) as server:
        alone = Requester(
            auth=Token("x"),
            base_url=server.url,
            timeout=5,
            user_agent="x",
            per_page=1,
            verify=True,
            retry=GithubRetry(total=2, backoff_factor=0),
            pool_size=None,
        )
        with pytest.raises((GithubException, OSError)):
            alone.requestJsonAndCheck("POST", "/x", input={"a": 1})
        alone.close()
        assert server.lines == ["POST /api/v3/x"] * 3


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_is_waited_for_as_long_as_it_says_also_by_a_post(verb: str, limit: str) -> None:
    step, wait_s = LIMITS[limit]
    clock = Clock()
    with scripted(step, answer(200, ADA)) as server:
        CALLS[verb](client_of(server, clock))
        assert len(server.seen) == 2
    assert clock.sleeps == [wait_s]


def test_a_limit_without_a_time_is_waited_for_longer_each_time() -> None:
    clock = Clock()
    with (
        scripted(*[answer(403, LIMIT)] * 3) as server,
        pytest.raises(GithubUnreachableError, match="too many requests"),
    ):
        CALLS["GET"](client_of(server, clock))
    assert clock.sleeps == [60.0, 120.0], "the third would be 240 of 120 s left"


def test_faults_before_it_do_not_make_the_wait_for_a_limit_longer() -> None:
    clock = Clock()
    with scripted(*[answer(502, {})] * 4, answer(429, {}), answer(502, {}), answer(200, ADA)) as server:
        CALLS["GET"](client_of(server, clock))
    assert clock.sleeps == [0.5, 1.0, 2.0, 4.0, 60.0, 16.0]


def test_a_limit_that_names_a_time_does_not_make_the_wait_for_another_longer() -> None:
    clock = Clock()
    named = answer(429, {}, retry_after="3")
    with scripted(named, named, answer(429, {}), answer(200, ADA), answer(429, {}), answer(200, ADA)) as server:
        client = client_of(server, clock)
        CALLS["GET"](client)
        CALLS["PATCH"](client)
    assert clock.sleeps == [3.0, 3.0, 60.0, 120.0], "the account's second that names none, though another request's"


def test_nobody_comes_back_sooner_than_asked_nor_all_at_once() -> None:
    for chance, wanted in [(0.0, [7.0, 1.0]), (0.5, [7.5, 1.5])]:
        clock = Clock(chance=chance)
        with scripted(answer(429, {}, retry_after="7"), answer(500, {}), answer(200, ADA)) as server:
            CALLS["GET"](client_of(server, clock))
        assert clock.sleeps == wanted


@pytest.mark.parametrize("verb", CALLS)
def test_half_an_hour_is_not_waited_for(verb: str) -> None:
    clock = Clock()
    spent = answer(403, {"message": "API rate limit exceeded"}, x_ratelimit_remaining="0", x_ratelimit_reset="1001500")
    with scripted(spent) as server, pytest.raises(GithubUnreachableError, match="would have to wait 1500 s"):
        CALLS[verb](client_of(server, clock))
    assert clock.sleeps == []


@pytest.mark.parametrize("headers", [{}, {"x_ratelimit_remaining": "4000"}, {"x_ratelimit_remaining": "0"}])
def test_a_missing_permission_is_no_limit(headers: dict[str, str]) -> None:
    clock = Clock()
    with scripted(answer(403, NO_PERMISSION, **headers)) as server, pytest.raises(GithubRefusedError):
        CALLS["GET"](client_of(server, clock))
    assert clock.sleeps == []


@pytest.mark.parametrize("status", [400, 401, 404, 405, 409, 410, 413, 422, 451])
def test_other_refusals_are_told_at_once(status: int) -> None:
    for verb in ("GET", "PATCH", "POST"):
        with scripted(answer(status, {"message": "rate limit"})) as server, pytest.raises(GithubRefusedError) as caught:
            CALLS[verb](client_of(server))
        assert caught.value.status == status


def test_waits_double_up_to_half_a_minute_and_end_with_the_budget() -> None:
    clock = Clock(chance=1.0 - 2**-20)
    with scripted(*[answer(500, {})] * 14) as server, pytest.raises(GithubUnreachableError) as caught:
        CALLS["GET"](client_of(server, clock))
    assert [round(one, 3) for one in clock.sleeps] == [1, 2, 4, 8, 16, 32, 32, 32, 32, 32, 32, 32, 32]
    assert caught.value.message == (
        "GET /x: got HTTP 500 after 14 tries, and would have to wait 32 s; "
        "wanted an answer with 13 of 300 s for waiting left"
    )
    assert "later" in caught.value.next_step


def test_the_budget_is_one_for_all_requests_and_each_is_still_sent_once() -> None:
    clock = Clock()
    with scripted(*[answer(500, {})] * 4, answer(200, ADA), answer(500, {})) as server:
        client = client_of(server, clock, budget_s=3.9)
        with pytest.raises(GithubUnreachableError):
            client.get("/x", User)
        assert client.get("/x", User).login == "ada", "e.g. to close a check"
        with pytest.raises(GithubUnreachableError, match="after 1 try,"):
            client.get("/x", User)
    assert clock.sleeps == [0.5, 1.0, 2.0]


def test_time_that_failed_tries_take_is_charged_and_time_of_answers_is_not() -> None:
    class Counting(Clock):
        """Each look at it costs ten seconds."""

        def monotonic_s(self) -> float:
            self.time_s += 10.0
            return self.time_s

    clock = Counting()
    with scripted(answer(500, {}), answer(200, ADA), answer(200, ADA), *[answer(500, {})] * 2) as server:
        client = client_of(server, clock, budget_s=30.0)
        for _ in range(2):
            client.get("/x", User)
        with pytest.raises(GithubUnreachableError):
            client.get("/x", User)
    assert clock.sleeps == [0.5, 0.5], "the third failure leaves 0 of 30 s"


@pytest.mark.parametrize("verb", CALLS)
def test_what_was_never_sent_is_sent_again_also_a_post(verb: str) -> None:
    clock = Clock()
    with refused_port() as port, pytest.raises(GithubUnreachableError, match="refused") as caught:
        client = open_client(api_url=f"http://127.0.0.1:{port}", token="t", clock=clock, budget_s=2.0)
        CALLS[verb](client)
    assert type(caught.value) is GithubUnreachableError
    assert "`GITHUB_API_URL`, http://127.0.0.1:" in (caught.value.next_step or "")
    assert (client.calls, clock.sleeps) == (3, [0.5, 1.0])


def test_a_name_that_nobody_knows_was_never_sent() -> None:
    client = open_client(api_url="http://no.such.host.invalid/", token="t", clock=Clock(), budget_s=0.0)
    with pytest.raises(GithubUnreachableError) as caught:
        CALLS["POST"](client)
    assert type(caught.value) is GithubUnreachableError


def test_what_may_not_be_obeyed_twice_takes_no_connection_that_lay_idle() -> None:
    """A server may close it at that very moment; a GET is asked again then, a POST could not be."""
    with scripted(*[answer(200, ADA)] * 5) as server:
        client = client_of(server)
        for call in (CALLS["GET"], ONCE["POST"], ONCE["PATCH"], CALLS["PATCH"], CALLS["GET"]):
            call(client)
        first, *once, again, last = (one.peer for one in server.seen)
    assert {first} == {again, last}, "what may be asked again takes it"
    assert len({first, *once}) == 3


@pytest.mark.parametrize(
    ("reply", "limited"),
    [
        (Reply(status=403, headers={}, body=b'{"message": "API rate limit exceeded for installation ID 1."}'), True),
        (
            Reply(status=403, headers={}, body=b'{"documentation_url": "https://h/rest/rate-limits-for-the-rest-api"}'),
            True,
        ),
        (Reply(status=403, headers={}, body=b'{"message": "Must have admin rights to Repository."}'), False),
        (Reply(status=403, headers={"x-ratelimit-remaining": "10"}, body=b"{}"), False),
        (Reply(status=500, headers={"retry-after": "1"}, body=b"rate limit"), False),
        (Reply(status=404, headers={"x-ratelimit-remaining": "0"}, body=b"rate limit"), False),
        (Reply(status=200, headers={"x-ratelimit-remaining": "0"}, body=b"{}"), False),
    ],
)
def test_a_limit_is_told_from_other_answers(reply: Reply, limited: bool) -> None:
    assert is_limit(reply) is limited


def test_limits_are_those_that_are_documented() -> None:
    assert Limits() == Limits(deadline_s=30.0, download_deadline_s=120.0, answer_bytes=32 * 2**20)


def test_an_answer_without_end_is_not_read_without_end() -> None:
    endless = dribble(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"8000\r\n" + b" " * 0x8000 + b"\r\n", 0.0
    )
    huge = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{}")
    for step in (endless, huge):
        with scripted(step) as server, pytest.raises(Exception, match="more than 1000000 bytes"):
            client_of(server, answer_bytes=1_000_000).get("/x", User)


def test_an_answer_that_is_cut_by_its_last_bytes() -> None:
    with scripted(cut(200, ADA), answer(200, ADA)) as server:
        assert client_of(server).get("/x", User).login == "ada"
