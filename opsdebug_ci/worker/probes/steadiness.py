"""Whether a failing operator gives the same bits in launches that are alike in everything it may depend on.

Decides how often is asked before anything else is: what changes by itself has no pattern to be read; and again before
anything is said because it is right on other arguments, which may have been luck. Launches are watched, so that memory
nobody wrote is the same in each. Deliberately seeks nothing rare: `--repeat` does.
"""

from __future__ import annotations

from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.launch_reading import Outputs, differing
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.scene import Scene

LAUNCHES = 10
"""Launches compared with the first: what changes in one of three is missed in 0.4 % of cases."""

WITHIN_S = 0.1
"""Seconds of work after which no further launch begins."""

TURNS = 3
"""Launches on either arguments, in turn, after one on each. What fails in a share p of launches, whatever it is given,
is told apart with a chance of p^4 (1 - p)^4, at most 0.4 %."""


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


def told_apart(scene: Scene, failure: Failure, right: Arguments) -> bool:
    """Whether the operator keeps failing on the arguments of its case, and keeps being right on others.

    Asked in turn, so that neither luck nor a change of mind after some launches decides. Bits that change are enough to
    say no where the contract promises that they do not, and are judged again where it does not. Where time is up, one
    launch on each decides.

    Args:
        scene: the failed case.
        failure: its failing output.
        right: arguments on which the operator was right.
    """
    asked: list[tuple[Arguments, bool]] = [(scene.arguments, False), (right, True)]
    known: list[Outputs] = []
    for turn in range(TURNS):
        if turn and scene.expired:
            break
        for place, (arguments, wanted) in enumerate(asked):
            outputs = scene.launch(arguments, watched=True)
            if outputs is None:
                return False
            if turn and not differing(known[place], outputs):
                continue
            if turn and scene.operator.contract.deterministic:
                return False
            if (scene.right(arguments, outputs, failure) is True) is not wanted:
                return False
            known += [] if turn else [outputs]
    return True


def repeats(scene: Scene, *seen: tuple[Arguments, Outputs]) -> bool:
    """Whether launches on each of these arguments, in turn, give the bits again that were seen on them."""
    for _ in range(TURNS):
        for arguments, outputs in seen:
            again = scene.launch(arguments)
            if again is None or differing(outputs, again):
                return False
    return True
