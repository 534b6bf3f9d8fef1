"""How long something is tried again that others may have kept us from.

Decides the pauses: drawn anew between nothing and a bound that doubles ("full jitter": M. Brooker, Exponential Backoff
And Jitter, AWS Architecture Blog, 2015), so that many who were refused together do not come back together.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Tries and pauses of one writer."""

    tries: int = 40
    """At most so many: the largest group of writers that was measured, so that even one served last gets its turn."""

    limit_s: float = 300.0
    """And none begins later than this: a CI job must not hang for a store."""

    first_s: float = 0.1
    """Bound of the first pause, where the try before it was no longer: about what one takes on a remote next door. Less
    than a try is no pause at all: where many write at once on few cores they would only be in each other's way."""

    longest_s: float = 10.0
    """Bound of the longest pauses: a few tries of a slow remote."""

    sleep: Callable[[float], None] = time.sleep
    """Waits for seconds."""

    monotonic: Callable[[], float] = time.monotonic
    """The clock, in seconds."""

    draw: Callable[[float, float], float] = random.SystemRandom().uniform
    """A number between two; processes must not draw the same."""

    def attempts(self) -> Iterator[int]:
        """Numbers from 1, each after its pause, for as long as there are any."""
        begun = self.monotonic()
        took_s = 0.0
        for number in range(self.tries):
            bound_s = min(self.longest_s, max(self.first_s, took_s) * 2.0**number)
            pause_s = self.draw(0.0, bound_s) if number else 0.0
            if self.monotonic() - begun + pause_s > self.limit_s:
                return
            self.sleep(pause_s)
            tried_at = self.monotonic()
            yield number + 1
            took_s = self.monotonic() - tried_at
