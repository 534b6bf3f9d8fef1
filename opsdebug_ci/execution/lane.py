"""A lane: the place of one worker, which a new one takes when it dies.

Decides when a worker is started, what it is told first, and how often starting may fail. Deliberately knows nothing of
other lanes; they share only the launcher and the count of failed starts.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TypeVar, final

from opsdebug_ci.errors import EnvironmentLimitError, WorkerError
from opsdebug_ci.execution.death import Death, Ending, observe_death
from opsdebug_ci.execution.launch import Launcher
from opsdebug_ci.execution.lost_device import alone_if_lost, lost_device
from opsdebug_ci.execution.worker_client import WorkerClient
from opsdebug_ci.model import Case, Catalogue, Observation, Phase, Status
from opsdebug_ci.model.attribution import Attribution
from opsdebug_ci.model.message import CasesExplained, Describe, ExplainCases, KeptInputs, PagesKept, Request, RunCase
from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.model.timing import CaseTimed
from opsdebug_ci.model.trace import CaseTrace
from opsdebug_ci.model.vocabulary import Profile

Answer = TypeVar("Answer")
EXPLAINING_S = 240.0
"""Seconds that looking for the causes of an operator's failures may take beyond what a case may: only a launch that
hangs, or a machine ten times too busy, takes as long."""

HUNT_SHARE = 0.5
"""Share of a case's time limit in which launches may be repeated; references and comparison need the rest."""

AboutCase = TypeVar(
    "AboutCase", Observation, CasesExplained, Attribution, CaseTrace, KeptInputs, PagesKept, CaseTimed, CaseProfile
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What workers may use."""

    timeout_s: float = 60.0
    """Seconds per case: inputs, operator, references and comparison together."""

    memory_bytes: int | None = None
    """What a case may add to its worker's resident memory; None: no limit."""

    start_timeout_s: float = 180.0
    """Seconds for a worker to start, and again for it to import and describe the operators."""


@final
class FailedStarts:
    """Counts starts that failed in a row, in all lanes; a start that worked clears it."""

    LIMIT = 3
    """One can be bad luck on a loaded machine; after three the cause is there to stay."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._last = ""

    def check(self) -> None:
        """Raise WorkerError when no more starts are allowed."""
        with self._lock:
            if self._count >= self.LIMIT:
                raise WorkerError(f"{self._count} workers in a row did not start; the last: {self._last}")

    def succeeded(self) -> None:
        """A worker serves."""
        with self._lock:
            self._count = 0

    def failed(self, why: str) -> None:
        """A worker ended before it served."""
        with self._lock:
            self._count += 1
            self._last = why


@final
class Lane:
    """At most one live worker. One thread at a time."""

    def __init__(self, launcher: Launcher, limits: Limits, failed_starts: FailedStarts) -> None:
        self._launcher = launcher
        self._limits = limits
        self._failed_starts = failed_starts
        self._client: WorkerClient | None = None
        self._described: Describe | None = None
        self._served = False

    def ask(self, request: Request, expected: type[Answer], timeout_s: float) -> Answer | Death:
        """Ask the worker, started if need be, something that needs no operators.

        Raises:
            WorkerError: no worker can be started.
        """
        return self._living().ask(request, expected, timeout_s)

    def describe(self, request: Describe) -> Catalogue | Death:
        """Have the worker load operators, as cases need.

        Raises:
            WorkerError: no worker can be started.
        """
        if self._described not in (None, request):
            self.retire()  # operators of two discoveries in one process could hide each other
        answer = self._living().ask(request, Catalogue, self._limits.start_timeout_s)
        self._described = None if isinstance(answer, Death) else request
        return answer

    def run(
        self, case: Case, repeats: int, operators: Describe, profile: Profile = Profile.QUICK, causes: bool = True
    ) -> Observation:
        """What happens when `case` runs here, a worker's death included; see `about` and `alone_if_lost`."""
        hunt_s = self._limits.timeout_s * HUNT_SHARE
        request = RunCase(case=case, repeats=repeats, hunt_s=hunt_s, profile=profile, causes=causes)
        return alone_if_lost(lambda: self.about(case, request, Observation, operators), self.retire)

    def about(
        self,
        case: Case,
        request: Request,
        expected: type[AboutCase],
        operators: Describe,
        timeout_s: float | None = None,
    ) -> AboutCase | Observation:
        """The answer to a request about `case`, or what happened to the worker instead; `timeout_s` may shorten it.

        A worker that dies before it began the case fell to something earlier, so a fresh one is asked once more. One
        that dies while it looks for the cause of a failure has told the failure before, and one that needs too much
        memory for what lies beyond values has told the values.
        """
        try:
            answer = self._about_once(case, request, expected, operators, timeout_s)
            if isinstance(answer, Death) and _died_before(answer):
                answer = self._about_once(case, request, expected, operators, timeout_s)
        except (WorkerError, EnvironmentLimitError) as fault:
            return Observation(case_id=case.id, status=Status.WORKER_BROKEN, reason=fault.message)
        if not isinstance(answer, Death):
            if isinstance(answer, Observation) and lost_device(answer):
                self.retire()  # whatever came next would fail of the same loss
            return answer
        known = _told_before(answer)
        return observe_death(case, answer) if known is None or known.case_id != case.id else known

    def _about_once(
        self, case: Case, request: Request, expected: type[AboutCase], operators: Describe, timeout_s: float | None
    ) -> AboutCase | Death:
        client = self._prepared(operators)
        self._served = True
        limit_s = self._limits.timeout_s if timeout_s is None else min(timeout_s, self._limits.timeout_s)
        if isinstance(request, ExplainCases):
            limit_s += EXPLAINING_S  # many cases, counted in launches by the worker itself
        answer = client.ask(request, expected, limit_s, self._limits.memory_bytes)
        if not isinstance(answer, Death) and answer.case_id != case.id:
            self.retire()
            raise WorkerError(f"the worker answered for case {answer.case_id[:40]}; wanted {case.id}")
        return answer

    def _prepared(self, operators: Describe) -> WorkerClient:
        """A live worker that has loaded the operators."""
        client = self._living()
        while self._described != operators:
            death = self.describe(operators)
            if isinstance(death, Death):
                self._failed_starts.failed(describe_death(death))
                client = self._living()
        self._failed_starts.succeeded()
        return client

    def _living(self) -> WorkerClient:
        """A live worker, freshly started when there is none."""
        while self._client is None or not self._client.alive:
            self.retire()
            self._failed_starts.check()
            client = self._client = WorkerClient(self._launcher.start())
            death = client.await_ready(self._limits.start_timeout_s)
            if death is not None:
                self._failed_starts.failed(describe_death(death))
        return self._client

    def retire(self) -> None:
        """Let the worker go, dead or alive."""
        if self._client is not None:
            self._launcher.release(self._client.worker)
        self._client = None
        self._described = None
        self._served = False

    def renew(self) -> None:
        """See to it that the next case comes to a worker that has seen none."""
        if self._served:
            self.retire()


def _told_before(death: Death) -> Observation | None:
    """What stands although the worker died: memory for properties is ours, and all else there the operator's doing."""
    crumb = death.breadcrumb
    if crumb is None or (crumb.phase is not Phase.PROBE and death.ending is not Ending.OUT_OF_MEMORY):
        return None
    return crumb.observation


def _died_before(death: Death) -> bool:
    return death.breadcrumb is None and death.ending in (Ending.SIGNAL, Ending.EXIT)


def describe_death(death: Death) -> str:
    """How a worker ended, with its last words."""
    said = f"; it said `{death.last_words}`" if death.last_words else ""
    return f"{death.sentence}{said}"
