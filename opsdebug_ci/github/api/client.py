"""The client of GitHub's interface: which request may be sent again, and what to make of each answer.

Decides, for every outcome, between a value, another try and an error. A request that changes nothing more when it comes
twice (GET, PATCH, DELETE) is sent again after everything that passes by itself. A POST is sent again only where it was
certainly not obeyed: there was no connection, or the answer says "too many requests", which GitHub says before it acts.
Everything else about a POST is told, and never tried again. Deliberately knows no comment, check or artifact.

Two more errors than `interface` names cannot come from GitHub: UsageError for an address or a token that cannot be
used, InternalError for a path that is none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, final

from opsdebug_ci.errors import (
    GithubAmbiguousError,
    GithubAnswerError,
    GithubUnreachableError,
    InternalError,
)
from opsdebug_ci.github.api.connection import Bounds, Connection, Loss, Lost, Reply
from opsdebug_ci.github.api.download import Redirections, bounds_of
from opsdebug_ci.github.api.handover import Sender
from opsdebug_ci.github.api.interface import PAGE_SIZE
from opsdebug_ci.github.api.patience import BUDGET_S, Clock, Patience, SystemClock, is_limit
from opsdebug_ci.github.api.reading import read_nothing, read_page, read_value
from opsdebug_ci.github.api.refusal import Redaction, refusal

Value = TypeVar("Value")

MAX_PAGES = 100
"""Of one list: ten thousand comments; GitHub closes conversations long before."""

_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+")
_CLIMBING = re.compile(r"/(\.|%2e){1,2}(/|$)", re.IGNORECASE)
"""Segments that the libraries below take out of a path, and with them the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may cost."""

    deadline_s: float = 30.0
    """For an answer: GitHub itself gives up after 10 s."""

    download_deadline_s: float = 120.0
    """For a file: the largest artifact that is read, 16 MiB, over a line of 1.1 Mbit/s."""

    answer_bytes: int = 32 * 2**20
    """Of an answer: a page of a hundred comments of the greatest length has 26 MB when every character takes four."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of a caller's."""

    verb: str
    """`GET`, `POST`, `PATCH` or `DELETE`."""

    path: str
    """Behind the interface's address."""

    parameters: Mapping[str, str | int] = field(default_factory=dict)
    """Of the query."""

    body: Mapping[str, object] | None = None
    """Sent as JSON; None: nothing."""

    once: bool = False
    """It may not be obeyed twice."""


@final
class Client:
    """Implements `interface.Api`."""

    def __init__(self, *, sender: Sender, clock: Clock, budget_s: float, limits: Limits, redaction: Redaction) -> None:
        self._sender = sender
        self._clock = clock
        self._patience = Patience(clock, budget_s)
        self._limits = limits
        self._redaction = redaction
        self.calls = 0

    def __repr__(self) -> str:
        return f"Client({self._sender.api_url}, calls={self.calls})"

    def get(self, path: str, kind: type[Value], parameters: Mapping[str, str | int] | None = None) -> Value:
        request = Request(verb="GET", path=path, parameters=parameters or {})
        return self._ask(request, lambda reply: read_value(reply.body, kind, f"GET {path}"))

    def pages(
        self, path: str, kind: type[Value], parameters: Mapping[str, str | int] | None = None, *, within: str = ""
    ) -> tuple[Value, ...]:
        """NOTE: a page that is not full is the last one unless the server says that there is a next: it leaves out what
        it hides after it has counted. Addresses it names are not used."""
        found: list[Value] = []
        for number in range(1, MAX_PAGES + 1):
            query = {**(parameters or {}), "per_page": PAGE_SIZE, "page": number}
            request = Request(verb="GET", path=path, parameters=query)
            page = self._ask(request, lambda reply: read_page(reply, kind, f"GET {path}", within))
            found += page.entries
            if len(page.entries) < PAGE_SIZE and not page.followed:
                return tuple(found)
        raise GithubAnswerError(
            f"GET {path}: got more than {MAX_PAGES} pages; wanted at most {MAX_PAGES * PAGE_SIZE} entries"
        )

    def post(self, path: str, kind: type[Value], body: Mapping[str, object]) -> Value:
        return self._once("POST", path, kind, body)

    def _once(self, verb: str, path: str, kind: type[Value], body: Mapping[str, object]) -> Value:
        try:
            return self._ask(
                Request(verb=verb, path=path, body=body, once=True),
                lambda reply: read_value(reply.body, kind, f"{verb} {path}"),
            )
        except GithubAnswerError as error:
            raise _ambiguous(verb, path, f"another answer than wanted ({error.message})") from None

    def patch(self, path: str, kind: type[Value], body: Mapping[str, object], *, once: bool = False) -> Value:
        if once:
            return self._once("PATCH", path, kind, body)
        request = Request(verb="PATCH", path=path, body=body)
        return self._ask(request, lambda reply: read_value(reply.body, kind, f"PATCH {path}"))

    def delete(self, path: str) -> None:
        self._ask(Request(verb="DELETE", path=path), read_nothing, fine=(404, 410))

    def download(self, path: str, limit_bytes: int) -> bytes:
        bounds = bounds_of(limit_bytes, self._limits.download_deadline_s)
        what = f"GET {path}"
        way = Redirections(
            api_url=self._sender.api_url, what=what, ask=lambda url, headers: self._fetch(url, headers, bounds)
        )

        def send(request: Request) -> Reply | Lost:
            first, headers = self._send(request, bounds)
            return way.follow(self._sender.api_url + path, first, headers)

        content = self._ask(Request(verb="GET", path=path), lambda reply: reply.body, send=send)
        if len(content) > limit_bytes:
            raise GithubAnswerError(f"{what}: got a file of {len(content)} bytes; wanted at most {limit_bytes}")
        return content

    def close(self) -> None:
        """Close connections that lie idle."""
        self._sender.connection.close()

    def _ask(
        self,
        request: Request,
        read: Callable[[Reply], Value | Lost],
        *,
        fine: tuple[int, ...] = (),
        send: Callable[[Request], Reply | Lost] | None = None,
    ) -> Value:
        """Send until there is a value or an error.

        Args:
            request: what to send.
            read: makes the value of an answer that is a success.
            fine: statuses that are as good as one.
            send: sends it once; None: as it is.
        """
        _check_path(request.path)
        for attempt in itertools.count():
            started_s = self._clock.monotonic_s()
            outcome = send(request) if send else self._send(request, self._bounds_of(request))[0]
            if isinstance(outcome, Reply) and (200 <= outcome.status < 300 or outcome.status in fine):
                value = read(outcome)
                if not isinstance(value, Lost):
                    return value
                outcome = value
            self._patience.charge(self._clock.monotonic_s() - started_s)
            wait_s, why = self._wait_of(request, outcome, attempt)
            if not self._patience.wait(wait_s):
                raise self._unreachable(request, why, attempt + 1, wait_s)
        raise InternalError("counting ended")

    def _wait_of(self, request: Request, outcome: Reply | Lost, attempt: int) -> tuple[float, str]:
        """How long to wait before it is sent again, and why; raises if it may not be."""
        what = f"{request.verb} {self._redaction.one_line(request.path)}"
        if isinstance(outcome, Lost):
            if outcome.kind is Loss.UNTRUSTED:
                raise _untrusted(what, outcome.reason)
            if request.once and outcome.kind is not Loss.UNSENT:
                raise _ambiguous(request.verb, request.path, outcome.reason)
            if outcome.kind is Loss.UNREADABLE:
                raise GithubAnswerError(f"{what}: got {outcome.reason}; wanted an answer that can be read")
            return self._patience.growing_s(attempt), outcome.reason
        if is_limit(outcome):
            return self._patience.limit_s(outcome, attempt), f"HTTP {outcome.status}, too many requests"
        if outcome.status < 500 and outcome.status != 408:
            raise refusal(request.verb, request.path, outcome, self._redaction)
        if request.once:
            raise _ambiguous(request.verb, request.path, f"HTTP {outcome.status}")
        return self._patience.growing_s(attempt), f"HTTP {outcome.status}"

    def _unreachable(self, request: Request, why: str, tries: int, wait_s: float) -> GithubUnreachableError:
        patience = self._patience
        return GithubUnreachableError(
            f"{request.verb} {self._redaction.one_line(request.path)}: got {self._redaction.one_line(why)} after "
            f"{tries} {'try' if tries == 1 else 'tries'}, and would have to wait {wait_s:.0f} s; wanted an answer "
            f"with {max(0.0, patience.budget_s - patience.spent_s):.0f} of {patience.budget_s:.0f} s for waiting left",
            next_step="run the job again later; outages are told of at githubstatus.com, limits call for fewer jobs at "
            f"once; where no request ever gets through, correct `GITHUB_API_URL`, {self._sender.api_url}",
        )

    def _bounds_of(self, request: Request) -> Bounds:
        limits = self._limits
        return Bounds(deadline_s=limits.deadline_s, limit_bytes=limits.answer_bytes, fresh=request.once)

    def _send(self, request: Request, bounds: Bounds) -> tuple[Reply | Lost, Mapping[str, str]]:
        self.calls += 1
        return self._sender.send(request.verb, request.path, request.parameters, request.body, bounds)

    def _fetch(self, url: str, headers: Mapping[str, str], bounds: Bounds) -> Reply | Lost:
        self.calls += 1
        return self._sender.connection.exchange("GET", url, headers, None, bounds)


def open_client(
    *,
    api_url: str,
    token: str,
    clock: Clock | None = None,
    budget_s: float = BUDGET_S,
    limits: Limits | None = None,
    ca_bundle: str = "",
) -> Client:
    """A client of one job.

    Args:
        api_url: address of the interface, as GITHUB_API_URL holds it.
        token: of the job; shown in no text, error or log.
        clock: time and chance; None: the computer's.
        budget_s: for all its waits and failed tries together.
        limits: of one request; None: the usual ones.
        ca_bundle: file of certificates to believe where REQUESTS_CA_BUNDLE names none, e.g. what SSL_CERT_FILE names.

    Raises:
        UsageError: `api_url`, `token` or the file of certificates cannot be used.
    """
    connection = Connection(ca_bundle)
    sender = Sender(api_url=api_url, token=token, connection=connection)
    connection.check_certificates(sender.api_url)
    return Client(
        sender=sender,
        clock=clock or SystemClock(),
        budget_s=budget_s,
        limits=limits or Limits(),
        redaction=Redaction(token),
    )


def _check_path(path: str) -> None:
    if not _PATH.fullmatch(path) or _CLIMBING.search(path):
        raise InternalError(f"{path[:200]!r} is no path of the interface; wanted `/` and quoted names")


def _ambiguous(verb: str, path: str, why: str) -> GithubAmbiguousError:
    return GithubAmbiguousError(
        f"{verb} {path}: sent once, got {why}, so nobody can tell whether it was obeyed; wanted a clear answer",
        next_step="run the job again: it looks for what is there before it creates anything",
    )


def _untrusted(what: str, reason: str) -> GithubUnreachableError:
    return GithubUnreachableError(
        f"{what}: got no safe connection: {reason}; wanted one that is signed by an authority that is",
        next_step="set REQUESTS_CA_BUNDLE to the file of your server's certificate authority",
    )
