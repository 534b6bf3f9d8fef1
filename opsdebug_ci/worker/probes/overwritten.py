"""Is the output what one gets by writing the result over an argument before all of it is read?"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.variants import Explanation, explain
from opsdebug_ci.worker.probes.scene import Scene

RULE = "overwritten"

SUREST = 0.975
"""Just more than one entry for all is worth, which a write that smears it reproduces as well."""

MOST_SLICES = 256
"""Slices of an axis up to which the writing is imitated: it takes a run of the reference for each."""


def overwritten(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Runs the reference on a buffer that its own result is written into, slice by slice and as a whole.

    Needs an argument of the output's shape. Told apart from chance by the share of elements reproduced. Silent where
    no such imitation reproduces the output.
    """
    best: tuple[Explanation, str] | None = None
    for name, value in scene.arguments.items():
        if not isinstance(value, torch.Tensor) or value.shape != failure.actual.shape or value.ndim == 0:
            continue
        for what, candidate in _imitations(scene, failure, name, value):
            explanation = None if candidate is None else explain(failure, candidate)
            if explanation is not None and (best is None or explanation.confidence > best[0].confidence):
                best = explanation, f"`{name}` {what}"
            if best is not None and best[0].complete:
                break
    if best is None or best[0].confidence == 0.0:
        return
    explanation, what = best
    yield failure.clue(
        RULE,
        Cause.ALIASING_INPLACE,
        min(explanation.confidence, SUREST),
        f"the reference whose result is written over {what} reproduces {explanation.elements:,} of "
        f"{int(failure.bad.sum()):,} bad elements",
        {"reproduced_bad": explanation.bad, "reproduced_good": explanation.good, "by_chance": explanation.chance},
    )


def _imitations(
    scene: Scene, failure: Failure, name: str, value: torch.Tensor
) -> Iterator[tuple[str, torch.Tensor | None]]:
    position = scene.position(failure.output)
    for axis in range(value.ndim - 1, -1, -1):
        for order, places in _orders(value.shape[axis]):
            if not scene.expired:
                yield (
                    f"while it is read, slice by slice along axis {axis}, {order}",
                    _written_over(scene, name, position, axis, places),
                )
    yield "before it runs a second time", _twice(scene, name, position)


def _orders(size: int) -> Iterator[tuple[str, list[int]]]:
    """Orders in which slices may be written; the one at the end of a shift comes last of all."""
    if not 1 < size <= MOST_SLICES:
        return
    forward = list(range(size))
    yield "first to last", forward
    yield "last to first", forward[::-1]
    yield "second to last, then the first", [*forward[1:], 0]
    yield "last but one to first, then the last", [*forward[-2::-1], size - 1]


def _written_over(scene: Scene, name: str, position: int, axis: int, places: list[int]) -> torch.Tensor | None:
    """Each slice is computed from the buffer as it is then, and written into it, rounded to its dtype."""
    buffer: torch.Tensor = scene.arguments[name].clone()
    for place in places:
        if scene.expired:
            return None
        outputs = _with(scene, name, buffer)
        if outputs is None or position >= len(outputs) or outputs[position].shape != buffer.shape:
            return None
        buffer.select(axis, place).copy_(outputs[position].select(axis, place))
    return buffer


def _twice(scene: Scene, name: str, position: int) -> torch.Tensor | None:
    outputs = _with(scene, name, scene.arguments[name])
    if outputs is None or position >= len(outputs):
        return None
    again = _with(scene, name, outputs[position])
    return None if again is None or position >= len(again) else again[position]


def _with(scene: Scene, name: str, value: torch.Tensor) -> list[torch.Tensor] | None:
    return scene.reference(scene.arguments.map(lambda other, old: value if other == name else old))
