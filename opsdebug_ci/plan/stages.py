"""Stages to cases: what is tried of one operator on a pull request, every night, or by hand.

Decides how much each stage tries. `choices` has the values on every axis, `cover` picks the rows. Deliberately ignores
what changed: `changed` leaves out whole operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.description import OperatorDescription
from opsdebug_ci.model.vocabulary import ReferenceKind, Stage
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.backward import backward_cases
from opsdebug_ci.plan.choices import TELLING_SHARE, Choices, choose
from opsdebug_ci.plan.cover import PairCoverage, Row, coverage, pairwise
from opsdebug_ci.plan.sizes import FULL_SIZES, SMOKE_SIZES, SizePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePlan:
    """How much of an operator a stage tries."""

    sizes: SizePlan
    """Sizes of the dims."""

    seeds: tuple[int, ...]
    """Seeds, the everyday one first."""

    budget: int
    """Most cases per operator and device; where the whole cover is larger, the least important pairs are dropped."""


STAGE_PLANS: dict[Stage, StagePlan] = {
    Stage.SMOKE: StagePlan(sizes=SMOKE_SIZES, seeds=(0, 1, 2), budget=72),
    Stage.RUN: StagePlan(sizes=SMOKE_SIZES, seeds=(0, 1, 2), budget=72),
    Stage.FULL: StagePlan(sizes=FULL_SIZES, seeds=(0, 1, 2, 3, 4), budget=480),
}
"""Stages that are planned; `replay` runs stored bundles instead."""

NEAR_SHARE = 0.12
"""Of a budget, the cases on everyday values at sizes near the declared ones: 8 of 72."""

GRADIENT_SHARE = 0.2
"""Cases of gradients, where they are declared, per case of the budget that the others have to themselves."""


def cases(
    description: OperatorDescription,
    stage: Stage,
    axes: Axes,
    checks: Sequence[ReferenceKind],
    devices: Sequence[str],
    *,
    budget: int | None = None,
) -> tuple[Case, ...]:
    """The cases of one operator, those that show most first, so that any part of them from the start is a sample: the
    everyday case of every dtype, sizes near the declared ones, telling families, a cover. Gradients are last.

    Args:
        description: the operator.
        stage: `smoke`, `full` or `run`.
        axes: values fixed by hand; such an axis has only those.
        checks: references to consult.
        devices: devices of this run; those the operator does not support are left out, so the result may be empty.
        budget: most cases per device, gradients aside; None: the stage's own, or the part of it that `axes` leave.

    Raises:
        UsageError: `axes` has a value this operator does not have; see `mismatch`.
    """
    choices = choices_for(description, stage, axes)
    families = choices.all_families
    forward = tuple(
        Case(
            operator=description.name,
            dims=choices.dims[dims],
            dtype=choices.dtypes[dtype],
            layout=choices.layouts[layout],
            inputs=families[family],
            seed=choices.seeds[seed],
            device=device,
            checks=tuple(checks),
        )
        for dtype, dims, layout, family, seed in rows(description, choices, stage, budget)
        for device in devices
        if device.partition(":")[0] in description.devices
    )
    share = int((STAGE_PLANS[stage].budget if budget is None else budget) * GRADIENT_SHARE)
    return (*forward, *backward_cases(description, choices, share, checks, devices))


def pair_coverage(
    description: OperatorDescription, stage: Stage, axes: Axes, *, budget: int | None = None
) -> tuple[PairCoverage, ...]:
    """Of every two axes, how many value pairs the cases of this plan hold and how many there are."""
    choices = choices_for(description, stage, axes)
    return coverage(choices.grid, rows(description, choices, stage, budget))


def rows(description: OperatorDescription, choices: Choices, stage: Stage, budget: int | None) -> tuple[Row, ...]:
    """Rows of the grid to run: a pairwise cover, or every dtype with every seed and family where a callable makes the
    inputs."""
    if description.own_inputs:
        every = product(*map(range, map(len, (choices.seeds, choices.all_families, choices.dtypes))))
        return tuple((dtype, 0, 0, family, seed) for seed, family, dtype in every)
    own = STAGE_PLANS[stage].budget
    limit = min(own, max(round(own * choices.share), choices.fewest)) if budget is None else budget
    everyday = choices.everyday
    near = choices.near[: max(0, min(int(limit * NEAR_SHARE), limit - len(everyday)))]
    telling = (*choices.telling, *choices.beside)[: max(0, int(limit * TELLING_SHARE) - len(everyday))]
    return pairwise(choices.grid, first=(*everyday, *near, *telling), budget=limit)


def choices_for(description: OperatorDescription, stage: Stage, axes: Axes) -> Choices:
    """The values on every axis. Raises UsageError as `cases` does."""
    if stage not in STAGE_PLANS:
        raise InternalError(f"stage `{stage}` has no cases to plan; wanted one of {', '.join(map(str, STAGE_PLANS))}")
    plan = STAGE_PLANS[stage]
    return choose(description, axes, sizes=plan.sizes, seeds=plan.seeds)
