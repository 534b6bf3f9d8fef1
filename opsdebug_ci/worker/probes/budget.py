"""How long probing may go on, in work rather than in waiting.

Decides when time is up: processor time of this thread, so that a loaded machine finds the same causes, and at most
PATIENCE times as long on the wall clock, so that an operator that waits does not hold everything up.
"""

from __future__ import annotations

import time
from typing import final

PATIENCE = 5.0
"""Wall-clock seconds per second of processor time."""


@final
class Budget:
    """Time that runs from now on.

    Args:
        seconds: processor time of this thread.
        within: another budget that ends this one too.
    """

    def __init__(self, seconds: float, within: Budget | None = None) -> None:
        self._cpu_end = time.thread_time() + seconds
        self._wall_end = time.monotonic() + PATIENCE * seconds
        self._within = within

    @property
    def expired(self) -> bool:
        """Begin nothing new."""
        own = time.thread_time() >= self._cpu_end or time.monotonic() >= self._wall_end
        return own or (self._within is not None and self._within.expired)
