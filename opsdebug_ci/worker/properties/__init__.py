"""Properties beyond values: what a few more launches tell of an operator, whether or not its values are right.

Decides which cases pay for them. Adding one: a module here with one function, a line in CHECKS, a rule of the judge, a
planted defect and a clean twin in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.property import PropertyReading
from opsdebug_ci.model.vocabulary import Direction, Family, Layout
from opsdebug_ci.worker.containment import heard
from opsdebug_ci.worker.launch_reading import LaunchReading
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.properties.batch_invariance import batch_invariance
from opsdebug_ci.worker.properties.opcheck import opcheck
from opsdebug_ci.worker.properties.other_seeds import other_seeds
from opsdebug_ci.worker.properties.same_addresses import same_addresses

Check = Callable[[Scene, LaunchReading], Iterable[PropertyReading]]
"""Yields nothing where the property cannot be asked. Its docstring says what it launches."""

CHECKS: tuple[Check, ...] = (same_addresses, other_seeds, batch_invariance, opcheck)
"""Every check. Gradients are no check but cases of their own: `gradients`."""

AFFORDABLE_NS = 250_000_000
"""Longest that a launch may take for more of them to be made."""


AFFORDABLE_REFERENCES_NS = 5_000_000_000
"""Longest that all references may have taken together: some properties ask them again, and a case has a time limit."""


def is_everyday(case: Case) -> bool:
    """One of the few cases per operator and dtype that are asked: plain values, plain layout."""
    return (
        case.direction is Direction.FORWARD
        and case.layout in (Layout.CONTIGUOUS, Layout.OWN)
        and case.inputs in (Family.NORMAL, Family.OWN)
        and 0 not in case.dims.values()
    )


def readings(scene: Scene, launch: LaunchReading, reference_ns: int) -> tuple[PropertyReading, ...]:
    """What every check says; nothing where launches or references are dear, or the time is used up.

    Args:
        scene: the case.
        launch: what its launches showed.
        reference_ns: what its references took together.
    """
    found: list[PropertyReading] = []
    affordable = launch.quickest_ns <= AFFORDABLE_NS and reference_ns <= AFFORDABLE_REFERENCES_NS
    for check in CHECKS if affordable else ():
        if not scene.expired:
            found += heard(check, scene, launch)
    return tuple(found)
