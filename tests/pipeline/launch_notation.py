"""Comparisons on a planted machine: how long processes take to start, calls to run, and by how much launches scatter.

Time is a number that launches add to; nothing waits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline_speed import MACHINE, launch_time

from opsdebug_ci.model import Case, Family, Layout
from opsdebug_ci.model.speed import Comparing, Comparison, Round
from opsdebug_ci.pipeline.comparison_plan import BASE_AGAIN, Duel, Plan
from opsdebug_ci.pipeline.comparison_verdicts import judged
from opsdebug_ci.pipeline.experiment import Due, Records, Series
from opsdebug_ci.pipeline.launch_schedule import Allowance, LaunchSchedule

CALL_NS = 1e6


def duel(operator: str, why: Comparing = Comparing.CHANGE) -> Duel:
    case = Case(
        operator=operator, dims={"N": 4}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0
    )
    head = BASE_AGAIN if why is Comparing.CONTROL else "head"
    return Duel(series=Series(case=case, calls=1), why=why, base="base", head=head)


def plan(*operators: str, control: str) -> Plan:
    """Every operator in base and head, one of them in the base again."""
    duels = (*map(duel, operators), duel(control, Comparing.CONTROL))
    return Plan(arms={}, duels=duels, one_sided=(), probe=None, machine=MACHINE, notes=())


@dataclass(kw_only=True)
class PlantedMachine:
    """Launches take `starting_s` a process and `visits_s` an arm of a series."""

    starting_s: float
    visits_s: float = 0.2
    slower: Mapping[str, float] = field(default_factory=dict)
    """Operator -> how many times as long the head takes."""
    noise: Mapping[str, float] = field(default_factory=dict)
    """Operator -> scatter of its launches, as a log ratio; 1 % for the others."""
    now_s: float = 0.0
    seed: int = 7
    records: Records = field(default_factory=Records)
    begun: list[tuple[float, str, frozenset[str]]] = field(default_factory=list)
    """When every launch began, its part, and the operators in it."""
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def launch(self, part: Round, due: Sequence[Due]) -> None:
        number = len(self.begun)
        self.begun.append((self.now_s, part.value, frozenset(one.series.case.operator for one in due)))
        self.now_s += self.starting_s * len({arm for one in due for arm in one.arms})
        for one in due:
            self._visit(part, one, number)

    def _visit(self, part: Round, due: Due, number: int) -> None:
        case = due.series.case
        for arm in due.arms:
            times = self.slower.get(case.operator, 1.0) if arm == "head" else 1.0
            scattered = self._random.gauss(0, self.noise.get(case.operator, 0.01))
            self._keep(part, case, arm, number, CALL_NS * times * math.exp(scattered))
        self.now_s += self.visits_s * len(due.arms)
        self.records.spent(case.id, dict.fromkeys(due.arms, self.visits_s))
        self.records.steps_ns[case.id] = 1.0

    def _keep(self, part: Round, case: Case, arm: str, number: int, least_ns: float) -> None:
        kept = self.records.launches.setdefault((case.id, arm, part), [])
        kept.append(launch_time(arm, part, number, least_ns))

    def compare(self, planned: Plan, allowance: Allowance) -> tuple[LaunchSchedule, dict[str, Comparison]]:
        """What the schedule did, and what it comes to by operator; controls by `~` before their name."""
        schedule = LaunchSchedule(
            planned,
            self.records,
            launch=self.launch,
            spent_s=lambda: self.now_s,
            threshold=lambda _duel: 0.1,
            allowance=allowance,
            tell=lambda _doing: None,
        )
        schedule.run()
        told = {}
        for one in planned.duels:
            name = f"{'~' if one.why is Comparing.CONTROL else ''}{one.series.case.operator}"
            told[name] = judged(one, self.records, 0.1, tests=planned.tests)
        return schedule, told

    def parts(self) -> list[tuple[str, frozenset[str], int]]:
        """Launches in a row of one part and the same operators, and how many there were."""
        found: list[tuple[str, frozenset[str], int]] = []
        for _, part, operators in self.begun:
            if found and found[-1][:2] == (part, operators):
                found[-1] = (part, operators, found[-1][2] + 1)
            else:
                found.append((part, operators, 1))
        return found
