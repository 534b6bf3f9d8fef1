"""Where a fatal signal met a worker, or where it hung, out of what its interpreter printed then.

What it prints: docs.python.org/3/library/faulthandler.

Decides which thread it met, and which of its frames is the person's own code. The log's last characters would not do:
behind the frames stand other threads and a list of extension modules, and the innermost frame comes first.
"""

from __future__ import annotations

import re

from opsdebug_ci.execution.launch import PACKAGE

MAX_FRAMES = 12
"""Innermost frames kept."""

READ_BYTES = 1 << 18
"""End of the log that is searched: faulthandler prints at most 100 frames a thread, with names of at most 500 bytes."""

_FATAL = "Fatal Python error: "
_MODULES = re.compile(r"^Extension modules: .*\n?", flags=re.MULTILINE)
_THREAD = re.compile(r"^(?P<current>Current thread|Thread) .*\(most recent call first\):$")
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.+)$')
_INSTALLED = re.compile(r"[/\\](site-packages|dist-packages|lib[/\\]python\d[^/\\]*)[/\\]|^<")
"""Parts of paths below which nobody writes operators. The worker's interpreter may be another, so ours is not asked."""


def log_tail(log: str, limit: int) -> str:
    """The last `limit` characters of a log; where they hold a fatal report, what was said before it keeps half of them.

    How long a report is depends on where the code lies, and it must not displace the operator's last words. Its list of
    extension modules is left out: it tells nothing of the operator.
    """
    said, fatal, report = log.rpartition(_FATAL)
    told = _MODULES.sub("", fatal + report)
    if not fatal or len(said) + len(told) <= limit:
        return (said + told)[-limit:]
    kept = said[-max(limit // 2, limit - len(told)) :]
    return kept + told[: limit - len(kept)]


def last_frames(log: str) -> tuple[str, ...]:
    """Frames of the thread that the last fatal signal in `log` met, innermost last; empty when there is none."""
    _, fatal, report = log.rpartition(_FATAL)
    return _met(report) if fatal else ()


def halted_frames(log: str) -> tuple[str, ...]:
    """Frames of the same thread in the last report in `log`, of a process that was asked where it is; else empty."""
    return _met(log)


def _met(report: str) -> tuple[str, ...]:
    threads: list[tuple[bool, list[str]]] = []
    for line in report.splitlines():
        header, frame = _THREAD.match(line), _FRAME.match(line)
        if header:
            threads.append((header["current"].startswith("Current"), []))
        elif frame and threads:
            threads[-1][1].append(f"{frame['file']}:{frame['line']} {frame['function']}")
    # A signal that met a thread without Python frames, e.g. one of OpenMP's, names none: then the oldest, the last.
    met = [frames for current, frames in threads if current] or [frames for _, frames in threads[-1:]]
    return tuple(reversed(met[-1][:MAX_FRAMES])) if met else ()


def own_frame(frames: tuple[str, ...]) -> str | None:
    """The innermost frame in code that is neither installed nor ours, `file:line function`; None: there is none.

    The operators that come with us count as somebody's own.
    """
    return next((frame for frame in reversed(frames) if _is_own(frame)), None)


def place_of(frame: str | None) -> str | None:
    """`file:line` of a frame."""
    return None if frame is None else frame.rpartition(" ")[0]


def _is_own(frame: str) -> bool:
    if frame.startswith(f"{PACKAGE}/catalogue/"):
        return True
    return not frame.startswith(f"{PACKAGE}/") and _INSTALLED.search(frame.rpartition(":")[0]) is None
