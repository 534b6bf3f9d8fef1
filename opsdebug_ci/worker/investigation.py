"""Why outputs failed: patterns in the tensors, alterations of the reference that reproduce them, probes that decide.

Decides what is asked, in which order and for how long, per case and per operator. Deliberately ranks nothing across
outputs: the judge does.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns import PATTERNS
from opsdebug_ci.operators import Operator
from opsdebug_ci.worker.containment import heard
from opsdebug_ci.worker.probes import PROBES
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.health_origin import is_unhealthy, origin_of
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.probes.steadiness import changed_bits

CASE_S = 4.0
"""Seconds of work one failed case may be investigated."""

OPERATOR_S = 10.0
"""Seconds all failed cases of one operator may be, in one worker; what explained earlier ones is still tried then."""

HURRY_S = 0.2
"""Seconds a case may take after that."""

MOST_CLUES = 8
"""Clues kept per output, the most probable ones."""

CORROBORATED = 0.95
"""Most that several rules together are worth."""

SHADOWING = (Cause.BROADCASTING,)
"""Causes that look like another one, so that the search goes on: one entry for all is also what a write smears."""

SETTLED = 0.93
"""Confidence from which no further probe is made."""


_SPENT: weakref.WeakKeyDictionary[Operator, float] = weakref.WeakKeyDictionary()
"""Seconds of work that went into the failures of each operator, in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What was found out about the failures of a case."""

    clues: tuple[Clue, ...]
    """For every failing output, most probable first per output."""

    origin: HealthEvent | None = None
    """First step that lets NaN or infinities appear; None: there is none, or no time to look."""

    mismatches: int = 0
    """Output elements whose bits changed in another launch like the first: nothing was sought then where the contract
    promises that none do, and all are written."""


def investigate(
    operator: Operator, failures: Sequence[Failure], scene_within: Callable[[Budget], Scene], seen: Observation
) -> Explanation:
    """Clues for every failing output, and where what is not finite comes from.

    Args:
        operator: whose failures these are.
        failures: one per failing output.
        scene_within: makes the scene to probe, given how long probing may go on.
        seen: what was observed before.
    """
    if seen.repeat_mismatches and operator.contract.deterministic and not seen.unwritten:
        return Explanation(clues=(), mismatches=seen.repeat_mismatches)
    spent_s = _SPENT.get(operator, 0.0)
    allowed_s = CASE_S if spent_s < OPERATOR_S else HURRY_S
    started_s = time.thread_time()
    scene = scene_within(Budget(allowed_s))
    mismatches = changed_bits(scene)
    if mismatches:
        _SPENT[operator] = spent_s + time.thread_time() - started_s
        return Explanation(clues=(), mismatches=mismatches)
    clues = tuple(clue for failure in failures for clue in _clues(scene, failure))
    unhealthy = not scene.expired and any(is_unhealthy(failure) for failure in failures)
    origin = next(heard(_origins, scene), None) if unhealthy else None
    _SPENT[operator] = spent_s + time.thread_time() - started_s
    return Explanation(clues=clues, origin=origin, mismatches=seen.repeat_mismatches)


def _origins(scene: Scene) -> Iterator[HealthEvent]:
    """Of one scene, at most one."""
    found = origin_of(scene)
    if found is not None:
        yield found


def _clues(scene: Scene, failure: Failure) -> list[Clue]:
    found = [clue for pattern in PATTERNS for clue in heard(pattern, failure)]
    for probe in PROBES:
        said = list(heard(probe, scene, failure))
        found += said
        if scene.expired or any(clue.confidence >= SETTLED and clue.cause not in SHADOWING for clue in said):
            break
    once = {(clue.rule, clue.cause, clue.statement): clue for clue in reversed(found)}
    return sorted(_corroborated(list(once.values())[::-1]), key=lambda clue: -clue.confidence)[:MOST_CLUES]


def _corroborated(found: Sequence[Clue]) -> list[Clue]:
    """Every clue, and the surest of each cause as sure as all rules that name it are together.

    The others close half of what the surest leaves open, as far as they do not all err: rules look at different
    things, but at one failure.
    """
    told: list[Clue] = []
    for cause in dict.fromkeys(clue.cause for clue in found):
        mine = sorted((clue for clue in found if clue.cause is cause), key=lambda clue: -clue.confidence)
        others = {clue.rule: clue.confidence for clue in reversed(mine) if clue.rule != mine[0].rule}
        agreed = 1 - math.prod(1 - confidence for confidence in others.values())
        together = mine[0].confidence + 0.5 * (1 - mine[0].confidence) * agreed
        told += [replace(mine[0], confidence=max(mine[0].confidence, min(together, CORROBORATED))), *mine[1:]]
    return told
