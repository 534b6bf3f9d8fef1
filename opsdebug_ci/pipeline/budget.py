"""`Budget`: how long a stage may take, and how its parts share that.

Decides what is left and how large a part's share is. Deliberately stops nothing: each part looks at its own share, ends
in time with what it has, and says by name what did not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Time for a stage, or for one part of it."""

    name: str
    """Who spends it, as notes call it."""

    started_ns: int
    """When it began, by `clock`; ns."""

    seconds: float | None
    """How long; None: without limit."""

    clock: Callable[[], int]
    """A clock that never goes back; ns."""

    @staticmethod
    def begin(name: str, seconds: float | None, clock: Callable[[], int]) -> Budget:
        """A budget that begins now."""
        return Budget(name=name, started_ns=clock(), seconds=seconds, clock=clock)

    def spent_s(self) -> float:
        """Seconds since it began."""
        return (self.clock() - self.started_ns) / SECOND_NS

    def remaining_s(self) -> float:
        """Seconds left, never below 0; infinite where there is no limit."""
        return math.inf if self.seconds is None else max(0.0, self.seconds - self.spent_s())

    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.remaining_s() <= 0.0

    def share(self, name: str, fraction: float) -> Budget:
        """A part that begins now with `fraction` (0 to 1) of what is left; without limit where this one has none.

        What a part leaves over belongs to the parts after it, since their shares are taken of what is left then.
        """
        seconds = None if self.seconds is None else fraction * self.remaining_s()
        return Budget.begin(name, seconds, self.clock)

    def begun_anew(self) -> Budget:
        """The same time from now on, for what must not pay for its preparation."""
        return Budget.begin(self.name, self.seconds, self.clock)

    def told(self, done: int, wanted: int, what: str) -> str | None:
        """The note that not all fitted, `comparison: 11 of 34 operators compared within the budget`; None: all did.

        Args:
            done: how many were reached.
            wanted: how many there were.
            what: what was done with what, e.g. `operators compared`.
        """
        return f"{self.name}: {done:,} of {wanted:,} {what} within the budget" if done < wanted else None
