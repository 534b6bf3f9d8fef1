"""Comparing the speed of arms: how many launches of which series, and what they come to.

(1) look at all arms (`comparison_plan`); (2) screen every series, with more launches where noise hides the threshold;
(3) confirm in fresh launches what showed; (4) conclude (`comparison_verdicts`), with the base against itself as the
control. Everything within a budget; what did not fit is inconclusive, never the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from opsdebug_ci.errors import EnvironmentLimitError, WorkerError
from opsdebug_ci.execution import Limits
from opsdebug_ci.model.speed import SEVERITY, Comparing, Comparison, ComparisonRun, Round
from opsdebug_ci.pipeline.alone import alone
from opsdebug_ci.pipeline.arms import ArmSpec
from opsdebug_ci.pipeline.comparison_plan import BASE_AGAIN, Demand, Duel, Plan, first_pairs, make_plan
from opsdebug_ci.pipeline.comparison_verdicts import contamination, doubted, judged, measured, probe_effect
from opsdebug_ci.pipeline.experiment import Due, Experiment
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.plan.setting import DEFAULT_THRESHOLD
from opsdebug_ci.regress.rule import launches_needed, routed, settled

SCREEN_LAUNCHES = 4
"""Launches per arm of every series: the fewest from which a 95 % interval follows."""

MOST_LAUNCHES = 16
"""Launches per arm of a noisy series, doubled from those."""

CONFIRM_LAUNCHES = 8
"""Fresh launches per arm of what showed, more where so many operators need a smaller p."""

SCREENING_SHARE = 0.6
"""Of the budget, what screening may take: what shows must be confirmed in the rest."""

STARTING_S = 4.0
"""Seconds it takes to start the processes of a launch, as measured on two cores with torch."""

PAIR_S = 0.35
"""Seconds that the four visits of a pair take in one launch, as measured."""

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
        self._complete = True
        self._longest_s = 0.0
        self._notes = list(plan.notes)

    def measure(self) -> None:
        """Screen, confirm what showed; then screen again, twice as often, whose noise hides the threshold."""
        self._launch(Round.SCREEN, self._affordable(), SCREEN_LAUNCHES)
        self._confirm()
        launches = SCREEN_LAUNCHES
        while launches < MOST_LAUNCHES and self._complete:
            noisy = [duel for duel in self._plan.duels if self._noisy(duel)]
            if not noisy:
                break
            self._launch(Round.SCREEN, noisy, launches)
            launches *= 2
        self._confirm()

    def _confirm(self) -> None:
        """What showed and was not confirmed yet, in fresh launches."""
        shown = [duel for duel in self._plan.duels if self._shown(duel)]
        if shown:
            self._launch(Round.CONFIRM, shown, launches_needed(self._plan.tests, CONFIRM_LAUNCHES))

    def _affordable(self) -> Sequence[Duel]:
        """All pairs, or those that the budget lets be screened."""
        duels, budget_s = self._plan.duels, self._means.budget_s
        if budget_s is None:
            return duels
        visits_s = SCREENING_SHARE * (budget_s - self._spent_s()) / SCREEN_LAUNCHES - STARTING_S
        chosen = first_pairs(duels, max(1, int(visits_s / PAIR_S)))
        self._complete = len(chosen) == len(duels)
        return chosen

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
            complete=self._complete,
            notes=tuple(self._notes),
        )

    def _launch(self, part: Round, duels: Sequence[Duel], count: int) -> None:
        due = _due(duels)
        if self._plan.probe is not None and due:
            due.append(Due(series=self._plan.probe, arms=self._plan.probe_arms))
        for number in range(1, count + 1):
            began_s = self._spent_s()
            budget_s = self._means.budget_s
            if budget_s is not None and began_s + self._longest_s > budget_s:
                self._complete = False
                return
            self._means.world.progress.tell(f"{part}: launch {number} of {count}, {len(duels)} comparisons")
            try:
                self._experiment.launch(part, due)
            except (WorkerError, EnvironmentLimitError) as fault:  # what was measured stands
                self._complete = False
                self._notes.append(f"measuring ended early: {fault.message}")
                return
            self._longest_s = max(self._longest_s, self._spent_s() - began_s)

    def _spent_s(self) -> float:
        return (self._means.world.monotonic_ns() - self._began_ns) / SECOND_NS

    def _threshold(self, duel: Duel) -> float:
        return threshold_of(self._means.configuration, duel.series.case.operator)

    def _noisy(self, duel: Duel) -> bool:
        effect = measured(duel, self._records, Round.SCREEN)
        confirmed = measured(duel, self._records, Round.CONFIRM)
        return effect is not None and confirmed is None and not settled(effect, self._threshold(duel))

    def _shown(self, duel: Duel) -> bool:
        effect = measured(duel, self._records, Round.SCREEN)
        confirmed = measured(duel, self._records, Round.CONFIRM)
        return effect is not None and confirmed is None and routed(effect, self._threshold(duel))


def _due(duels: Sequence[Duel]) -> list[Due]:
    """Every series once, in all arms of its pairs."""
    arms: dict[str, list[str]] = {}
    for duel in duels:
        arms.setdefault(duel.series.case.id, []).extend((duel.base, duel.head))
    series = {duel.series.case.id: duel.series for duel in duels}
    return [Due(series=series[key], arms=tuple(dict.fromkeys(names))) for key, names in arms.items()]


def _severity(comparison: Comparison) -> tuple[int, float]:
    ratio = 1.0 if comparison.effect is None else comparison.effect.ratio
    return SEVERITY.index(comparison.verdict), -ratio
