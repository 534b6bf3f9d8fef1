"""Lines to and from a worker over two non-blocking pipes.

Decides how bytes become lines. Deliberately knows nothing of what they say, nor of deadlines beyond one wait.
"""

from __future__ import annotations

import os
import select
from typing import final

from opsdebug_ci.errors import WorkerError

LINE_LIMIT = 256 * 1024 * 1024
"""Bytes of one reply; a million catalogue entries stay far below, a runaway worker does not fill our memory."""

CHUNK = 1024 * 1024
"""Bytes per read: the largest capacity a pipe may have without privileges (pipe(7))."""


@final
class Channel:
    """Our ends of a worker's pipes. It does not own them."""

    def __init__(self, request_fd: int, reply_fd: int) -> None:
        self._request_fd = request_fd
        self._reply_fd = reply_fd
        self._outgoing = b""
        self._incoming = bytearray()
        self._scanned = 0
        self.ended = False
        """No more replies can come."""

    def send(self, line: str) -> None:
        """Queue one line; `exchange` writes it."""
        self._outgoing += line.encode() + b"\n"

    def next_line(self) -> bytes | None:
        """The next complete line without its end, or None when there is none yet."""
        end = self._incoming.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._incoming)
            return None
        line = bytes(self._incoming[:end])
        del self._incoming[: end + 1]
        self._scanned = 0
        return line

    def exchange(self, timeout_s: float) -> bool:
        """Wait for either pipe, at most `timeout_s`, and move what can be moved. True when anything was read.

        Raises:
            WorkerError: the worker sends a line longer than LINE_LIMIT.
        """
        poller = select.poll()
        poller.register(self._reply_fd, select.POLLIN)
        if self._outgoing:
            poller.register(self._request_fd, select.POLLOUT)
        ready = {fd for fd, _ in poller.poll(max(0.0, timeout_s) * 1000)}
        if self._request_fd in ready:
            self._write()
        return self._reply_fd in ready and self._read()

    def _write(self) -> None:
        try:
            written = os.write(self._request_fd, self._outgoing)
        except BlockingIOError:
            return
        except BrokenPipeError:  # nobody reads any more; the end of the reply pipe tells the rest
            written = len(self._outgoing)
        self._outgoing = self._outgoing[written:]

    def _read(self) -> bool:
        try:
            chunk = os.read(self._reply_fd, CHUNK)
        except BlockingIOError:
            return False
        self.ended = not chunk
        self._incoming += chunk
        if len(self._incoming) > LINE_LIMIT and self._incoming.find(b"\n", self._scanned) < 0:
            raise WorkerError(f"the worker sent {len(self._incoming)} bytes without an end of line; limit {LINE_LIMIT}")
        return bool(chunk)
