"""How long an operator that keeps ending its workers is still run.

Decides from the endings of an operator's finished cases when its remaining ones are answered instead of run, and with
which reason. Deliberately stops nothing that is running, and judges nothing: the cases that were run have verdicts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import final

from opsdebug_ci.execution.lost_device import lost_device
from opsdebug_ci.model import Case, Observation, Status
from opsdebug_ci.model.observation import NOT_RUN

TIMEOUTS = 3
"""Cases of one operator that may time out. Each costs its worker the whole time limit, a minute unless the user says
otherwise, and 72 such cases would cost two workers 36 minutes. One may be a slow machine or a first compilation; after
three, a fourth tells nothing new."""

DEATHS_IN_A_ROW = 8
"""Finished cases of one operator that may crash or run out of memory one after the other. Each costs about a second for
a fresh worker and says which sizes and layouts are affected, so there may be more of them than of timeouts; a case that
lives in between shows that they are not all affected, and the count starts again."""

_DEATHS = (Status.CRASHED, Status.OUT_OF_MEMORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endings:
    """How the finished cases of one operator ended."""

    timeouts: int = 0
    """Cases that timed out."""

    deaths_in_a_row: int = 0
    """Cases that crashed or ran out of memory since the last one that did not."""

    def after(self, observation: Observation) -> _Endings:
        """With one more finished case; timeouts, and cases outside the operator's domain, are no sign of life."""
        status = Status.CRASHED if lost_device(observation) else observation.status
        if status is Status.TIMED_OUT:
            return replace(self, timeouts=self.timeouts + 1)
        if status in _DEATHS:
            return replace(self, deaths_in_a_row=self.deaths_in_a_row + 1)
        return self if status is Status.SKIPPED else replace(self, deaths_in_a_row=0)

    @property
    def reason(self) -> str | None:
        """Why no more cases are run; None while they are."""
        if self.timeouts >= TIMEOUTS:
            return f"{NOT_RUN}{TIMEOUTS} cases of this operator timed out before"
        if self.deaths_in_a_row >= DEATHS_IN_A_ROW:
            return f"{NOT_RUN}{DEATHS_IN_A_ROW} cases of this operator in a row crashed or ran out of memory before"
        return None


@final
class Endurance:
    """What one run still bears of each operator; any number of threads.

    Args:
        earlier: how cases of the same run ended before it was interrupted, in that order.
    """

    def __init__(self, earlier: Iterable[tuple[Case, Observation]] = ()) -> None:
        self._lock = threading.Lock()
        self._endings: dict[str, _Endings] = {}
        self._reasons: dict[str, str] = {}
        for case, observation in earlier:
            self._count(case.operator, observation)

    def answer(self, case: Case, run: Callable[[], Observation]) -> Observation:
        """What happens when `case` is run, or SKIPPED with the reason when its operator is not run any more."""
        with self._lock:
            reason = self._reasons.get(case.operator)
        if reason is not None:
            return Observation(case_id=case.id, status=Status.SKIPPED, reason=reason)
        observation = run()
        self._count(case.operator, observation)
        return observation

    def _count(self, operator: str, observation: Observation) -> None:
        with self._lock:
            endings = self._endings[operator] = self._endings.get(operator, _Endings()).after(observation)
            if endings.reason is not None:  # the first one stays, so that a report groups what it is the reason of
                self._reasons.setdefault(operator, endings.reason)
