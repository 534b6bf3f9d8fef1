"""What becomes of a case in a worker whose device context is lost.

Decides that the worker is let go and the case asked once more, alone, in a fresh one: a context is lost by one launch
and refuses every later one, so the case at which it shows need not be the one that lost it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from opsdebug_ci.model import Observation
from opsdebug_ci.model.device_fault import context_lost


def lost_device(observation: Observation) -> bool:
    """Whether what was raised says that the worker cannot use its device any more."""
    raised = observation.exception
    return raised is not None and context_lost(raised.type, raised.message)


def alone_if_lost(run: Callable[[], Observation], retire: Callable[[], None]) -> Observation:
    """What `run` observes; where the device was lost, what it observes in a fresh worker.

    Args:
        run: runs the case in the worker at hand, a fresh one when that is gone.
        retire: lets the worker go.
    """
    first = run()
    if not lost_device(first):
        return first
    retire()
    alone = run()
    raised = first.exception
    what = raised.message.splitlines()[0][:160] if raised is not None and raised.message else "the device was lost"
    if lost_device(alone):
        retire()
        return replace(alone, rerun=f"alone in a fresh process it ended the same way: {what}")
    return replace(alone, rerun=f"in a process that had run other cases before, it ended in: {what}")
