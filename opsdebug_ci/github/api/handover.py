"""How PyGithub's requests go over our connection.

PyGithub makes the request: address, query, authentication, JSON. It is handed a connection of ours for each, sends
through it, and is shown an empty answer; the true one is kept here. Read by PyGithub, an answer 202 would make it sleep
and ask again, a 301 would make it send again wherever the server says, POST included, a 5xx would be tried again by the
library below, and a body has neither a size nor an end.

Deliberately uses `Requester` itself, the one part of PyGithub that sends; its objects would send more by themselves.
"""

from __future__ import annotations

from collections.abc import ItemsView, Mapping
from typing import cast, final
from urllib.parse import urlsplit

import requests
from github.Auth import Token
from github.Requester import HTTPRequestsConnectionClass, Requester

from opsdebug_ci import __version__
from opsdebug_ci.errors import InternalError, UsageError
from opsdebug_ci.github.api.connection import Bounds, Connection, Lost, Reply

HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
"""The format and the version of the interface whose answers `records` describes."""


@final
class BlankAnswer:
    """What PyGithub is shown."""

    status = 200

    def getheaders(self) -> ItemsView[str, str]:
        """None."""
        return dict[str, str]().items()

    def read(self) -> str:
        """Nothing."""
        return ""


@final
class Handover:
    """A connection in PyGithub's sense, for one request."""

    def __init__(self, connection: Connection, origin: str, bounds: Bounds) -> None:
        """
        Args:
            connection: over which it goes.
            origin: scheme, host and port, e.g. `https://host:443`; nothing PyGithub says leads elsewhere.
            bounds: what it may cost.
        """
        self._connection = connection
        self._origin = origin
        self._bounds = bounds
        self.outcome: Reply | Lost | None = None
        self.headers: dict[str, str] = {}

    def request(self, verb: str, url: str, body: str | None, headers: dict[str, str], stream: bool = False) -> None:
        """Send it; called by PyGithub, which passes everything by position."""
        if stream or self.outcome is not None:
            raise InternalError(f"PyGithub sends {verb} {url} twice or as a stream; wanted once and whole")
        self.headers = headers
        encoded = body.encode() if body is not None else None
        self.outcome = self._connection.exchange(verb, self._origin + url, headers, encoded, self._bounds)

    def getresponse(self) -> BlankAnswer:
        """Called by PyGithub."""
        return BlankAnswer()

    def close(self) -> None:
        """Called by PyGithub; the connection is not its own."""


@final
class Sender:
    """Makes requests by PyGithub and sends them by us."""

    def __init__(self, *, api_url: str, token: str, connection: Connection) -> None:
        """
        Raises:
            UsageError: `api_url` or `token` cannot be used.
        """
        self.api_url = _checked_address(api_url)
        self.connection = connection
        place = urlsplit(self.api_url)
        self._origin = f"{place.scheme}://{place.netloc}"
        self._requester = Requester(
            auth=Token(_checked_token(token)),
            base_url=self.api_url,
            timeout=1,  # of PyGithub's own connection, which is never made
            user_agent=f"opsdebug-ci/{__version__}",
            per_page=100,
            verify=True,
            retry=None,
            pool_size=None,
        )

    def send(
        self,
        verb: str,
        path: str,
        parameters: Mapping[str, str | int] | None,
        body: Mapping[str, object] | None,
        bounds: Bounds,
    ) -> tuple[Reply | Lost, Mapping[str, str]]:
        """What became of it, and the headers it was sent with."""
        handover = Handover(self.connection, self._origin, bounds)
        self._requester.requestJson(
            verb,
            path,
            dict(parameters or {}),
            dict(HEADERS),
            None if body is None else dict(body),
            cast(HTTPRequestsConnectionClass, handover),
        )
        if handover.outcome is None:
            raise InternalError(f"PyGithub did not send {verb} {path}")
        return handover.outcome, handover.headers


def _checked_address(api_url: str) -> str:
    wanted = "wanted an address as GITHUB_API_URL holds it, e.g. https://HOST/api/v3"
    try:
        place = urlsplit(api_url)
        host, _ = place.hostname, place.port
        if place.scheme in ("https", "http"):
            requests.Request("GET", api_url).prepare()
    except ValueError as error:
        raise UsageError(f"`api_url` is no address ({error}); {wanted}") from None
    if place.scheme not in ("https", "http") or not host or "@" in place.netloc or place.query or place.fragment:
        raise UsageError(
            f"`api_url` has scheme {place.scheme!r} and host {host!r}; {wanted}, without password or query"
        )
    return api_url.rstrip("/")


def _checked_token(token: str) -> str:
    """NOTE: never quoted, in whatever form it came."""
    if not token or not all("!" <= character <= "~" for character in token):
        state = "has blanks or characters beyond ASCII" if token else "is empty"
        raise UsageError(
            f"`token` {state}; wanted a token of GitHub's",
            next_step="pass `${{ github.token }}`, or a secret without the line end after it",
        )
    return token
