"""How much a minimiser may spend, and what it has spent.

Decides when it stops. Time comes from the clock it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, final

Result = TypeVar("Result")

Clock = Callable[[], float]
"""Seconds, never going back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one shrinking, whichever comes first."""

    trials: int = 200
    """Runs, the final ones included."""

    seconds: float = 120.0
    """Time."""

    reserved: float = 0.25
    """Share of both that is kept for the final runs, 0 to 1."""


@final
class Account:
    """What is spent of a budget."""

    def __init__(self, budget: Budget, clock: Clock, *, trials: int = 0, seconds: float = 0.0) -> None:
        self._budget = budget
        self.trials = trials
        """Runs so far."""
        self.reserved = budget.reserved
        """Share of the budget that is kept for final runs."""
        self._clock = clock
        self._began = clock() - seconds
        self._running = 0.0
        self._ran = 0

    @property
    def seconds(self) -> float:
        """Time spent, in earlier processes too."""
        return self._clock() - self._began

    @property
    def share(self) -> float:
        """Share of the time that is spent."""
        return self.seconds / self._budget.seconds if self._budget.seconds else 1.0

    def affords(self, *, final: bool) -> bool:
        """Whether there is room for one more run of average length; in the reserve only where it is final."""
        share = 1.0 if final else 1.0 - self.reserved
        average = self._running / self._ran if self._ran else 0.0
        return self.trials < share * self._budget.trials and self.seconds + average < share * self._budget.seconds

    def timed(self, run: Callable[[], Result]) -> Result:
        """What `run` gives; its time counts towards the average."""
        began = self._clock()
        try:
            return run()
        finally:
            self._running += self._clock() - began
            self._ran += 1
