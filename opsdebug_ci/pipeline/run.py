"""`opsdebug run`: operators picked by hand, every failure gates, nothing is stored."""

from __future__ import annotations

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.run import CiContext
from opsdebug_ci.model.vocabulary import Gate
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.verification import Baseline, verify
from opsdebug_ci.pipeline.workbench import workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, read_revision


def run(selection: Selection, configuration: Configuration, world: World) -> RunDocument:
    """Verify the selected operators. A failure known from before is a failure all the same: the person asked."""
    with workbench(configuration, world) as bench:
        return verify(
            selection,
            bench,
            configuration,
            world,
            baseline=Baseline(gate=Gate.ALL),
            revision=read_revision(configuration.root),
            ci=CiContext(),
        )
