"""The fake GitHub: a server on 127.0.0.1 that remembers, refuses and fails as GitHub does, under a referee's eyes.

Decides the order in which a request is treated. Deliberately no `git`, no GraphQL, no pages for people.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from github_server.answers import Answer, Refusal, error, not_found
from github_server.calls import Call
from github_server.documents import Documents
from github_server.faults import Effect, Fault
from github_server.holdings import Holdings
from github_server.records import Artifact, Repository, Token
from github_server.referee import Exchange, Referee, Violation
from github_server.repository_operations import RATE_LIMIT
from github_server.routes import admit, authenticate, find_route
from github_server.seeding import Seeding
from github_server.state import State
from github_server.storage import Storage
from github_server.traffic import Gate, Request, Watch, json_or_text
from github_server.wire import Arrival, Departure, Manner, Wire


class GithubServer(Seeding, Holdings):
    """`with GithubServer() as server:` and `server.url` is what GITHUB_API_URL says.

    Leaving the block raises AssertionError for every violation of GitHub's description, unless the test has looked at
    them with `take_violations`, and for every fault of the fake itself.
    """

    def __init__(
        self,
        prefix: str = "",
        *,
        certificate: tuple[Path, Path] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Args:
        prefix: before every path; `/api/v3` is the form of GitHub Enterprise.
        certificate: files of a certificate and its key, for https.
        clock: seconds since 1970.
        """
        super().__init__(State(clock))
        self.prefix = prefix
        self.artifact_location: Callable[[Artifact], str] | None = None
        """Where GitHub says an archive lies, when a test wants another place than the storage."""

        self._referee = Referee()
        self._faults: list[Fault] = []
        self._gates: list[Gate | Watch] = []
        self._log: list[Request] = []
        self._violations: list[Violation] = []
        self._lock = threading.Lock()
        self.storage = Storage(self.state, certificate)
        self.wire = Wire(self._respond, certificate)
        self._documents = Documents(state=self.state, api=self.url, html=self.html)

    @property
    def url(self) -> str:
        """GITHUB_API_URL."""
        return self.wire.address + self.prefix

    @property
    def html(self) -> str:
        """GITHUB_SERVER_URL."""
        return self.wire.address

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far, in the order in which they were answered."""
        with self._lock:
            return tuple(self._log)

    def asked(self, method: str, pattern: str = "**") -> tuple[Request, ...]:
        """Those with this method and path, as in `fail`."""
        return tuple(one for one in self.requests if one.is_of(method, pattern))

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Everything so far that is not as GitHub's description says."""
        with self._lock:
            return tuple(self._violations)

    def take_violations(self) -> tuple[Violation, ...]:
        """The same, and forget them: for tests that plant some."""
        with self._lock:
            taken = tuple(self._violations)
            self._violations.clear()
            return taken

    def fail(self, method: str, pattern: str, effect: Effect, *, first: int = 1, count: int = 1) -> Fault:
        """Script what goes wrong with the `first` to `first + count - 1`-th request from now on that matches.

        In `pattern`, `*` is one segment and `**` any number. Of several faults the one scripted first happens.
        """
        fault = Fault(method=method, pattern=pattern, effect=effect, first=first, count=count)
        with self._lock:
            self._faults.append(fault)
        return fault

    def script(self, method: str, pattern: str, *effects: Effect | None) -> None:
        """What goes wrong with the next requests that match, one after the other; None: nothing."""
        for index, effect in enumerate(effects, start=1):
            if effect is not None:
                self.fail(method, pattern, effect, first=index)

    def barrier(self, method: str, pattern: str, parties: int, timeout_s: float = 5.0) -> Gate:
        """Hold requests of one kind until `parties` of them have come, once."""
        gate = Gate(method, pattern, parties, timeout_s)
        with self._lock:
            self._gates.append(gate)
        return gate

    def before(self, method: str, pattern: str, happens: Callable[[], None]) -> None:
        """What happens whenever a request of one kind has come, before it is treated."""
        with self._lock:
            self._gates.append(Watch(method, pattern, happens))

    def __enter__(self) -> GithubServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        for gate in self._gates:
            gate.open()
        self.wire.close()
        self.storage.wire.close()
        wrong = [*map(str, self.violations), *self.wire.mishaps, *self.storage.wire.mishaps]
        if wrong:
            # Also behind another error, which is likely to come from it.
            raise AssertionError("not as GitHub's description says:\n" + "\n".join(wrong)) from raised

    def _respond(self, arrival: Arrival) -> Departure:
        """(1) Read, (2) hold at the gates, (3) find the fault, (4) act, (5) judge, (6) write down, (7) answer."""
        at_s = self.state.clock()
        target = urlsplit(arrival.target)
        path = self._canonical(target.path)
        for gate in tuple(self._gates):
            gate.hold(arrival.method, path)
        with self._lock:
            met = [one.effect for one in self._faults if one.meets(arrival.method, path)]
        effect = met[0] if met else Effect(name="")
        self.wire.closing.wait(effect.wait_s)
        answer = self._answered(arrival, path, target.query, effect)
        self.wire.closing.wait(effect.late_s)
        content = (effect.change or (lambda body: body))(answer.content)
        headers = self._headers(arrival, answer)
        self._judge(arrival, path, target.query, answer.status, headers, content, effect.claimed)
        self._write_down(arrival, path, target.query, answer.status, effect, at_s)
        return Departure(
            status=answer.status, headers=headers, content=content, manner=effect.manner, every_s=effect.every_s
        )

    def _canonical(self, path: str) -> str:
        """Without the prefix, and with a repository's name for its number."""
        if not path.startswith(f"{self.prefix}/"):
            return f"/outside-the-prefix{path}"
        parts = path.removeprefix(self.prefix).split("/")
        if parts[1] == "repositories" and len(parts) > 2 and parts[2].isdecimal():
            with self.state.lock:
                found = self.state.repository_by_id(int(parts[2]))
            if found is not None:
                return "/".join(["", "repos", found.full_name, *parts[3:]])
        return path.removeprefix(self.prefix)

    def _answered(self, arrival: Arrival, path: str, query: str, effect: Effect) -> Answer:
        real = self._acted(arrival, path, query) if effect.acts else None
        if effect.answer is not None:
            return effect.answer(self.state.clock())
        return real or Answer(status=500, empty=True)

    def _acted(self, arrival: Arrival, path: str, query: str) -> Answer:
        with self.state.lock:
            try:
                token = authenticate(self.state, arrival.headers.get("authorization"))
                return self._routed(arrival, path, query, token)
            except Refusal as refusal:
                return refusal.answer

    def _routed(self, arrival: Arrival, path: str, query: str, token: Token | None) -> Answer:
        found = find_route(arrival.method, path)
        if found is None:
            raise Refusal(not_found())
        route, places = found
        values = {name: unquote(text) for name, text in places.items()}
        repository = self._repository(arrival.method, path, query, values)
        admit(self.state, route, repository, token)
        call = Call(
            state=self.state,
            documents=self._documents,
            path=path,
            values=values,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            body=_json_object(arrival.body),
            token=token,
            locate=self.artifact_location or self.storage.address,
        )
        return route.operate(call)

    def _repository(self, method: str, path: str, query: str, values: dict[str, str]) -> Repository | None:
        if "repo" not in values:
            return None
        name = f"{values['owner']}/{values['repo']}"
        moved = self.state.renamed.get(name.lower())
        if moved is not None and self.state.repository(name) is None:
            rest = "".join(f"/{part}" for part in path.split("/")[4:])
            location = f"{self.url}/repositories/{moved}{rest}{'?' + query if query else ''}"
            value = {
                "message": "Moved Permanently",
                "url": location,
                "documentation_url": "https://docs.github.com/rest",
            }
            raise Refusal(Answer(status=301 if method == "GET" else 307, value=value, headers={"Location": location}))
        return self.state.repository(name)

    def _headers(self, arrival: Arrival, answer: Answer) -> dict[str, str]:
        text = arrival.headers.get("authorization", "").partition(" ")[2]
        with self.state.lock:
            used = min(self.state.used.get(text, 0), RATE_LIMIT)
        return {
            "Server": "github.com",
            **({} if answer.empty else {"Content-Type": "application/json; charset=utf-8"}),
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Request-Id": f"{len(self._log):04X}:FAKE:{int(self.state.clock()):X}",
            "X-RateLimit-Limit": str(RATE_LIMIT),
            "X-RateLimit-Remaining": str(RATE_LIMIT - used),
            "X-RateLimit-Used": str(used),
            "X-RateLimit-Reset": str(int(self.state.clock()) + 3600),
            "X-RateLimit-Resource": "core",
            **answer.headers,
        }

    def _judge(
        self,
        arrival: Arrival,
        path: str,
        query: str,
        status: int,
        headers: dict[str, str],
        content: bytes,
        claimed: bool,
    ) -> None:
        exchange = Exchange(
            method=arrival.method,
            path=path,
            query=query,
            body=arrival.body,
            status=status,
            headers=headers,
            content=content,
            answered=claimed,
        )
        found = self._referee.violations(exchange)
        with self._lock:
            self._violations += found

    def _write_down(self, arrival: Arrival, path: str, query: str, status: int, effect: Effect, at_s: float) -> None:
        text = arrival.headers.get("authorization", "").partition(" ")[2]
        with self.state.lock:
            known = self.state.tokens.get(text)
        request = Request(
            method=arrival.method,
            path=path,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            headers={name: value for name, value in arrival.headers.items() if name != "authorization"},
            token=known.name if known else "unknown" if text else "",
            body=json_or_text(arrival.body),
            status=0 if effect.manner is Manner.RESET else status,
            fault=effect.name,
            at_s=at_s,
        )
        with self._lock:
            self._log.append(request)


def _json_object(body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    try:
        value = json.loads(body)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except ValueError:
        raise Refusal(error(400, "Problems parsing JSON")) from None
    if not isinstance(value, dict):
        raise Refusal(error(400, "Body should be a JSON object"))
    return value
