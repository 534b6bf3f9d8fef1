"""Launches of an experiment: fresh processes of every arm, visited in random order.

Decides order and what one launch is. Per launch (1) processes of all arms start together, (2) series come in random
order, (3) the arms of a series are visited in random order and then in the reverse of it, so that whatever drifts
evenly meets all alike, (4) all processes end. While one arm is visited the others wait. Deliberately concludes nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar, final

from opsdebug_ci.execution import Limits, WorkerPool
from opsdebug_ci.model import Case, Catalogue
from opsdebug_ci.model.bundle import StoredInputs
from opsdebug_ci.model.message import TimeCase
from opsdebug_ci.model.shared_probe import SHARED_PROBE_MODULE
from opsdebug_ci.model.speed import LaunchTime, Round
from opsdebug_ci.model.timing import CaseTimed, Visit
from opsdebug_ci.pipeline.arms import ArmSpec

Item = TypeVar("Item")

THREADS = 1
"""Threads of the numeric libraries while timing, where the environment does not say otherwise: with more, one other
process on the machine delays every parallel region."""

STEADY_MEMORY = {
    "GLIBC_TUNABLES": ":".join(
        (
            "glibc.malloc.hugetlb=1",
            f"glibc.malloc.mmap_threshold={2**30}",
            f"glibc.malloc.trim_threshold={2**33}",
            f"glibc.malloc.top_pad={2**26}",
        )
    )
}
"""Memory stays with the allocator between calls, on large pages where the system has them: otherwise every call of an
operator with large outputs takes fresh pages, and which ones it gets moves its time by tens of per cent. Applies to
both arms alike; what the environment says wins; other C libraries ignore it."""

STARTING_S = 4.0
"""Seconds it takes to start the processes of a launch, as measured on two cores with torch."""

VISITS = 2
"""Visits of each arm in a launch, in opposite orders."""

VISIT_S = 0.05
"""Seconds of samples in one visit."""

MOST_SAMPLES = 24
"""Samples of one visit at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One case timed in several arms."""

    case: Case
    """What is timed."""

    calls: int
    """Calls per sample, the same in all arms."""

    first: bool = True
    """It has the sizes that the operator declares."""

    inputs: StoredInputs | None = None
    """Inputs of the head, where the arms would make different ones."""

    limit_s: float | None = None
    """Longest a visit may take; None: as long as any case."""

    visits: int = VISITS
    """Visits of each arm in a launch: one where a second would take as long as another launch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A series that is to be launched."""

    series: Series
    """Which."""

    arms: tuple[str, ...]
    """In which arms."""


@dataclass(slots=True, kw_only=True)
class Records:
    """What launches left behind; grows with each."""

    launches: dict[tuple[str, str, Round], list[LaunchTime]] = field(default_factory=dict)
    """By case id, arm and round."""

    faults: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why a case could not be timed in an arm."""

    steps_ns: dict[str, float] = field(default_factory=dict)
    """Step of the clock over the calls of a sample, by case id."""

    costs_s: dict[str, float] = field(default_factory=dict)
    """Seconds spent, by case id."""

    visits_s: dict[tuple[str, str], float] = field(default_factory=dict)
    """Seconds that the visits of a case in an arm took in one launch; the longest."""

    processes: int = 0
    """Fresh processes."""

    def of(self, case_id: str, arm: str, part: Round) -> list[LaunchTime]:
        """Launches of one series in one arm, in order."""
        return self.launches.get((case_id, arm, part), [])

    def spent(self, case_id: str, by_arm: Mapping[str, float]) -> None:
        """Add the seconds of one launch of a case."""
        self.costs_s[case_id] = self.costs_s.get(case_id, 0.0) + sum(by_arm.values())
        for arm, seconds in by_arm.items():
            self.visits_s[case_id, arm] = max(seconds, self.visits_s.get((case_id, arm), 0.0))


@final
class Experiment:
    """Launches series in arms.

    Args:
        arms: by name.
        limits: of each worker.
        seed: of every random order.
    """

    def __init__(self, arms: Mapping[str, ArmSpec], limits: Limits, seed: int) -> None:
        self._arms = arms
        self._limits = limits
        self._random = random.Random(seed)  # noqa: S311 - orders, no secrets
        self._launched = -1
        self.records = Records()
        """What was measured so far."""

    def launch(self, part: Round, wanted: Sequence[Due]) -> None:
        """One launch: every series once, in those of its arms that can be timed."""
        self._launched += 1
        due = [(item.series, self._fit(item)) for item in wanted]
        names = sorted({arm for _, arms in due for arm in arms})
        with self._processes(names) as pools:
            for series, arms in self._shuffled(due):
                self._visit_all(part, series, arms, pools)

    def _fit(self, due: Due) -> tuple[str, ...]:
        """Arms in which the series did not fail before; none when fewer than two are left."""
        left = tuple(arm for arm in due.arms if (due.series.case.id, arm) not in self.records.faults)
        return left if len(left) > 1 else ()

    def _visit_all(self, part: Round, series: Series, arms: tuple[str, ...], pools: Mapping[str, WorkerPool]) -> None:
        order = self._shuffled(list(arms))
        visits: dict[str, list[Visit]] = {arm: [] for arm in arms}
        spent_s = dict.fromkeys(arms, 0.0)
        for arm in (*order, *reversed(order))[: series.visits * len(order)]:
            began = time.monotonic()
            answer = pools[arm].about(_request(series), CaseTimed, series.limit_s)
            spent_s[arm] += time.monotonic() - began
            if isinstance(answer, CaseTimed) and answer.visit is not None:
                visits[arm].append(answer.visit)
            else:
                self.records.faults[series.case.id, arm] = answer.reason or "it did not live to be timed"
                break
        else:
            for arm in arms:
                self._keep(part, series, arm, visits[arm])
        self.records.spent(series.case.id, spent_s)

    def _keep(self, part: Round, series: Series, arm: str, visits: Sequence[Visit]) -> None:
        kept = self.records.launches.setdefault((series.case.id, arm, part), [])
        kept.append(launch_time(arm, part, self._launched, visits))
        self.records.steps_ns[series.case.id] = max(visit.resolution_ns for visit in visits) / series.calls

    @contextmanager
    def _processes(self, names: Sequence[str]) -> Iterator[dict[str, WorkerPool]]:
        with ExitStack() as stack:
            pools = {name: stack.enter_context(arm_pool(self._arms[name], self._limits)) for name in names}
            order = self._shuffled(list(names))
            with ThreadPoolExecutor(max(1, len(names))) as starters:
                list(starters.map(lambda name: describe_arm(pools[name], self._arms[name]), order))
            self.records.processes += len(names)
            yield pools

    def _shuffled(self, items: list[Item]) -> list[Item]:
        return self._random.sample(items, len(items))


def arm_pool(arm: ArmSpec, limits: Limits) -> WorkerPool:
    """One worker, in the arm's own tree and interpreter."""
    environment = {**STEADY_MEMORY, **arm.environment}
    return WorkerPool(
        arm.python, workers=1, limits=limits, directory=arm.root, environment=environment, threads=THREADS
    )


def describe_arm(pool: WorkerPool, arm: ArmSpec) -> Catalogue:
    """Have the arm's worker find its operators and what all arms share."""
    return pool.describe((*arm.operators, SHARED_PROBE_MODULE), arm.root)


def launch_time(arm: str, part: Round, launch: int, visits: Sequence[Visit]) -> LaunchTime:
    """Visits of one arm in one launch, as one."""
    samples = sorted(sample for visit in visits for sample in visit.samples_ns)
    return LaunchTime(
        arm=arm,
        round=part,
        launch=launch,
        min_ns=samples[0],
        p10_ns=samples[len(samples) // 10],
        median_ns=median(samples),
        samples=len(samples),
        calls=visits[0].calls,
        throttled=any(visit.clocks.throttled for visit in visits),
    )


def _request(series: Series) -> TimeCase:
    return TimeCase(case=series.case, calls=series.calls, samples=MOST_SAMPLES, visit_s=VISIT_S, inputs=series.inputs)
