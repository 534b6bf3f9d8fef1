"""How a file is fetched to which GitHub redirects.

Decides where a redirection may lead: `https`, or plain `http` only where the interface itself is reached so; no address
of a private or local network written as a number, unless the interface's own address is one; at most MAX_REDIRECTS.
The token goes to the interface's own host and port alone, and only as long as no redirection has led away from it.
Deliberately does not resolve names: who answers for a name is for the network to say, and a certificate proves it.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import final
from urllib.parse import SplitResult, urljoin, urlsplit

from opsdebug_ci.errors import GithubAnswerError
from opsdebug_ci.github.api.connection import Bounds, Loss, Lost, Reply

MAX_REDIRECTS = 5
"""GitHub makes one, to where the file lies; a renamed repository adds one."""

MAX_STORAGE_REFUSALS = 3
"""Signed addresses expire and are made anew by each try; a place that refuses so many of them has no file."""

REDIRECTS = (301, 302, 303, 307, 308)

_PORTS = {"https": 443, "http": 80}

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
"""Names and addresses. Everything else is read in several ways: to some, a raised digit is a digit."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses of IPv4 for networks that have only IPv6 (RFC 6052, 2.1)."""


@final
class Redirections:
    """One file's way, for all tries of it."""

    def __init__(self, *, api_url: str, what: str, ask: Callable[[str, Mapping[str, str]], Reply | Lost]) -> None:
        """
        Args:
            api_url: address of the interface.
            what: the request, for messages.
            ask: sends a GET once to any address, with these headers.
        """
        self._api = urlsplit(api_url)
        self._what = what
        self._ask = ask
        self._refusals = 0

    def follow(self, path_url: str, first: Reply | Lost, headers: Mapping[str, str]) -> Reply | Lost:
        """Where the first answer leads to in the end; itself if it leads nowhere.

        Args:
            path_url: address of the first request.
            first: its answer.
            headers: it was sent with, the token's among them.

        Raises:
            GithubAnswerError: a redirection leads where no file of GitHub's is, or there are too many.
        """
        url, answer = path_url, first
        for _ in range(MAX_REDIRECTS + 1):
            if isinstance(answer, Lost) or answer.status not in REDIRECTS:
                return answer if url == path_url else self._stored(answer, urlsplit(url))
            url, place = self._next(url, answer.headers.get("location", ""))
            if not self._is_ours(place):
                headers = _without_token(headers)  # from here on: a way that left us is not trusted to lead back
            answer = self._ask(url, headers)
        raise GithubAnswerError(f"{self._what}: got more than {MAX_REDIRECTS} redirections; wanted a file")

    def _stored(self, answer: Reply | Lost, place: SplitResult) -> Reply | Lost:
        """What a place that a signed address leads to says: its refusals are no refusals of GitHub's."""
        if isinstance(answer, Lost) or answer.status < 400 or self._is_ours(place):
            return answer
        if answer.status < 500:
            self._refusals += 1
        if self._refusals >= MAX_STORAGE_REFUSALS:
            raise GithubAnswerError(
                f"{self._what}: got HTTP {answer.status} from {place.hostname!r}, {self._refusals} times; "
                "wanted the file GitHub redirected to"
            )
        return Lost(kind=Loss.OPEN, reason=f"HTTP {answer.status} from where the file lies")

    def _next(self, url: str, location: str) -> tuple[str, SplitResult]:
        """Where a redirection leads. NOTE: messages name the host alone: the rest of a signed address is a password."""
        try:
            place = urlsplit(urljoin(url, location))
            host, _ = place.hostname or "", place.port
        except ValueError:
            raise GithubAnswerError(f"{self._what}: got a redirection to what is no address; wanted a file") from None
        schemes = ("https",) if self._api.scheme == "https" else ("https", "http")
        if place.scheme not in schemes or not _HOST.fullmatch(host) or "@" in place.netloc:
            raise GithubAnswerError(
                f"{self._what}: got a redirection to scheme {place.scheme[:20]!r} and host {host[:100]!r}; "
                f"wanted {' or '.join(schemes)} and a host in ASCII, without a user"
            )
        if is_inner(host) and not is_inner(self._api.hostname or ""):
            raise GithubAnswerError(
                f"{self._what}: got a redirection to {host[:100]!r}, which is within this network; "
                "wanted where a file of GitHub's lies"
            )
        return place.geturl(), place  # as it was looked at, so that nobody below reads it in another way

    def _is_ours(self, place: SplitResult) -> bool:
        return _origin(place) == _origin(self._api)


def is_inner(host: str) -> bool:
    """Whether a host is written as an address that is not one of the public internet, in any spelling that the system's
    look-up takes (`127.1`, `0x7f000001`, `2130706433`), or is this machine by name."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return not address.is_global or address.is_multicast or (inner is not None and not inner.is_global)
    return address is not None and (not address.is_global or address.is_multicast)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with suppress(ValueError):
        return ipaddress.ip_address(name.split("%", maxsplit=1)[0])
    with suppress(OSError, ValueError):
        return ipaddress.IPv4Address(socket.inet_aton(name))
    return None


def _origin(place: SplitResult) -> tuple[str, str, int | None]:
    return place.scheme, (place.hostname or "").lower(), place.port or _PORTS.get(place.scheme)


def _without_token(headers: Mapping[str, str]) -> dict[str, str]:
    """Only what every server may know of us."""
    return {name: value for name, value in headers.items() if name.lower() == "user-agent"}


def bounds_of(limit_bytes: int, deadline_s: float) -> Bounds:
    """What one request of a file may cost: also an answer that says why there is none has to fit."""
    return Bounds(deadline_s=deadline_s, limit_bytes=max(limit_bytes, 2**16))
