"""How long probing may go on: counted in launches and in runs of the reference, so that load changes nothing.

Decides what one of them costs: the least that the first of its kind took, rounded up to a power of two. Processor time
of this thread, or a share of the time an operator made everybody wait.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar, final

PATIENCE = 5.0
"""Seconds of waiting that count as one of work."""

GRADE = 2.0
"""Prices are powers of it."""

CHEAPEST_S = GRADE**-12
"""What the cheapest launch costs, about 0.24 ms."""

TIMES = 4
"""Times that a kind of work is timed; the least counts."""

Result = TypeVar("Result")


@final
class Budget:
    """Seconds of work that are left.

    Args:
        seconds: how many.
        within: another budget of which this is a part.
    """

    def __init__(self, seconds: float, within: Budget | None = None) -> None:
        self._seconds = seconds
        self._within = within
        self._spent_s = 0.0
        self._began_s = 0.0 if within is None else within.spent_s

    @property
    def spent_s(self) -> float:
        """What was charged since it began."""
        return self._spent_s if self._within is None else self._within.spent_s - self._began_s

    def charge(self, seconds: float) -> None:
        """Take off what something cost."""
        if self._within is None:
            self._spent_s += seconds
        else:
            self._within.charge(seconds)

    @property
    def expired(self) -> bool:
        """Begin nothing new."""
        return self.spent_s >= self._seconds or (self._within is not None and self._within.expired)


@final
class Prices:
    """What each kind of work costs, known from its first times: the very first one pays for what is loaded then."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], float] = {}
        self._times: Counter[tuple[str, int]] = Counter()

    def pay(self, budget: Budget, what: str, size: int, work: Callable[[], Result]) -> Result:
        """Do `work` and charge its price, which is one for every `what` on about `size` elements."""
        kind = what, max(size, 1).bit_length() // 2
        began_s, waited_s = time.thread_time(), time.monotonic()
        try:
            return work()
        finally:
            if self._times[kind] < TIMES:
                self._times[kind] += 1
                took_s = max(time.thread_time() - began_s, (time.monotonic() - waited_s) / PATIENCE)
                price = max(CHEAPEST_S, GRADE ** math.ceil(math.log(max(took_s, CHEAPEST_S), GRADE)))
                self._known[kind] = min(price, self._known.get(kind, price))
            budget.charge(self._known[kind])
