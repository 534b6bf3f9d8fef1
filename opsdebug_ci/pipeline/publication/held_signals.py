"""A step that a signal must not tear in two: what it made would be left to nobody.

Decides that the first signal that would end this process waits until the step is over, and that a second one does not.
Handlers that do not end it, and those of other threads' processes, stay as they are.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM)
"""Signals that a job which is cancelled gets; Python has both everywhere."""


@contextmanager
def held_signals() -> Iterator[None]:
    """Hold the first of ENDING back until the block is over; it then has the effect it would have had."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are not this thread's
        return
    before = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    came: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        del frame
        came.append(number)
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, hold)
    try:
        yield
    finally:
        restore()
        for held in came:
            signal.raise_signal(held)
