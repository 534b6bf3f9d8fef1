"""Does the failure go away when a view is copied to contiguous memory?"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.probes.steadiness import told_apart

RULE = "contiguous_copy"


def contiguous_copy(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Launches the operator on contiguous copies of its views: all of them, then each alone to tell which matters.

    The values stay the same, so an operator that is right on the copies ignores a stride or an offset. Silent where
    every argument is contiguous, the copies fail as well, or launches in turn do not keep to that.
    """
    views = [name for name, value in scene.arguments.items() if _is_view(value)]
    if not views or scene.expired or scene.passes(_copied(scene, views), failure) is not True:
        return
    alone = [
        name for name in views if len(views) > 1 and not scene.expired and scene.passes(_copied(scene, [name]), failure)
    ]
    if not told_apart(scene, failure, _copied(scene, views)):
        return
    named = alone or views
    words = ", ".join(f"`{name}` {_layout(scene.arguments[name])}" for name in named)
    yield failure.clue(
        RULE,
        Cause.STRIDE_VIEW,
        0.94,
        f"right on a contiguous copy of the same values, wrong on the view: {words}",
        {"views": ", ".join(views), "healed_by_copying": ", ".join(named)},
    )


def _is_view(value: object) -> bool:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return False
    return value.numel() > 1 and not value.is_contiguous()


def _layout(value: torch.Tensor) -> str:
    return f"(strides {list(value.stride())})"


def _copied(scene: Scene, names: list[str]) -> Arguments:
    return scene.arguments.map(lambda name, value: value.contiguous() if name in names else value)
