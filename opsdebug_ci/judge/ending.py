"""Whose doing it was that a worker process ended.

Decides blame from the last breadcrumb. Deliberately not the cause: rules do that.
"""

from __future__ import annotations

from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Blame, Phase, Status

MEMORY_SIGNALS = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGTRAP")
"""How broken memory shows: a bad access, or an allocator that finds its own records overwritten."""

_PHASE_BLAME = {
    Phase.DISCOVER: Blame.RUNTIME,
    Phase.INPUTS: Blame.INPUT,
    Phase.FUNCTION: Blame.OPERATOR,
    Phase.REFERENCE: Blame.REFERENCE,
    Phase.COMPARE: Blame.RUNTIME,
    Phase.PROBE: Blame.OPERATOR,
}


def blamed_for_ending(observation: Observation) -> Blame:
    """The phase's owner; the operator when nothing is known, or when memory turns out broken after it ran."""
    if observation.process is None or surfaced_later(observation):
        return Blame.OPERATOR
    return _PHASE_BLAME[observation.process.phase]


def surfaced_later(observation: Observation) -> bool:
    """The process died of broken memory in a phase that follows the operator's launch."""
    process = observation.process
    return (
        observation.status is Status.CRASHED
        and process is not None
        and process.phase in (Phase.REFERENCE, Phase.COMPARE)
        and process.signal in MEMORY_SIGNALS
    )
