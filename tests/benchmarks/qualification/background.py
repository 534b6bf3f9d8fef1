"""Work on other cores while the experiment runs: processes that do nothing but count."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BURNER = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""
"""Ends by itself when the experiment is gone, however it ended."""

PATIENCE_S = 10.0
"""Wait for a process to end when asked."""


@contextmanager
def background(processes: int) -> Iterator[list[int]]:
    """Keep so many processes busy; their ids."""
    running = [subprocess.Popen([sys.executable, "-c", BURNER]) for _ in range(processes)]
    try:
        yield [process.pid for process in running]
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=PATIENCE_S)
