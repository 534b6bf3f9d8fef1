"""A server that answers, byte by byte, what a test tells it to, and remembers what it was sent; and a clock with it.

For what a server that behaves like GitHub never does: answers cut short, endless ones, resets. The script is in the
order in which requests arrive; a request beyond its end is answered 418, which no client of ours tries again.
"""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from opsdebug_ci.github.api.client import Client, Limits, open_client

TOKEN = "ghp_CanaryOfTheTests0123456789"

Step = Callable[[socket.socket, threading.Event], bool]
"""Answers on a connection; True: it stays open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A request that arrived whole."""

    verb: str
    target: str
    headers: dict[str, str]
    body: bytes
    peer: int

    @property
    def line(self) -> str:
        return f"{self.verb} {self.target}"


@dataclass(slots=True)
class Clock:
    """Time that passes only by sleeping."""

    time_s: float = 0.0
    chance: float = 0.0
    sleeps: list[float] = field(default_factory=list)

    def monotonic_s(self) -> float:
        return self.time_s

    def now_s(self) -> float:
        return 1_000_000.0 + self.time_s

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time_s += seconds

    def jitter(self) -> float:
        return self.chance


class ScriptedGithub:
    """The server."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.script: list[Step] = []
        self.seen: list[Seen] = []
        self.stopped = threading.Event()
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):
                    outer._serve(self.request if tls is None else tls.wrap_socket(self.request, server_side=True))

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}/api/v3"

    @property
    def lines(self) -> list[str]:
        """What was asked for, in order."""
        return [one.line for one in self.seen]

    def _serve(self, connection: socket.socket) -> None:
        peer = int(connection.getpeername()[1])
        with connection, connection.makefile("rb") as stream:
            while (first := stream.readline().decode("latin-1").split()) and not self.stopped.is_set():
                headers = {}
                while line := stream.readline().decode("latin-1").strip():
                    name, _, value = line.partition(":")
                    headers[name.lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", "0")))
                self.seen.append(Seen(verb=first[0], target=first[1], headers=headers, body=body, peer=peer))
                step = self.script.pop(0) if self.script else answer(418, {"message": "the script has ended"})
                if not step(connection, self.stopped):
                    return

    def __enter__(self) -> ScriptedGithub:
        threading.Thread(target=lambda: self._server.serve_forever(poll_interval=0.01), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def scripted(*script: Step, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedGithub]:
    """A server with a script, of which nothing may be left at the end."""
    with ScriptedGithub(tls) as server:
        server.script.extend(script)
        yield server
        assert server.script == [], f"{len(server.script)} answers were never asked for; asked: {server.lines}"


def client_of(
    server: ScriptedGithub, clock: Clock | None = None, *, budget_s: float = 300.0, **limits: float
) -> Client:
    """A client of it, whose waits cost nothing."""
    bounds = Limits(**{"deadline_s": 5.0, "download_deadline_s": 5.0, **limits})  # type: ignore[arg-type]
    return open_client(api_url=server.url, token=TOKEN, clock=clock or Clock(), budget_s=budget_s, limits=bounds)


def answer(status: int, value: object = None, *, body: bytes | None = None, keep: bool = True, **headers: str) -> Step:
    """A whole answer: `value` as JSON, or `body` as it is. Names of headers have `_` for `-`."""
    content = json.dumps(value).encode() if body is None else body
    named = {"content-length": str(len(content)), **{name.replace("_", "-"): text for name, text in headers.items()}}
    head = "".join(f"{name}: {text}\r\n" for name, text in named.items())
    return raw(f"HTTP/1.1 {status} Reason\r\n{head}\r\n".encode("latin-1") + content, keep=keep)


def raw(data: bytes, *, keep: bool = False) -> Step:
    """Exactly these bytes."""

    def step(connection: socket.socket, _: threading.Event) -> bool:
        connection.sendall(data)
        return keep

    return step


def cut(status: int, value: object, missing: int = 3) -> Step:
    """An answer that lacks its last bytes."""
    content = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} Reason\r\ncontent-length: {len(content)}\r\n\r\n".encode()
    return raw(head + content[:-missing])


def reset(before: bytes = b"") -> Step:
    """Some bytes, then a reset."""

    def step(connection: socket.socket, _: threading.Event) -> bool:
        if before:
            connection.sendall(before)
            time.sleep(0.02)  # a reset overtakes what was sent just before it
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    return step


def dribble(head: bytes, drop: bytes = b" ", every_s: float = 0.02) -> Step:
    """A beginning, then one drop after the other without end."""

    def step(connection: socket.socket, stopped: threading.Event) -> bool:
        connection.sendall(head)
        while not stopped.wait(every_s):
            connection.sendall(drop)
        return False

    return step


def silence() -> Step:
    """No answer, and the connection stays open."""

    def step(_: socket.socket, stopped: threading.Event) -> bool:
        stopped.wait(30)
        return False

    return step
