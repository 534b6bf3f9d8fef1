"""Timing alone on the machine: one comparison or profile at a time, whoever started them.

Decides that a second one waits. Deliberately cannot keep anything else off the machine.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opsdebug_ci.pipeline.world import World


@contextmanager
def alone(world: World) -> Iterator[None]:
    """Hold the machine for timing; waits for whoever holds it now, and says so. Ends with the process at the latest."""
    path = Path(tempfile.gettempdir()) / f"opsdebug-timing-{os.getuid()}.lock"
    with path.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            world.progress.tell("waiting for another timing run on this machine")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
