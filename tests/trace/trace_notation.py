"""A small notation for watched runs in this process: `flows(function, x)`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.trace import HealthWatch, Interception, Limits, Survey

LIMITS = Limits(magnitude=1e30)


def watched(function: Callable[..., object], *tensors: torch.Tensor) -> list[HealthEvent]:
    """Events of one run of `function` on these very tensors."""
    watch = HealthWatch(LIMITS)
    watch.given({f"x{position}": value for position, value in enumerate(tensors)})
    with watch.listening(), Interception(watch):
        result = function(*tensors)
    watch.returned({"out0": result} if isinstance(result, torch.Tensor) else {})
    return watch.events


def flows(function: Callable[..., object], *tensors: torch.Tensor) -> list[str]:
    """The same as `appear call log`."""
    return [f"{event.flow} {event.source} {event.name}" for event in watched(function, *tensors)]


def surveyed(function: Callable[..., object], *tensors: torch.Tensor, **options: object) -> Survey:
    """A quick look at one run."""
    survey = Survey(LIMITS, "case", **options)
    survey.given({f"x{position}": value for position, value in enumerate(tensors)})
    with survey.listening(), Interception(survey):
        result = function(*tensors)
    survey.returned({"out0": result} if isinstance(result, torch.Tensor) else {})
    return survey
