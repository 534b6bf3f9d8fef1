"""Timing alone on the machine: one comparison or profile of a person at a time.

Decides that a second one waits. Deliberately cannot keep anything else off the machine.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.pipeline.world import World


@contextmanager
def alone(world: World) -> Iterator[None]:
    """Hold the machine for timing; waits for whoever holds it now, and says so. Ends with the process at the latest.

    Raises:
        EnvironmentLimitError: there is no place for the lock.
    """
    held = _opened(_place() / f"opsdebug-timing-{os.getuid()}.lock")
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            world.progress.tell("waiting for another timing run on this machine")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _place() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as fault:
        raise EnvironmentLimitError(str(fault), next_step="set TMPDIR to a directory that can be written") from fault


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise EnvironmentLimitError(
            f"{path}: found {fault.strerror}; wanted a file by which timing runs wait for each other",
            next_step="remove it, or set TMPDIR to a directory that can be written",
        ) from fault
