"""What was asked and answered, and requests that wait for each other.

Decides what a test may look at: never the text of a token, only its name.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from github_server.faults import path_pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request and what became of it."""

    method: str
    path: str
    """Without the prefix and with the repository's name, also where it was asked for by number."""

    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case, without `authorization`."""

    token: str
    """Name of the token; empty: none; `unknown`: one that was never given."""

    body: Any
    """Its JSON; None: no body; a string, where it is no JSON."""

    status: int
    """Answered; 0: nothing."""

    fault: str
    """Name of the effect it met; empty: none."""

    at_s: float
    """When it came, by the server's clock."""

    def is_of(self, method: str, pattern: str) -> bool:
        """Whether method and path match, as in a fault."""
        return method in ("*", self.method) and path_pattern(pattern).fullmatch(self.path) is not None


class Gate:
    """Holds requests until so many of one kind are there; afterwards, and after the time, it is open."""

    def __init__(self, method: str, pattern: str, parties: int, timeout_s: float) -> None:
        self.method = method
        self.pattern = pattern
        self.parties = parties
        self.timeout_s = timeout_s
        self.arrived = 0
        self._open = threading.Event()
        self._lock = threading.Lock()

    @property
    def met(self) -> bool:
        """Whether all of them were there at one time."""
        return self.arrived >= self.parties

    def hold(self, method: str, path: str) -> None:
        """Wait, if this request is one of them."""
        if self.method not in ("*", method) or not path_pattern(self.pattern).fullmatch(path):
            return
        with self._lock:
            if self._open.is_set():
                return
            self.arrived += 1
            if self.met:
                self._open.set()
        self._open.wait(self.timeout_s)
        self._open.set()

    def open(self) -> None:
        """Hold nobody any more."""
        self._open.set()


class Watch:
    """Does something whenever a request of one kind comes; holds none."""

    def __init__(self, method: str, pattern: str, happens: Callable[[], None]) -> None:
        self.method = method
        self.pattern = pattern
        self.happens = happens

    def hold(self, method: str, path: str) -> None:
        """Do it, if this request is one of them."""
        if self.method in ("*", method) and path_pattern(self.pattern).fullmatch(path):
            self.happens()

    def open(self) -> None:
        """It holds nobody."""


def json_or_text(body: bytes) -> Any:
    """What a body says; None: there is none."""
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
