"""Whether outputs follow the process's random generators although nothing declares it.

Every launch finds the generators of the interpreter, of numpy and of torch seeded alike, so that an operator and its
reference may draw the same numbers. An operator that draws where its reference does not would look deterministic by
that alone. Decides what drawing is: a generator stands elsewhere afterwards. Deliberately silent where the reference
draws too, and about generators of the operator's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.model.property import Property, PropertyReading
from opsdebug_ci.worker.isolation import generator_positions, isolated
from opsdebug_ci.worker.launch_reading import LaunchReading, differing
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.scene import Scene

SEEDS = 60
"""Other seeds tried: what happens in one launch of twenty shows with probability 1 - 0.95**60 = 95 %."""

SEEDS_S = 0.5
"""Processor seconds after which no further one is."""


def other_seeds(scene: Scene, launch: LaunchReading) -> Iterator[PropertyReading]:
    """Where the operator draws and its reference does not, SEEDS more launches and one, until bits differ."""
    if not (scene.operator.contract.deterministic and launch.drew) or launch.repeat_mismatches:
        return
    with isolated(scene.case.seed):
        untouched = generator_positions()
    if scene.reference(scene.arguments) is None or generator_positions() != untouched:
        return
    first = scene.launch(scene.arguments, watched=True)
    if first is None:
        return
    compared = sum(output.numel() for output in first.values())
    budget = Budget(SEEDS_S, scene.budget)
    for seed in range(scene.case.seed + 1, scene.case.seed + 1 + SEEDS):
        if budget.expired or not compared:
            return
        outputs = scene.launch(scene.arguments, watched=True, seed=seed)
        if outputs is None:
            return
        count = differing(first, outputs)
        if count:
            yield PropertyReading(
                property=Property.OTHER_SEEDS, compared=compared, broken=count, evidence={"seed": seed}
            )
            return
    yield PropertyReading(property=Property.OTHER_SEEDS, compared=compared, broken=0, evidence={})
