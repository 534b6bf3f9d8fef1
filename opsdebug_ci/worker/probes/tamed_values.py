"""Which values of the inputs does the failure need?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.probes.steadiness import told_apart

RULE = "tamed_values"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taming:
    """One kind of value, and what is put in its place."""

    what: str
    """The values, in words."""

    cause: Cause
    """What a failure that needs them is called."""

    sure: float
    """How sure that is."""

    present: Callable[[torch.Tensor], torch.Tensor]
    """bool: where they are."""

    tame: Callable[[torch.Tensor], torch.Tensor]
    """The argument without them."""


def _tiny(x: torch.Tensor) -> torch.Tensor:
    return (x != 0) & (x.abs() < torch.finfo(x.dtype).tiny)


TAMINGS = (
    _Taming(
        what="NaN",
        cause=Cause.NAN_INF_HANDLING,
        sure=0.85,
        present=torch.isnan,
        tame=lambda x: torch.where(torch.isnan(x), torch.full_like(x, 0.5), x),
    ),
    _Taming(
        what="infinities",
        cause=Cause.NAN_INF_HANDLING,
        sure=0.85,
        present=torch.isinf,
        tame=lambda x: torch.where(torch.isinf(x), torch.sign(x), x),
    ),
    _Taming(
        what="subnormal values",
        cause=Cause.DENORMAL_SIGNED_ZERO,
        sure=0.85,
        present=_tiny,
        tame=lambda x: torch.where(_tiny(x), torch.full_like(x, 0.5), x),
    ),
    _Taming(
        what="negative zeros",
        cause=Cause.DENORMAL_SIGNED_ZERO,
        sure=0.85,
        present=lambda x: (x == 0) & torch.signbit(x),
        tame=lambda x: torch.where(x == 0, torch.zeros_like(x), x),
    ),
)
"""Kinds of values that a failure may need, the most telling first."""


def tamed_values(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Verifies the operator on the same inputs without their NaN, infinities, subnormals or -0.

    An operator that is right without them fails because of them. Silent where no argument holds such values, or the
    failure stays, or launches in turn do not keep to that.
    """
    for taming in TAMINGS:
        holders = [name for name, value in scene.arguments.items() if _holds(value, taming)]
        if not holders or scene.expired:
            continue
        tamed = _without(scene, taming, holders)
        if scene.passes(tamed, failure) is True and told_apart(scene, failure, tamed):
            named = ", ".join(f"`{name}`" for name in holders)
            yield failure.clue(
                RULE,
                taming.cause,
                taming.sure,
                f"right on the same inputs without the {taming.what} in {named}",
                {"needs": taming.what, "arguments": ", ".join(holders)},
            )
            return


def _without(scene: Scene, taming: _Taming, holders: list[str]) -> Arguments:
    return scene.arguments.map(lambda name, value: taming.tame(value) if name in holders else value)


def _holds(value: object, taming: _Taming) -> bool:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.numel() == 0:
        return False
    strided = value.layout is torch.strided and value.element_size() > 1
    return strided and bool(taming.present(value).any())
