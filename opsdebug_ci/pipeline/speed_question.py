"""What a stage knows when it asks about speed, whether it asks at all, and for how long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.github import Event
from opsdebug_ci.model.machine import Calibration
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Stage
from opsdebug_ci.pipeline.budget import Budget
from opsdebug_ci.pipeline.compare import Means
from opsdebug_ci.pipeline.journal import Journal
from opsdebug_ci.pipeline.record import Start
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, Performance
from opsdebug_ci.plan.setting import PERFORMANCE_BUDGET

PULL_REQUEST_S = 90.0
"""Seconds for comparing in stage smoke, unless `budget.performance` says otherwise: somebody waits for it."""

CONFIRMING_S = 60.0
"""Seconds more, where nobody set that budget, for confirming what showed by far: four launches of 15 s each, as long as
they took on two cores with five times as much to do. Nobody waits for it who has nothing to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedQuestion:
    """What a stage knows when it asks about speed."""

    selection: Selection
    """What the stage looks at."""

    configuration: Configuration
    """The head's."""

    world: World
    """Effects."""

    event: Event
    """What triggered it."""

    bench: Workbench
    """What was found; its workers have ended."""

    began: Start
    """When the stage began."""

    location: Path
    """Directory of the store's rows; where nothing is stored, nothing is there."""

    revision: Revision
    """The code under test."""

    calibrations: tuple[Calibration, ...]
    """What the machine's probes measured."""

    budget: Budget
    """Time for speed."""

    journal: Journal | None
    """Where finished parts are kept; None: nowhere."""

    def means(self, part: Budget) -> Means:
        """What a comparison within `part` may use."""
        left_s = part.remaining_s()
        default = not self.nightly and PERFORMANCE_BUDGET not in self.configuration.budget_s.by_name
        return Means(
            configuration=self.configuration,
            world=self.world,
            budget_s=None if math.isinf(left_s) else left_s,
            confirming_s=CONFIRMING_S if default else 0.0,
        )

    @property
    def nightly(self) -> bool:
        """Whether everything is asked, not only what a change did."""
        return self.selection.stage is Stage.FULL


def is_asked(selection: Selection, configuration: Configuration) -> bool:
    """Whether this stage asks about speed."""
    wanted = configuration.performance
    nightly = selection.stage is Stage.FULL and wanted is not Performance.OFF
    return nightly or (selection.stage is Stage.SMOKE and wanted is Performance.PR)


def budget_for(selection: Selection, configuration: Configuration, stage: Budget) -> Budget:
    """What is left of the stage's, or in stage smoke one of its own."""
    if selection.stage is Stage.FULL:
        return stage.share(PERFORMANCE_BUDGET, 1.0)
    seconds = configuration.budget_s.by_name.get(PERFORMANCE_BUDGET, PULL_REQUEST_S)
    return Budget.begin(PERFORMANCE_BUDGET, seconds, stage.clock)
