"""One request and its answer, within a deadline and a size.

Decides what became of a request: an answer, read to its end, or why there is none, and whether the server may have got
the request. Sends everything exactly once: no library below is left a retry, a redirect or a password of its own.
Deliberately judges no status and knows no token.

The deadline holds for everything at once, the look-up of the name included, which no timeout of a socket bounds; so a
request runs in a thread of its own, and one that does not come back is left behind. There are as many of those as there
are tries at most, each holds no more than the answer it is allowed, and they end with the process.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from dataclasses import dataclass
from pathlib import Path
from typing import final

import requests
import urllib3.exceptions
from requests.adapters import HTTPAdapter

from opsdebug_ci.errors import InternalError, UsageError
from opsdebug_ci.model.vocabulary import Word

CHUNK_BYTES = 2**16
"""Read at a time; a size of memory, nothing depends on it."""

_NEVER_SENT = (
    urllib3.exceptions.NewConnectionError,  # refused, no route, and in its subclass: no such name
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.ProxyError,  # raised only before the way through the proxy is open
)


_WORDS = (
    (http.client.IncompleteRead, "an answer that ends too early"),
    (http.client.RemoteDisconnected, "a connection closed without an answer"),
    (TimeoutError, "no answer in time"),
)
"""What exceptions mean that bring no words of the system's."""


class Loss(Word):
    """Why there is no answer."""

    UNSENT = "unsent"
    """There was no connection, so the server has not got the request."""

    OPEN = "open"
    """The server may have got the request, and may have obeyed it."""

    UNTRUSTED = "untrusted"
    """The server's certificate is not believed; trying again changes nothing."""

    UNREADABLE = "unreadable"
    """There is an answer, but more of it than is read, or in an encoding nobody asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A request without an answer."""

    kind: Loss
    """What that says about the request."""

    reason: str
    """In a few words, without address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer, read to its end."""

    status: int
    """HTTP status."""

    headers: Mapping[str, str]
    """Names in lower case."""

    body: bytes
    """As it came; no encoding was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one request may cost, and on what it goes."""

    deadline_s: float
    """From the first step to the last byte; above 0."""

    limit_bytes: int
    """Of the body."""

    fresh: bool = False
    """It goes over a connection of its own. One that lay idle may be closed by the server at that very moment, and then
    nobody can tell whether the request was obeyed: harmless only where it may be sent again."""


@final
class Connection:
    """Sends requests, one after the other."""

    def __init__(self, ca_bundle: str = "") -> None:
        """
        Args:
            ca_bundle: file of certificates to believe where REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE name none; empty:
                those that `requests` brings along.
        """
        self._ca_bundle = ca_bundle
        self._session = self._new_session()

    def exchange(
        self, verb: str, url: str, headers: Mapping[str, str], body: bytes | None, bounds: Bounds
    ) -> Reply | Lost:
        """Send it once and wait for the whole answer."""
        session = self._new_session() if bounds.fresh else self._session
        outcome: Future[Reply | Lost] = Future()

        def run() -> None:
            try:
                outcome.set_result(_exchanged(session, verb, url, headers, body, bounds))
            finally:
                if not outcome.done():
                    outcome.set_exception(InternalError("a request ended without an outcome"))
                if session is not self._session:
                    session.close()

        threading.Thread(target=run, name="opsdebug-github", daemon=True).start()
        try:
            return outcome.result(timeout=bounds.deadline_s)
        except NotDone:
            self._session = self._new_session()
            return Lost(kind=Loss.OPEN, reason=f"no whole answer within {bounds.deadline_s:g} s")

    def check_certificates(self, url: str) -> None:
        """Look whether the file of certificates that would be believed of `url` is there.

        Raises:
            UsageError: it is not.
        """
        settings = self._session.merge_environment_settings(url, {}, True, None, None)
        bundle = settings["verify"]
        if isinstance(bundle, str) and not Path(bundle).exists():
            raise UsageError(
                f"{bundle!r} is not there; wanted a file of certificates",
                next_step="correct REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE, or unset it",
            )

    def close(self) -> None:
        """Close what lies idle."""
        self._session.close()

    def _new_session(self) -> requests.Session:
        session = requests.Session()
        session.headers.clear()
        session.auth = _unchanged
        if self._ca_bundle:
            session.verify = self._ca_bundle
        for scheme in ("https://", "http://"):
            session.mount(scheme, HTTPAdapter(max_retries=0))
        return session


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps `requests` from looking for a password in ~/.netrc."""
    return request


def _exchanged(
    session: requests.Session,
    verb: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    bounds: Bounds,
) -> Reply | Lost:
    """NOTE: not `session.send`, which reads the whole body of a redirection, however long, also where it follows none,
    and keeps cookies."""
    plain = {**headers, "Accept-Encoding": "identity"}  # so that the limit is one of what arrives and what is kept
    try:
        request = session.prepare_request(requests.Request(verb, url, headers=plain, data=body))
        settings = session.merge_environment_settings(url, {}, True, None, None)
        adapter = session.get_adapter(url)
        with adapter.send(request, timeout=bounds.deadline_s, **settings) as response:
            return _read(response, bounds.limit_bytes)
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        return _loss(error)


def _read(response: requests.Response, limit_bytes: int) -> Reply | Lost:
    """The whole answer; one that ends before it said is an exception of the library's."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        return Lost(kind=Loss.UNREADABLE, reason="an encoding that was not asked for")
    announced = headers.get("content-length", "")
    promised = int(announced) if announced.isascii() and announced.isdigit() else None
    body = bytearray()
    if promised is None or promised <= limit_bytes:
        for piece in response.raw.stream(min(CHUNK_BYTES, limit_bytes + 1), decode_content=False):
            body += piece
            if len(body) > limit_bytes:
                break
    if len(body) > limit_bytes or (promised or 0) > limit_bytes:
        return Lost(kind=Loss.UNREADABLE, reason=f"more than {limit_bytes} bytes")
    return Reply(status=response.status_code, headers=headers, body=bytes(body))


def _loss(error: Exception) -> Lost:
    """What an exception of the libraries says. Its own text is not used: it may hold a signed address."""
    causes = list(_causes(error))
    if isinstance(error, ValueError):  # of the request itself, before there is a connection
        return Lost(kind=Loss.UNREADABLE, reason="an address that is none")
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return Lost(kind=Loss.UNTRUSTED, reason="the server's certificate is not believed")
    kind = Loss.UNSENT if any(isinstance(cause, _NEVER_SENT) for cause in causes) else Loss.OPEN
    words = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    words += [text for known, text in _WORDS if any(isinstance(cause, known) for cause in causes)]
    return Lost(kind=kind, reason=words[0] if words else type(causes[-1]).__name__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and everything it wraps; the libraries put that into arguments, `reason` and `__context__`."""
    seen: set[int] = set()
    pending: list[BaseException] = [error]
    while pending:
        cause = pending.pop(0)
        if id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            wrapped = (*cause.args, getattr(cause, "reason", None), cause.__cause__, cause.__context__)
            pending += [inner for inner in wrapped if isinstance(inner, BaseException)]
