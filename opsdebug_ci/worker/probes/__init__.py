"""Probes: the few extra launches that tell causes apart, made only after a failure.

Adding one: a module here with one function, a line in PROBES, a planted defect and a clean twin in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.worker.probes.contiguous_copy import contiguous_copy
from opsdebug_ci.worker.probes.foreign_bytes import foreign_bytes
from opsdebug_ci.worker.probes.growth import growth
from opsdebug_ci.worker.probes.health_origin import health_origin
from opsdebug_ci.worker.probes.influence import influence
from opsdebug_ci.worker.probes.overwritten import overwritten
from opsdebug_ci.worker.probes.scene import Scene as Scene
from opsdebug_ci.worker.probes.sizes import sizes
from opsdebug_ci.worker.probes.tamed_values import tamed_values

Probe = Callable[[Scene, Failure], Iterable[Clue]]
"""Yields nothing when it has nothing to say. Its docstring says what it launches and what it is told apart from."""

PROBES: tuple[Probe, ...] = (
    contiguous_copy,
    foreign_bytes,
    sizes,
    influence,
    overwritten,
    tamed_values,
    growth,
    health_origin,
)
"""Every probe, the most telling first: what comes late may find the time used up."""
