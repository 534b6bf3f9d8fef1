"""Comparing the speed of arms: what is launched, and what that comes to.

(1) look at all arms (`comparison_plan`); (2) screen every series and confirm in fresh launches what showed
(`launch_schedule`); (3) conclude (`comparison_verdicts`), with the base against itself as the control. Everything
within a budget; what did not fit is inconclusive, never the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution import Limits
from opsdebug_ci.model.speed import SEVERITY, Comparing, Comparison, ComparisonRun
from opsdebug_ci.pipeline.alone import alone
from opsdebug_ci.pipeline.arms import ArmSpec
from opsdebug_ci.pipeline.comparison_plan import BASE_AGAIN, Demand, Duel, Plan, make_plan
from opsdebug_ci.pipeline.comparison_verdicts import contamination, doubted, judged, probe_effect
from opsdebug_ci.pipeline.experiment import Experiment
from opsdebug_ci.pipeline.launch_schedule import Allowance, LaunchSchedule
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.plan.setting import DEFAULT_THRESHOLD

SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a comparison may use."""

    configuration: Configuration
    """The head's."""

    world: World
    """Effects."""

    budget_s: float | None = None
    """Seconds after which no further launch begins, builds aside; None: as long as it takes."""

    confirming_s: float = 0.0
    """Seconds more for confirming what showed by far."""


def compare_arms(
    bases: Sequence[tuple[ArmSpec, Comparing]], head: ArmSpec, demand: Demand, means: Means
) -> ComparisonRun:
    """Compare `head` with every base.

    Args:
        bases: arms and why each is compared with; the control is another process of the first.
        head: the code under test.
        demand: which operators.
        means: what it may use.

    Raises:
        DiscoveryError: an arm's operators cannot be described.
        UsageError: no operator matches, or a base runs the head's files.
    """
    with alone(means.world), _scratch() as scratch:
        began_ns = means.world.monotonic_ns()
        plan = make_plan(bases, head, demand, means.configuration, Path(scratch))
        run = _Run(plan, demand.seed, means, began_ns)
        run.measure()
        return run.result()


def _scratch() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="opsdebug-arms-")
    except OSError as fault:
        raise EnvironmentLimitError(
            f"no temporary directory: {fault}", next_step="set TMPDIR to a directory that can be written"
        ) from fault


def threshold_of(configuration: Configuration, operator: str) -> float:
    """Slowdown of an operator that needs a person, as a share."""
    return configuration.threshold.of(operator) or DEFAULT_THRESHOLD


@final
class _Run:
    """One comparison while it goes on."""

    def __init__(self, plan: Plan, seed: int, means: Means, began_ns: int) -> None:
        self._plan = plan
        self._seed = seed
        self._means = means
        self._began_ns = began_ns
        configuration = means.configuration
        limits = Limits(timeout_s=configuration.timeout_s, memory_bytes=configuration.memory_bytes)
        self._experiment = Experiment(plan.arms, limits, seed)
        self._records = self._experiment.records
        self._schedule = LaunchSchedule(
            plan,
            self._records,
            launch=self._experiment.launch,
            spent_s=self._spent_s,
            threshold=self._threshold,
            allowance=Allowance(budget_s=means.budget_s, confirming_s=means.confirming_s),
            tell=means.world.progress.tell,
        )

    def measure(self) -> None:
        """Launch everything that there is time for."""
        self._schedule.run()

    def result(self) -> ComparisonRun:
        """What it comes to."""
        plan = self._plan
        told = [judged(duel, self._records, self._threshold(duel), tests=plan.tests) for duel in plan.duels]
        controls = tuple(one for one in told if one.why is Comparing.CONTROL)
        probe = probe_effect(plan, self._records)
        doubt = contamination(controls, probe)
        believed = [doubted(one, doubt) for one in told if one.why is not Comparing.CONTROL]
        return ComparisonRun(
            arms=tuple(spec.facts for name, spec in plan.arms.items() if name != BASE_AGAIN),
            comparisons=tuple(sorted((*believed, *plan.one_sided), key=_severity)),
            controls=controls,
            contaminated=doubt,
            probe_ratio=None if probe is None else probe.ratio,
            machine=plan.machine,
            processes=self._records.processes,
            duration_s=round(self._spent_s(), 1),
            seed=self._seed,
            complete=self._schedule.complete,
            notes=(*plan.notes, *self._schedule.notes),
        )

    def _spent_s(self) -> float:
        return (self._means.world.monotonic_ns() - self._began_ns) / SECOND_NS

    def _threshold(self, duel: Duel) -> float:
        return threshold_of(self._means.configuration, duel.series.case.operator)


def _severity(comparison: Comparison) -> tuple[int, float]:
    ratio = 1.0 if comparison.effect is None else comparison.effect.ratio
    return SEVERITY.index(comparison.verdict), -ratio
