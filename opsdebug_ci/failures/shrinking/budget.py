"""How much a minimiser may spend, and what it has spent.

Decides when it stops. Time comes from the clock it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

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

    @property
    def seconds(self) -> float:
        """Time spent, in earlier processes too."""
        return self._clock() - self._began

    @property
    def share(self) -> float:
        """Share of the time that is spent."""
        return self.seconds / self._budget.seconds if self._budget.seconds else 1.0

    def affords(self, *, final: bool) -> bool:
        """Whether one more run is allowed; the last ones only where it is final."""
        share = 1.0 if final else 1.0 - self.reserved
        return self.trials < share * self._budget.trials and self.seconds < share * self._budget.seconds
