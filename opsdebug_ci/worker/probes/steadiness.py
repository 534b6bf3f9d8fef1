"""Whether a failing operator gives the same bits in launches that are alike in everything it may depend on.

Decides how often is asked before anything else is: what changes by itself has no pattern to be read. Launches are
watched, so that memory nobody wrote is the same in each. Deliberately seeks nothing rare: `--repeat` does.
"""

from __future__ import annotations

from opsdebug_ci.worker.launch_reading import differing
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.scene import Scene

LAUNCHES = 10
"""Launches compared with the first: what changes in one of three is missed in 0.4 % of cases."""

WITHIN_S = 0.1
"""Seconds of work after which no further launch begins."""


def changed_bits(scene: Scene, within_s: float = WITHIN_S) -> int:
    """Output elements of the first launch that differs; 0 where none does, or none was asked for by the contract."""
    if not scene.operator.contract.deterministic:
        return 0
    budget = Budget(within_s, within=scene.budget)
    first = scene.launch(scene.arguments, watched=True)
    for _ in range(LAUNCHES):
        if first is None or budget.expired:
            return 0
        again = scene.launch(scene.arguments, watched=True)
        count = 0 if again is None else differing(first, again)
        if count:
            return count
    return 0
