"""One live worker: a request in, an answer or a death out.

Decides when a worker is dead, hung, out of memory or talking nonsense, and ends it then. Deliberately starts no other
one, and does not say what a death means for a case.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, final

from opsdebug_ci.errors import WorkerError
from opsdebug_ci.execution.channel import Channel
from opsdebug_ci.execution.death import LOG_TAIL, Death, Ending, ended_by_memory_error, signal_name
from opsdebug_ci.execution.last_frames import READ_BYTES, halted_frames, last_frames, log_tail
from opsdebug_ci.execution.launch import WorkerProcess
from opsdebug_ci.execution.memory import oom_kills, resident_bytes
from opsdebug_ci.execution.wire_reader import read_reply
from opsdebug_ci.model.message import Breadcrumb, Request
from opsdebug_ci.model.wire import encode

Answer = TypeVar("Answer")

LOOK_S = 0.05
"""Seconds between two looks at a busy worker's memory, log and pulse; an answer is seen at once."""

TRACEBACK_S = 0.25
"""Seconds between two looks at whether a hung worker has printed where it is; idle, it has long before the first."""

TRACEBACK_LOOKS = 10
"""How often that is looked for: one that gets a tenth of a core has its whole turn then."""

EXIT_S = 2.0
"""What a worker that closed its pipe is given to exit with a status of its own."""

LOG_LIMIT = 16 * 1024 * 1024
"""Bytes a log may hold; an operator that prints for ever must not fill the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watch:
    """What one request may use, and where it began."""

    timeout_s: float
    """Longest it may take, in seconds."""

    deadline: float
    """When that is over, on the client's clock."""

    memory_bytes: int | None
    """Most memory it may add, in bytes; None: no limit."""

    memory_start_bytes: int
    """Memory the worker held when it began, in bytes."""

    oom_kills: int
    """Processes the kernel had killed for memory by then."""


@final
class WorkerClient:
    """Talks to one worker; one thread at a time.

    Args:
        worker: the started process; the client does not release it.
        clock: monotonic seconds.
    """

    def __init__(self, worker: WorkerProcess, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.worker = worker
        self._process = worker.process
        self._clock = clock
        self._channel = Channel(worker.request_fd, worker.reply_fd)

    @property
    def alive(self) -> bool:
        """Whether it can be asked anything."""
        return self._process.poll() is None and not self._channel.ended

    def await_ready(self, timeout_s: float) -> Death | None:
        """Wait until the worker serves; the death it died instead, if it did."""
        ready = self._converse(Breadcrumb, timeout_s)
        return ready if isinstance(ready, Death) else None

    def ask(
        self, request: Request, expected: type[Answer], timeout_s: float, memory_bytes: int | None = None
    ) -> Answer | Death:
        """Send `request` and wait for an `expected`; a worker that does not give one is dead afterwards.

        Args:
            request: what to ask.
            expected: type of the answer.
            timeout_s: how long it may take.
            memory_bytes: what the request may add to the worker's resident memory; None: no limit.
        """
        os.truncate(self.worker.log, 0)
        os.truncate(self.worker.trail, 0)
        self._channel.send(encode(request))
        return self._converse(expected, timeout_s, memory_bytes)

    def _converse(self, expected: type[Answer], timeout_s: float, memory_bytes: int | None = None) -> Answer | Death:
        watch = _Watch(
            timeout_s=timeout_s,
            deadline=self._clock() + timeout_s,
            memory_bytes=memory_bytes,
            memory_start_bytes=resident_bytes(self._process.pid),
            oom_kills=oom_kills(),
        )
        try:
            while True:
                late = self._clock() >= watch.deadline  # asked before the look: what was there by then is in time
                death = self._look(watch)
                if death is not None:
                    return death
                answer = self._next_message(expected)
                if answer is not None:
                    return answer
                if late and self.alive:
                    self._print_traceback()
                    return self._end(Ending.TIMEOUT, f"stopped after {watch.timeout_s:g} s without an answer")
        except WorkerError as nonsense:
            return self._end(Ending.PROTOCOL, f"stopped because {nonsense.message}")

    def _next_message(self, expected: type[Answer]) -> Answer | None:
        """The answer, once its line is complete."""
        line = self._channel.next_line()
        message = None if line is None else read_reply(line)
        if message is None or isinstance(message, expected):
            return message
        raise WorkerError(f"it answered with `{type(message).__name__}`; wanted `{expected.__name__}`")

    def _look(self, watch: _Watch) -> Death | None:
        """Wait for news for one interval; the death, if the worker died or has to."""
        exited = self._process.poll() is not None
        received = self._channel.exchange(0.0 if exited else min(LOOK_S, watch.deadline - self._clock()))
        if exited or self._channel.ended:  # what it sent before it died still counts
            return None if received else self._post_mortem(watch)
        self._limit_log()
        return self._check_memory(watch)

    def _check_memory(self, watch: _Watch) -> Death | None:
        if watch.memory_bytes is None:
            return None
        grown = resident_bytes(self._process.pid) - watch.memory_start_bytes
        if grown <= watch.memory_bytes:
            return None
        how = f"stopped because it took {grown / 1e6:,.0f} MB of at most {watch.memory_bytes / 1e6:,.0f} MB"
        return self._end(Ending.OUT_OF_MEMORY, how)

    def _post_mortem(self, watch: _Watch) -> Death:
        """Read the exit status of a worker that ended by itself, or close to it."""
        try:
            code = self._process.wait(timeout=EXIT_S)
        except subprocess.TimeoutExpired:
            return self._end(Ending.PROTOCOL, "stopped because it closed the pipe it answers on")
        # NOTE: the leader is reaped, but its group keeps its number as long as anything of it lives.
        self.worker.kill()
        log = self._log()
        if ended_by_memory_error(log) or (code == -signal.SIGKILL and oom_kills() > watch.oom_kills):
            return self._death(Ending.OUT_OF_MEMORY, "out of memory", log)
        if code < 0:
            return self._death(Ending.SIGNAL, f"killed by {signal_name(-code)}", log)
        return self._death(Ending.EXIT, f"ended by an exit with status {code}", log)

    def _end(self, ending: Ending, how: str) -> Death:
        self.worker.kill()
        self._process.wait()
        return self._death(ending, how, self._log())

    def _death(self, ending: Ending, how: str, log: str) -> Death:
        code = self._process.returncode
        return Death(
            ending=ending,
            how=how,
            breadcrumb=self._breadcrumb(),
            signal=signal_name(-code) if code < 0 else None,
            exit_code=code if code >= 0 else None,
            log_tail=log_tail(log, LOG_TAIL),
            frames=halted_frames(log) if ending is Ending.TIMEOUT else last_frames(log),
        )

    def _breadcrumb(self) -> Breadcrumb | None:
        """The last whole one of this request; None when there is none, or the operator wrote over it."""
        whole = self.worker.trail.read_bytes().split(b"\n")[:-1]
        with contextlib.suppress(WorkerError):
            message = read_reply(whole[-1]) if whole else None
            return message if isinstance(message, Breadcrumb) else None
        return None

    def _print_traceback(self) -> None:
        """Have the worker write to its log where it hangs (boot.prepare_signals)."""
        said = self.worker.log.stat().st_size
        self._process.send_signal(signal.SIGUSR1)
        for _ in range(TRACEBACK_LOOKS):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=TRACEBACK_S)
            talked = self.worker.log.stat().st_size - said > READ_BYTES  # and where it hangs may be out of sight
            if not self.alive or talked or halted_frames(self._log()):
                return

    def _limit_log(self) -> None:
        if self.worker.log.stat().st_size > LOG_LIMIT:
            os.truncate(self.worker.log, 0)

    def _log(self) -> str:
        """End of what it printed during this request."""
        with self.worker.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - READ_BYTES))
            return log.read().decode(errors="replace")
