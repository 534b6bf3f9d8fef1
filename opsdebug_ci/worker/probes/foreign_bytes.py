"""Does the output depend on bytes that belong to no element of any argument?"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.launch_reading import Outputs
from opsdebug_ci.worker.probes.scene import Scene

RULE = "foreign_bytes"

ZONE = 4096
"""Elements of filler before and after every argument, a multiple of 512 bytes so that alignment is kept."""

MOST_ELEMENTS = 1 << 24
"""Elements of an argument that is surrounded; larger ones are handed over as they are."""

REPEATS = 4
"""Launches on one filler that must agree: a race of few outcomes agrees with itself now and then."""

FILLS = (0.0, 3.0, 777.0)
"""What the filler holds in turn: harmless in a sum, ordinary, larger than what is around. All are exact everywhere."""


def foreign_bytes(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Launches the operator on arguments that lie between filler, with several fillers: gaps, before, behind.

    Elements, sizes, strides and the alignment of the first element stay the same, so outputs that follow the filler
    come from reads outside the arguments. Silent when launches on the same filler differ as well.
    """
    everything = [name for name, value in scene.arguments.items() if _fits(value)]
    if not everything or scene.expired:
        return
    follows = _following(scene, failure.output, everything)
    if not follows:
        return
    alone = {name: _following(scene, failure.output, [name]) for name in everything if not scene.expired}
    named = [name for name, count in alone.items() if count] or everything
    listed = ", ".join(f"`{name}`" for name in named)
    total = failure.actual.numel()
    yield failure.clue(
        RULE,
        Cause.OOB_READ,
        0.96,
        f"{follows:,} of {total:,} elements follow bytes that belong to no element of {listed}",
        {"elements_that_follow": follows, "arguments": ", ".join(named)},
    )


def _fits(value: object) -> bool:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return False
    return 0 < value.numel() <= MOST_ELEMENTS


def _following(scene: Scene, output: str, names: list[str]) -> int:
    """Elements of the output that differ between fillers, and not between two launches on one."""
    first = scene.launch(_surrounded(scene.arguments, names, FILLS[0]), watched=True)
    repeats = [scene.launch(_surrounded(scene.arguments, names, FILLS[0]), watched=True) for _ in range(REPEATS)]
    if first is None or any(again is None or _differing(first, again, output) for again in repeats):
        return 0
    others = (scene.launch(_surrounded(scene.arguments, names, fill), watched=True) for fill in FILLS[1:])
    return max((_differing(first, other, output) for other in others if other is not None), default=0)


def _differing(one: Outputs, other: Outputs, name: str) -> int:
    a, b = one.get(name), other.get(name)
    if a is None or b is None or a.shape != b.shape:
        return 0
    return int((~((a == b) | (torch.isnan(a) & torch.isnan(b)) if a.is_floating_point() else a == b)).sum())


def _surrounded(arguments: Arguments, names: list[str], fill: float) -> Arguments:
    return arguments.map(lambda name, value: surrounded(value, fill) if name in names else value)


def surrounded(value: torch.Tensor, fill: float) -> torch.Tensor:
    """The same view in a new storage whose other elements all hold `fill`."""
    span = 1 + sum((size - 1) * abs(stride) for size, stride in zip(value.shape, value.stride(), strict=True))
    few = torch.tensor([fill], dtype=torch.float32, device=value.device).to(value.dtype)
    storage = few.repeat(span + 2 * ZONE)
    start = ZONE + value.storage_offset() % ZONE if value.storage_offset() % ZONE + span < span + ZONE else ZONE
    view = torch.as_strided(storage, value.shape, value.stride(), start)
    return view.copy_(value) if not _overlaps(value) else _copied_overlapping(view, value)


def _overlaps(value: torch.Tensor) -> bool:
    return any(size > 1 and stride == 0 for size, stride in zip(value.shape, value.stride(), strict=True))


def _copied_overlapping(view: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Expanded axes hold one element each: that one is copied."""
    index = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.stride())
    view[index].copy_(value[index])
    return view
