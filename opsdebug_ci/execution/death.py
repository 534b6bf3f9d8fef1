"""How a worker ended while it was asked something, and what that says about the case it was running.

Decides status and reason of a case that killed, hung or filled its worker. Only what the operator itself was doing is
held against the operator: inputs and references have statuses of their own. Deliberately names no cause.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from opsdebug_ci.execution.last_frames import own_frame, place_of
from opsdebug_ci.model import Case, Observation, Phase, ProcessFacts, Status
from opsdebug_ci.model.message import Breadcrumb
from opsdebug_ci.model.vocabulary import Word

LOG_TAIL = 2000
"""Characters of the log that are kept."""


class Ending(Word):
    """The four ways a worker ends early, and the one in which we end it for talking nonsense."""

    SIGNAL = "signal"
    EXIT = "exit"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    PROTOCOL = "protocol"


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """The end of a worker instead of an answer."""

    ending: Ending
    """Which way."""

    how: str
    """The same in words, e.g. `killed by SIGSEGV`."""

    breadcrumb: Breadcrumb | None
    """Last one of this request; None when the worker had not begun it."""

    signal: str | None
    """Signal name, when a signal ended it, ours included."""

    exit_code: int | None
    """Exit status, when it exited by itself."""

    log_tail: str
    """End of what it printed during this request."""

    frames: tuple[str, ...] = ()
    """Where a fatal signal met it, innermost last."""

    @property
    def facts(self) -> ProcessFacts:
        """The part of this that is reported."""
        return ProcessFacts(
            signal=self.signal,
            exit_code=self.exit_code,
            phase=Phase.DISCOVER if self.breadcrumb is None else self.breadcrumb.phase,
            detail=None if self.breadcrumb is None else self.breadcrumb.detail,
            log_tail=self.log_tail,
            frames=self.frames,
            place=place_of(own_frame(self.frames)),
        )

    @property
    def sentence(self) -> str:
        """How it ended, and doing what."""
        return f"the worker was {self.how}, {_when(self.breadcrumb)}"

    @property
    def last_words(self) -> str:
        """The last line it printed, or nothing."""
        lines = self.log_tail.rstrip().splitlines()
        return lines[-1].strip()[:200] if lines else ""


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; real-time signals, which have no name of their own, by number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def ended_by_memory_error(log_tail: str) -> bool:
    """Whether the last thing printed is an uncaught MemoryError or torch.OutOfMemoryError."""
    lines = log_tail.rstrip().splitlines()
    return bool(lines) and re.match(r"([\w.]+\.)?(MemoryError|OutOfMemoryError)\b", lines[-1]) is not None


def observe_death(case: Case, death: Death) -> Observation:
    """The observation of a case whose worker ended instead of answering."""
    return Observation(
        case_id=case.id,
        status=status_of(death),
        reason=f"{death.sentence}.",
        process=death.facts,
        inputs_digest=None if death.breadcrumb is None else death.breadcrumb.inputs_digest,
    )


def status_of(death: Death) -> Status:
    """What the end of a worker means for its case.

    A crash while comparing is the operator's: our comparison does not crash, but memory that an operator corrupted
    brings it down. Slowness and hunger while comparing are ours.
    """
    phase = None if death.breadcrumb is None else death.breadcrumb.phase
    if death.ending is Ending.PROTOCOL or phase in (None, Phase.DISCOVER):
        return Status.WORKER_BROKEN
    if phase is Phase.INPUTS:
        return Status.INPUTS_BROKEN
    if phase is Phase.REFERENCE:
        return Status.REFERENCE_BROKEN
    if death.ending in (Ending.SIGNAL, Ending.EXIT):
        return Status.CRASHED
    if phase is Phase.COMPARE:
        return Status.WORKER_BROKEN
    return Status.TIMED_OUT if death.ending is Ending.TIMEOUT else Status.OUT_OF_MEMORY


_DOING = {
    Phase.DISCOVER: "importing the operators' modules",
    Phase.INPUTS: "making the inputs",
    Phase.FUNCTION: "running the operator",
    Phase.REFERENCE: "running a reference",
    Phase.COMPARE: "comparing the outputs",
    Phase.PROBE: "probing the operator",
}


def _when(breadcrumb: Breadcrumb | None) -> str:
    if breadcrumb is None:
        return "before it began"
    detail = f" ({breadcrumb.detail})" if breadcrumb.detail else ""
    return f"while {_DOING[breadcrumb.phase]}{detail}"
