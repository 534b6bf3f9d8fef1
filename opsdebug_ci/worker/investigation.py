"""Why outputs failed: patterns in the tensors, alterations of the reference that reproduce them, probes that decide.

Decides what is asked, in which order and for how long. Deliberately ranks nothing across outputs: the judge does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns import patterns
from opsdebug_ci.worker.probes import PROBES
from opsdebug_ci.worker.probes.scene import Scene

BUDGET_S = 4.0
"""Seconds one failed case may be investigated."""

MOST_CLUES = 8
"""Clues kept per output, the most probable ones."""

SETTLED = 0.96
"""Confidence from which no further probe is made."""


def deadline() -> int:
    """When an investigation that begins now ends, on the clock of `Scene.deadline_ns`."""
    return time.perf_counter_ns() + int(BUDGET_S * 1e9)


def investigate(scene: Scene, failures: Sequence[Failure]) -> tuple[Clue, ...]:
    """Clues for every failing output, most probable first per output."""
    return tuple(clue for failure in failures for clue in _clues(scene, failure))


def _clues(scene: Scene, failure: Failure) -> list[Clue]:
    found = patterns(failure)
    for clue in _probed(scene, failure):
        found.append(clue)
        if clue.confidence >= SETTLED:
            break
    return sorted(found, key=lambda clue: -clue.confidence)[:MOST_CLUES]


def _probed(scene: Scene, failure: Failure) -> Iterator[Clue]:
    for probe in PROBES:
        if scene.expired:
            return
        yield from probe(scene, failure)
