"""The command line as a child process of the action.

Decides how its log reaches the job's: line by line, between `stop-commands` and its end, so that nothing it writes is
read as a command of the runner. A job that is cancelled ends the child first, and the step lives to tell.
"""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from opsdebug_ci.github.outputs import new_delimiter
from opsdebug_ci.github.plain_text import one_line
from opsdebug_ci.github.workflow_commands import resume_commands, stop_commands

LAST_WORDS = 6
"""Lines of a child's log that an error quotes."""

LINE_LIMIT = 64 * 1024
"""Bytes read at once, so that an endless line needs no endless memory."""


ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What a runner sends to a job that is cancelled, one after the other."""

ENDING_S = 6.0
"""Seconds the child then has to end by itself: between the two there are 7.5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """How a child ended."""

    exit_code: int
    """Its exit code; negative: killed by that signal."""

    last_words: tuple[str, ...]
    """Last lines of its log that are not blank."""


def run_child(
    command: Sequence[str], *, directory: Path, environ: Mapping[str, str], document: Path, stdout: TextIO
) -> ChildResult:
    """Run `command`: its standard output into the file `document`, its log onto `stdout` with commands stopped."""
    token = new_delimiter()
    last: deque[str] = deque(maxlen=LAST_WORDS)
    stdout.write(f"{stop_commands(token)}\n")
    with document.open("wb") as data:
        process = subprocess.Popen(  # noqa: S603 - an argv list, never a shell
            command, cwd=directory, env=dict(environ), stdin=subprocess.DEVNULL, stdout=data, stderr=subprocess.PIPE
        )
    with _ended_first(process):
        for line in _log_lines(process):
            stdout.write(line)
            stdout.flush()
            if line.strip():
                last.append(one_line(line, 500))
        code = process.wait()
    stdout.write(f"\n{resume_commands(token)}\n")
    return ChildResult(exit_code=code, last_words=tuple(last))


@contextmanager
def _ended_first(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """While in here, what would end this process ends `process`; where another thread has the signals, nothing is
    changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        del number, frame
        process.terminate()
        last_resort.start()
        for ending in ENDING_SIGNALS:
            signal.signal(ending, signal.SIG_IGN)  # it is ending; a second one would only interrupt what is told

    last_resort = threading.Timer(ENDING_S, process.kill)
    last_resort.daemon = True
    before = {ending: signal.signal(ending, end) for ending in ENDING_SIGNALS}
    try:
        yield
    finally:
        last_resort.cancel()
        for ending, handler in before.items():
            signal.signal(ending, handler)


def _log_lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """The log of `process` until it ends, even when a grandchild keeps the pipe open after that."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(process.stderr, lines), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=0.5)
        except queue.Empty:
            if process.poll() is not None:
                return
            continue
        if not line:
            return
        yield line.decode("utf-8", "replace")


def _read_lines(stream: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    with stream:
        while line := stream.readline(LINE_LIMIT):
            lines.put(line)
    lines.put(b"")
