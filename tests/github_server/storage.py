"""Where the archives of artifacts lie: another server, behind addresses that are signed and need no token.

Decides that a token sent to it is remembered, and where a test may lead whoever asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from github_server.faults import Effect, Fault
from github_server.records import Artifact
from github_server.state import State
from github_server.wire import Arrival, Departure, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request for an archive."""

    path: str
    authorized: bool
    """It carried an `Authorization` header, which it must not."""


class Storage:
    """Serves the archives that `state` has."""

    def __init__(self, state: State, certificate: tuple[Path, Path] | None) -> None:
        self.visits: list[Visit] = []
        self._state = state
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self.wire = Wire(self._respond, certificate)

    def address(self, artifact: Artifact) -> str:
        """Where an archive lies."""
        return f"{self.wire.address}/actions-results/{artifact.id}.zip?sig=c2lnbmVk&se={int(time.time()) + 600}"

    def fail(self, effect: Effect, pattern: str = "**", *, first: int = 1, count: int = 1) -> Fault:
        """Script a fault, as of the server; `redirected("{self}")` leads to the same address again."""
        fault = Fault(method="GET", pattern=pattern, effect=effect, first=first, count=count)
        with self._lock:
            self._faults.append(fault)
        return fault

    def _respond(self, arrival: Arrival) -> Departure:
        path = urlsplit(arrival.target).path
        with self._lock:
            self.visits.append(Visit(path=path, authorized="authorization" in arrival.headers))
            effect = next((one.effect for one in self._faults if one.meets(arrival.method, path)), None)
        status, headers, content = self._found(path)
        if effect is None:
            return Departure(status=status, headers=headers, content=content)
        self.wire.closing.wait(effect.wait_s + effect.late_s)
        if effect.answer is not None:
            answer = effect.answer(time.time())
            status, content = answer.status, answer.content
            headers = {
                name: text.replace("{self}", self.wire.address + arrival.target)
                for name, text in answer.headers.items()
            }
        change: Callable[[bytes], bytes] = effect.change or (lambda body: body)
        return Departure(
            status=status, headers=headers, content=change(content), manner=effect.manner, every_s=effect.every_s
        )

    def _found(self, path: str) -> tuple[int, dict[str, str], bytes]:
        name = path.removeprefix("/actions-results/").removesuffix(".zip")
        with self._state.lock:
            found = self._state.artifacts.get(int(name)) if name.isdecimal() else None
        if found is None:
            return 404, {"Content-Type": "application/xml"}, b"<Error><Code>BlobNotFound</Code></Error>"
        return 200, {"Content-Type": "application/zip"}, found.content
