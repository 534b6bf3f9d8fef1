"""In which step do NaN or infinities first appear, or vanish?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import PurePath

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.health import Flow, HealthEvent, StepSource
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.trace import Limits
from opsdebug_ci.worker.health_reading import is_origin, read_health
from opsdebug_ci.worker.probes.scene import Scene

RULE = "health_origin"

ALONE, AMONG = 0.7, 0.4
"""How sure it is where nothing else is wrong, and where values are wrong too: it says where, hardly why."""

STEPS = (StepSource.CALL, StepSource.LAUNCH, StepSource.CHECKPOINT)
"""Where a step can be named; an output is none."""


def health_origin(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Launches the operator once more with every call and kernel launch looked at, before and after.

    Names the first step that lets NaN or infinities appear though its inputs are finite, or vanish, where the reference
    in float64 does not. Silent where no step does: such values were handed in, or left by memory nobody wrote.
    """
    sick = ~(torch.isfinite(failure.actual.double()) & torch.isfinite(failure.expected.double()))
    if not bool((sick & failure.bad).any()):
        return
    events = health_of(scene)
    made = bool((failure.bad & ~torch.isfinite(failure.actual.double())).any())
    event = next((e for e in events if e.source in STEPS and (is_origin(e) if made else _vanishes(e))), None)
    if event is None or event.name.startswith("memory"):
        return
    sure = ALONE if bool((sick | ~failure.bad).all()) else AMONG
    what = _appearing(event) if made else "NaN or infinities first vanish"
    why = "its inputs have none" if made else "the reference keeps them"
    evidence: dict[str, EvidenceValue] = {"step": event.name, "seen_as": str(event.source), "place": event.place or ""}
    statement = f"{what} in {event.source} `{event.name}`{_at(event)}: {why}"
    yield failure.clue(RULE, Cause.NAN_INF_HANDLING, sure, statement, evidence)


def origin_of(scene: Scene) -> HealthEvent | None:
    """The first step of the scene's operator that lets NaN or infinities appear where the reference has none."""
    return next((event for event in health_of(scene) if is_origin(event)), None)


def health_of(scene: Scene) -> tuple[HealthEvent, ...]:
    """Unhealthy steps of one watched launch, made the first time they are asked for."""
    if not scene.health:
        anything = Limits(magnitude=math.inf)
        scene.health.append(read_health(scene.operator, scene.arguments, scene.case, anything).events)
    return scene.health[0]


def is_unhealthy(failure: Failure) -> bool:
    """Whether a failing output holds anything that is not finite, or lacks it where it belongs."""
    return not bool(torch.isfinite(failure.actual.double()).all() and torch.isfinite(failure.expected.double()).all())


def _vanishes(event: HealthEvent) -> bool:
    return event.flow is Flow.DISAPPEAR and not event.legal


def _appearing(event: HealthEvent) -> str:
    what = " and ".join(word for count, word in ((event.nan, "NaN"), (event.infinite, "infinities")) if count)
    return f"{what} first appear{'' if event.infinite else 's'}"


def _at(event: HealthEvent) -> str:
    return "" if event.place is None else f" ({PurePath(event.place).name})"
