"""The launches of a comparison within its time: which series are launched next, and when that ends.

Decides the order: (1) screen every series, or those there is time for, (2) confirm what showed, what showed by far
first, (3) screen again, twice as often, whose noise hides the threshold, and after every such round confirm again.
Nothing that showed waits for what did not. What a launch takes is learned from those that were made. Deliberately
concludes nothing, and chooses by the screen alone how often something is confirmed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from opsdebug_ci.errors import EnvironmentLimitError, WorkerError
from opsdebug_ci.model.speed import Comparing, Effect, Round
from opsdebug_ci.pipeline.comparison_plan import Duel, Plan, first_pairs
from opsdebug_ci.pipeline.comparison_verdicts import measured
from opsdebug_ci.pipeline.experiment import STARTING_S, Due, Records
from opsdebug_ci.regress.confirmation import by_far, launches_planned
from opsdebug_ci.regress.rule import routed, settled

SCREEN_LAUNCHES = 4
"""Launches per arm of every series: the fewest from which a 95 % interval follows."""

MOST_LAUNCHES = 16
"""Launches per arm of a noisy series, doubled from those."""

SCREENING_SHARE = 0.6
"""Of the budget, what screening may take: what shows must be confirmed in the rest."""

PAIR_S = 0.35
"""Seconds that the four visits of a pair take in one launch, as measured; until this run has measured its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How long launches may go on; seconds since the comparison began."""

    budget_s: float | None
    """No further launch begins after so long; None: as long as it takes."""

    confirming_s: float = 0.0
    """So much longer for confirming what showed by far."""


@final
class LaunchSchedule:
    """Launches in order until all is told or time is over.

    Args:
        plan: what is compared.
        records: what launches leave behind.
        launch: makes one launch.
        spent_s: seconds since the comparison began.
        threshold: slowdown of a pair that needs a person, as a share.
        allowance: how long it may go on.
        tell: is told what begins.
    """

    def __init__(
        self,
        plan: Plan,
        records: Records,
        *,
        launch: Callable[[Round, Sequence[Due]], None],
        spent_s: Callable[[], float],
        threshold: Callable[[Duel], float],
        allowance: Allowance,
        tell: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._records = records
        self._make = launch
        self._spent_s = spent_s
        self._threshold = threshold
        self._allowance = allowance
        self._tell = tell
        self._starting_s = 0.0
        self.complete = True
        """Everything planned was done."""
        self.notes: list[str] = []
        """What a reader must know."""

    def run(self) -> None:
        """Screen, confirm what showed; screen again what noise hides, and confirm what shows then."""
        duels = self._affordable()
        self._screen(duels, SCREEN_LAUNCHES)
        self._confirm()
        launches = SCREEN_LAUNCHES
        while launches < MOST_LAUNCHES and self.complete:
            noisy = [duel for duel in self._plan.duels if self._noisy(duel)]
            if not noisy:
                return
            self._screen(noisy, launches)
            self._confirm()
            launches *= 2

    def _affordable(self) -> Sequence[Duel]:
        """All pairs, or those that the budget lets be screened."""
        duels, budget_s = self._plan.duels, self._allowance.budget_s
        if budget_s is None:
            return duels
        visits_s = SCREENING_SHARE * (budget_s - self._spent_s()) / SCREEN_LAUNCHES - STARTING_S
        return self._at_most(duels, max(1, int(visits_s / PAIR_S)))

    def _screen(self, duels: Sequence[Duel], count: int) -> None:
        """So many launches; after the first only of pairs that can have all of them, by what that one took."""
        for number in range(1, count + 1):
            if not self._launch(Round.SCREEN, duels, f"launch {number} of {count}"):
                return
            if number == 1 and count > 1:
                duels = self._still_affordable(duels, count - 1)

    def _still_affordable(self, duels: Sequence[Duel], launches: int) -> Sequence[Duel]:
        """Those pairs for which so many more launches fit; all where starting processes alone does not."""
        if self._allowance.budget_s is None:
            return duels
        room_s = (self._allowance.budget_s - self._spent_s()) / launches
        if room_s <= self._starting_s:
            return duels
        most = sum(duel.why is not Comparing.CONTROL for duel in duels)
        while most > 1 and self._expected_s(first_pairs(duels, most)) > room_s:
            most -= 1
        return self._at_most(duels, most)

    def _at_most(self, duels: Sequence[Duel], pairs: int) -> Sequence[Duel]:
        chosen = first_pairs(duels, pairs)
        self.complete = self.complete and len(chosen) == len(duels)
        return chosen

    def _confirm(self) -> None:
        """What showed and was not confirmed yet, in fresh launches."""
        while shown := [duel for duel in self._plan.duels if self._shown(duel)]:
            served = self._served(shown)
            most = max(self._planned(duel) for duel in served)
            for number in range(1, most + 1):
                due = [duel for duel in served if self._planned(duel) >= number]
                if not self._launch(Round.CONFIRM, due, f"launch {number} of {most}"):
                    return
            if any(self._shown(duel) for duel in served):  # could not be timed: more of the same would not help
                return

    def _served(self, shown: Sequence[Duel]) -> Sequence[Duel]:
        """Those that can be confirmed whole in the time that is left: what showed by far, and most, first."""
        ordered = sorted(shown, key=lambda duel: (self._planned(duel), -self._distance(duel)))
        served: list[Duel] = []
        visits_s = 0.0
        for duel in ordered:
            launches = self._planned(duel)
            visits_s += launches * self._visits_s(duel.series.case.id, (duel.base, duel.head))
            if served and self._spent_s() + launches * self._starting_s + visits_s > self._end_s(duel):
                break
            served.append(duel)
        return served

    def _launch(self, part: Round, duels: Sequence[Duel], which: str) -> bool:
        """One launch of the pairs that there is time for; False: there was none, or measuring had to end."""
        due = self._in_time(part, duels)
        self.complete = self.complete and len(due) == len(duels)
        if not due:
            return False
        self._tell(f"{part}: {which}, {len(due)} comparisons")
        before, visited_s = self._spent_s(), sum(self._records.costs_s.values())
        try:
            self._make(part, self._with_probe(due))
        except (WorkerError, EnvironmentLimitError) as fault:  # what was measured stands
            self.complete = False
            self.notes.append(f"measuring ended early: {fault.message}")
            return False
        visited_s = sum(self._records.costs_s.values()) - visited_s
        self._starting_s = max(self._starting_s, self._spent_s() - before - visited_s)
        return True

    def _in_time(self, part: Round, duels: Sequence[Duel]) -> Sequence[Duel]:
        """Pairs whose launch may begin: to screen, if it will end in time; to confirm, as long as there is time at all.

        One launch too few to confirm leaves all before it without an answer, and the promise is when the last begins.
        """
        spent_s, budget_s = self._spent_s(), self._allowance.budget_s
        if part is Round.CONFIRM:
            return [duel for duel in duels if spent_s < self._end_s(duel)]
        return duels if budget_s is None or spent_s + self._expected_s(duels) <= budget_s else ()

    def _end_s(self, duel: Duel) -> float:
        """When no further launch that confirms a pair begins."""
        budget_s, screen = self._allowance.budget_s, measured(duel, self._records, Round.SCREEN)
        if budget_s is None:
            return math.inf
        far = screen is not None and by_far(screen, self._threshold(duel), self._plan.tests)
        return budget_s + (self._allowance.confirming_s if far else 0.0)

    def _expected_s(self, duels: Sequence[Duel]) -> float:
        """Seconds that a launch takes, by the longest of those before; 0 before the first."""
        return self._starting_s + sum(self._visits_s(due.series.case.id, due.arms) for due in self._with_probe(duels))

    def _visits_s(self, case_id: str, arms: Sequence[str]) -> float:
        return sum(self._records.visits_s.get((case_id, arm), 0.0) for arm in arms)

    def _with_probe(self, duels: Sequence[Duel]) -> list[Due]:
        probe = self._plan.probe
        return [*due_of(duels), *([] if probe is None else [Due(series=probe, arms=self._plan.probe_arms)])]

    def _planned(self, duel: Duel) -> int:
        screen = measured(duel, self._records, Round.SCREEN)
        return 0 if screen is None else launches_planned(screen, self._threshold(duel), self._plan.tests)

    def _distance(self, duel: Duel) -> float:
        screen = measured(duel, self._records, Round.SCREEN)
        return 0.0 if screen is None else abs(math.log(screen.ratio))

    def _noisy(self, duel: Duel) -> bool:
        effect = self._unconfirmed(duel)
        return effect is not None and not settled(effect, self._threshold(duel))

    def _shown(self, duel: Duel) -> bool:
        effect = self._unconfirmed(duel)
        return effect is not None and routed(effect, self._threshold(duel))

    def _unconfirmed(self, duel: Duel) -> Effect | None:
        """What a pair's screen says, where nothing fresh was measured of it."""
        confirmed = measured(duel, self._records, Round.CONFIRM)
        return measured(duel, self._records, Round.SCREEN) if confirmed is None else None


def due_of(duels: Sequence[Duel]) -> list[Due]:
    """Every series once, in all arms of its pairs."""
    arms: dict[str, list[str]] = {}
    for duel in duels:
        arms.setdefault(duel.series.case.id, []).extend((duel.base, duel.head))
    series = {duel.series.case.id: duel.series for duel in duels}
    return [Due(series=series[key], arms=tuple(dict.fromkeys(names))) for key, names in arms.items()]
