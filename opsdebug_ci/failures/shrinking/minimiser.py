"""From a failing case to the smallest one that fails for the same cause, and what just does not.

(0) confirm: does it fail again, and how often?
(1) simpler settings, (2) smaller dims, (4) float32
(5) fewer values, where they can be kept
(6) verify: the cause is compared, the rate counted, passing neighbours are looked for

There is no phase (3), cutting steps: nothing keeps the values between the steps of an operator.

On slippage. Comparing causes takes seconds, comparing what can be seen takes none, so the search goes by what can be
seen and the cause is compared once, at its end. Where it turns out to be another, the last phase is undone. Where that
does not help, the search is made again from the start, now with the cause compared in every candidate that looks the
same: what it knows costs nothing. What slipped is reported as a failure of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from opsdebug_ci.failures.flakiness import tries_to_see
from opsdebug_ci.failures.shrinking.borders import Border, BorderSearch, nearest
from opsdebug_ci.failures.shrinking.budget import Budget, Clock
from opsdebug_ci.failures.shrinking.configuration import simplified, widened
from opsdebug_ci.failures.shrinking.ledger import Ledger, OtherFailure, Trials
from opsdebug_ci.failures.shrinking.reduction import Reduction, ValueSearch
from opsdebug_ci.failures.shrinking.shape import ShapeSearch
from opsdebug_ci.failures.shrinking.space import Space
from opsdebug_ci.failures.shrinking.trial import Candidate, Outcome
from opsdebug_ci.failures.shrinking.values import Values
from opsdebug_ci.model.bundle import Rate
from opsdebug_ci.model.case import Case

CONFIRMATIONS = 5
"""Runs before anything is varied."""

CONFIRMING = 0.2
"""Share of the time after which one more is not begun: one is enough for what takes long."""

MEASURED = 20
"""Runs that measure the rate of a flaky failure, and at most those that verify the smallest case."""

LEAST_RATE = 0.2
"""Below it, nothing is shrunk: a candidate would take more than twenty runs."""

COMPARED = 3
"""Other failures whose causes are compared before they are told."""

UNDONE = 2
"""Phases whose ends are compared, the last one first, before the search is made again."""

MOST_WIDE = 4
"""Candidates at a time at most: those beyond the first that fails alike are paid for as well."""

STRICT_RESERVE = 0.05
"""Share of the budget that is left for the end where every candidate's cause has been compared already."""

Keep = Callable[[Case], "Values | None"]
"""The inputs of a case, made and held; None: they cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """What a shrinking came to."""

    smallest: Candidate
    """The smallest case that fails for the same cause; what it began with when nothing smaller does."""

    reproduced: Rate
    """How often what it began with failed again."""

    verified: bool
    """The cause of the smallest was compared, and is the same."""

    rate: Rate | None = None
    """How often the smallest fails; None: there was no time to count."""

    borders: tuple[Border, ...] = ()
    """Passing neighbours, the most telling first."""

    reduction: Reduction | None = None
    """What is left of its values; None: they were not reduced."""

    others: tuple[OtherFailure, ...] = ()
    """Other failures met on the way."""

    trials: int = 0
    """Runs."""

    seconds: float = 0.0
    """Time it took."""

    ended: bool = False
    """The budget ended it: there may be smaller ones."""

    notes: tuple[str, ...] = field(default=())
    """What a reader must know."""

    @property
    def boundary(self) -> str | None:
        """All borders in one line."""
        return "; ".join(border.text for border in self.borders if border.text) or None

    @property
    def nearest_passing(self) -> Case | None:
        """The passing case that tells most."""
        return self.borders[0].passing if self.borders else None


def minimise(
    start: Candidate,
    trials: Trials,
    space: Space,
    *,
    clock: Clock,
    budget: Budget | None = None,
    keep: Keep | None = None,
    state: Path | None = None,
    width: int = 1,
) -> Shrunk:
    """Shrink a failure.

    Args:
        start: what failed.
        trials: how candidates are run.
        space: what may be varied.
        clock: seconds, never going back.
        budget: how much may be spent.
        keep: holds the inputs of a case, so that their values can be reduced; None: they are not.
        state: file that every run is written to before it begins, and that is gone on from.
        width: candidates run at a time, as far as that helps.

    Raises:
        UsageError: `state` holds something else.
    """
    width = max(1, min(width, MOST_WIDE))
    ledger = Ledger(trials, start, budget=budget or Budget(), clock=clock, state=state, width=width)
    return _Minimiser(start, ledger, space, keep).run()


@final
class _Minimiser:
    """One shrinking."""

    def __init__(self, start: Candidate, ledger: Ledger, space: Space, keep: Keep | None) -> None:
        self._start = start
        self._ledger = ledger
        self._space = space
        self._keep = keep

    def run(self) -> Shrunk:
        reproduced = self._confirmed()
        share = reproduced.failed / reproduced.tries if reproduced.tries else 0.0
        if share < LEAST_RATE:
            return self._unshrunk(reproduced)
        self._ledger.repeats = tries_to_see(share)
        smallest, verified = self._smallest()
        borders = self._borders(smallest)
        reduction = self._reduced(smallest)
        return self._told(
            smallest if reduction is None else reduction.candidate, verified, reproduced, borders, reduction
        )

    def _confirmed(self) -> Rate:
        """How often it fails again; a failure that nothing shows but its cause is asked for its cause from here on."""
        failed, tries = self._ledger.tally("confirm", self._start, CONFIRMATIONS, share=CONFIRMING)
        if tries and not failed and self._ledger.full(self._start) is Outcome.SAME:
            self._ledger.causes_only = True
            return Rate(failed=1, tries=1)
        if 0 < failed < tries:
            failed, tries = self._ledger.tally("confirm", self._start, MEASURED, share=CONFIRMING)
        return Rate(failed=failed, tries=tries)

    def _smallest(self) -> tuple[Candidate, bool]:
        """The smallest case found, and whether its cause is known to be the same."""
        for found in reversed(list(self._steps())[-UNDONE:]):
            outcome = Outcome.SAME if found.key == self._start.key else self._ledger.full(found, final=True)
            if outcome in (Outcome.SAME, Outcome.UNSETTLED):
                return found, outcome is Outcome.SAME
        self._ledger.strict = True
        self._ledger.account.reserved = STRICT_RESERVE
        return list(self._steps())[-1], True

    def _steps(self) -> Iterator[Candidate]:
        """What each phase came to, starting with what it began with."""
        ledger, current = self._ledger, self._start
        yield current
        if current.values is not None:
            current = Candidate(case=current.case)
            if ledger.outcome(current) is not Outcome.SAME:
                return
            yield current
        current = simplified(current, ledger.first)
        yield current
        current = ShapeSearch(ledger.first, ledger.outcome, self._space).shrink(current)
        yield current
        yield widened(current, ledger.first, self._space)

    def _borders(self, smallest: Candidate) -> tuple[Border, ...]:
        """Passing neighbours, by runs of the reserve if need be; else the nearest that was met."""
        if smallest.values is not None:
            return ()
        search = BorderSearch(lambda each: self._ledger.outcome(each, final=True), self._space, self._start)
        found = search.find(smallest)
        met = None if found else nearest(smallest, self._ledger.passed)
        return found if met is None else (met,)

    def _reduced(self, smallest: Candidate) -> Reduction | None:
        """Fewer values of the smallest case, unless their cause is another then."""
        values = smallest.values
        if values is None and self._keep is not None and self._ledger.account.affords(final=False):
            values = self._keep(smallest.case)
        if values is None:
            return None
        self._ledger.strict = False  # a hundred comparisons of causes are too many; one at the end has to do
        found = ValueSearch(self._ledger.first, self._ledger.outcome, self._space).reduce(smallest, values)
        if found is None or self._ledger.full(found.candidate, final=True) is not Outcome.SAME:
            return None
        return found

    def _told(
        self,
        smallest: Candidate,
        verified: bool,
        reproduced: Rate,
        borders: tuple[Border, ...],
        reduction: Reduction | None,
    ) -> Shrunk:
        failed, tries = self._ledger.tally("verify", smallest, MEASURED)
        others = self._others()
        self._ledger.save()
        return Shrunk(
            smallest=smallest,
            reproduced=reproduced,
            verified=verified,
            rate=Rate(failed=failed, tries=tries) if tries else None,
            borders=borders,
            reduction=reduction,
            others=others,
            trials=self._ledger.account.trials,
            seconds=self._ledger.account.seconds,
            ended=self._ledger.ended,
        )

    def _others(self) -> tuple[OtherFailure, ...]:
        """Other failures, without those that only look different, as far as there is time to compare their causes."""
        compared = self._ledger.others[:COMPARED]
        same = [each for each in compared if self._ledger.full(each.candidate, final=True) is Outcome.SAME]
        return tuple(each for each in self._ledger.others if each not in same)

    def _unshrunk(self, reproduced: Rate) -> Shrunk:
        if not reproduced.tries:
            why = "nothing was shrunk: there was no time to run it again"
        elif not reproduced.failed:
            why = f"nothing was shrunk: it did not fail again in {reproduced.tries} runs"
        else:
            why = f"nothing was shrunk: it fails in {reproduced.failed} of {reproduced.tries} runs, too seldom"
        return Shrunk(
            smallest=self._start,
            reproduced=reproduced,
            verified=False,
            others=self._ledger.others,
            trials=self._ledger.account.trials,
            seconds=self._ledger.account.seconds,
            ended=self._ledger.ended,
            notes=(why,),
        )
