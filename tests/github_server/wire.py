"""HTTP on 127.0.0.1: whole answers, and every way in which an answer can fail to be whole.

Decides nothing about GitHub. Each connection has a thread; all of them have ended when `close` returns.
"""

from __future__ import annotations

import enum
import socket
import ssl
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import responses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Manner(enum.Enum):
    """How an answer is sent."""

    WHOLE = enum.auto()
    RESET = enum.auto()
    """Not at all: the connection is reset."""

    TRUNCATED = enum.auto()
    """Its headers promise more than comes before the connection ends."""

    DRIBBLE = enum.auto()
    """Byte by byte."""

    ENDLESS = enum.auto()
    """Spaces without end behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case."""

    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """An answer as it is to be sent."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    manner: Manner = Manner.WHOLE
    every_s: float = 0.0
    """Between two bytes of DRIBBLE, two kilobytes of ENDLESS."""


class Wire(ThreadingHTTPServer):
    """A server on a port of its own."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, respond: Callable[[Arrival], Departure], certificate: tuple[Path, Path] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.closing = threading.Event()
        self.mishaps: list[str] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.scheme = "http" if certificate is None else "https"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        # Five milliseconds: what ending one takes at most.
        self._thread = threading.Thread(target=self.serve_forever, args=(0.005,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    @property
    def connections(self) -> int:
        """Those that are open."""
        return len(self._open)

    def close(self) -> None:
        """End every connection and wait for its thread."""
        self.closing.set()
        self.shutdown()
        self._thread.join()
        with self._lock:
            for one in self._open:
                end(one)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """As usual, remembered."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """As usual, forgotten."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - of the standard library
        """Someone who hangs up, or does not trust a certificate, is no mishap; everything else is told at the end."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.mishaps.append(traceback.format_exc())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Wire

    def serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        arrival = Arrival(
            method=self.command,
            target=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length) if length else b"",
        )
        self._send(self.server.respond(arrival))

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = serve  # noqa: N815 - so the standard library finds them

    def log_message(self, format: str, *args: Any) -> None:
        """The log is elsewhere."""

    def _send(self, one: Departure) -> None:
        self.close_connection = self.close_connection or one.manner is not Manner.WHOLE
        if one.manner is Manner.RESET:
            reset(self.connection)
        elif one.manner is Manner.WHOLE:
            self.wfile.write(self._head(one, len(one.content)) + one.content)
        elif one.manner is Manner.TRUNCATED:
            self.wfile.write(self._head(one, len(one.content) + 7) + one.content)
        elif one.manner is Manner.DRIBBLE:
            self.wfile.write(self._head(one, len(one.content)))
            self._slowly(one, (one.content[i : i + 1] for i in range(len(one.content))))
        else:
            self.wfile.write(self._head(one, None) + one.content)
            self._slowly(one, iter(lambda: b" " * 1024, b""))

    def _slowly(self, one: Departure, pieces: Any) -> None:
        for piece in pieces:
            self.wfile.write(piece)
            if self.server.closing.wait(one.every_s):
                return

    def _head(self, one: Departure, length: int | None) -> bytes:
        lines = [f"HTTP/1.1 {one.status} {responses.get(one.status, '')}", f"Date: {self.date_time_string()}"]
        lines += [f"{name}: {value}" for name, value in one.headers.items()]
        if length is None:
            lines.append("Connection: close")
        elif one.status != 204:
            lines.append(f"Content-Length: {length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def end(connection: socket.socket) -> None:
    """Wake whoever waits for it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # It was ended already.


def reset(connection: socket.socket) -> None:
    """End it so that the other side sees an error, not an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
