"""Every run of a shrinking: asked once, paid from the budget, written down before it begins.

Decides what a candidate comes to from one run or, where the failure is flaky, from several. Which candidates are worth
asking is the search's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import final

from opsdebug_ci.failures.shrinking.budget import Account, Budget, Clock
from opsdebug_ci.failures.shrinking.state import ATTEMPTS, State, read_state, write_state
from opsdebug_ci.failures.shrinking.trial import Candidate, Outcome, Trial, TrialFunction

UNSETTLED = Trial(outcome=Outcome.UNSETTLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How candidates are run."""

    quick: TrialFunction
    """Compares what can be seen without looking for causes."""

    full: TrialFunction
    """Compares the cause as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFailure:
    """A failure met on the way that is not the one that is shrunk."""

    finding: str
    """What names it."""

    candidate: Candidate
    """The first that showed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run to make."""

    name: str
    """Under which it is written down."""

    candidate: Candidate
    """What is run."""

    function: TrialFunction
    """How."""


@final
class Ledger:
    """Outcomes of candidates. Where the budget is spent, whatever is not known yet is unsettled.

    Args:
        trials: how candidates are run.
        start: what the shrinking began with.
        budget: how much may be spent.
        clock: seconds.
        state: file to keep the state in, and to go on from; None: nowhere.
        width: candidates run at a time, in threads of their own; more than the first that fails alike is speculation.
    """

    def __init__(
        self, trials: Trials, start: Candidate, *, budget: Budget, clock: Clock, state: Path | None, width: int
    ) -> None:
        kept = State(start=start.key) if state is None else read_state(state, start.key)
        self._trials = trials
        self._start = start.key
        self._state = state
        self._width = width
        self._settled = dict(kept.settled)
        self._running = dict(kept.running)
        self._others: dict[str, Candidate] = {}
        self._passed: dict[str, Candidate] = {}
        self.account = Account(budget, clock, trials=kept.trials, seconds=kept.seconds)
        self.repeats = 1
        """Runs of a candidate before it counts as passing."""
        self.strict = False
        """The cause is compared in every candidate that fails alike."""
        self.causes_only = False
        """The failure shows only where causes are looked for, so every run looks for them."""
        self.ended = False
        """The budget kept a candidate from being run."""

    @property
    def others(self) -> tuple[OtherFailure, ...]:
        """Other failures met on the way."""
        return tuple(OtherFailure(finding=name, candidate=found) for name, found in self._others.items())

    @property
    def passed(self) -> tuple[Candidate, ...]:
        """Candidates that passed, without those whose values were kept."""
        return tuple(self._passed.values())

    def outcome(self, candidate: Candidate, *, final: bool = False) -> Outcome:
        """What a candidate comes to; `final` may use what the budget reserves."""
        label, function = self._usual
        quick = self._repeated(label, candidate, function, final=final)
        return self.full(candidate, final=final) if self.strict and quick is Outcome.SAME else quick

    def full(self, candidate: Candidate, *, final: bool = False) -> Outcome:
        """What it comes to when its cause is compared."""
        return self._repeated("full", candidate, self._trials.full, final=final)

    def first(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """The first that fails for the same cause; later ones may have been run as well, and are remembered."""
        row = list(candidates)
        width = self._width if self.repeats == 1 else 1
        for place in range(0, len(row), width):
            chunk = row[place : place + width]
            self._ahead(chunk)
            found = next((candidate for candidate in chunk if self.outcome(candidate) is Outcome.SAME), None)
            if found is not None:
                return found
        return None

    def tally(self, label: str, candidate: Candidate, number: int, *, share: float = 1.0) -> tuple[int, int]:
        """How many of up to `number` runs fail for the same cause, and how many runs there were.

        After the first, none is begun once this share of the time is spent.
        """
        _, function = self._usual
        failed = tries = 0
        for turn in range(number):
            if tries and self.account.share > share:
                break
            run = _Run(name=_name(label, candidate, turn), candidate=candidate, function=function)
            trial = self._run([run], final=True)[0]
            if trial.outcome is Outcome.UNSETTLED:
                break
            tries += 1
            failed += trial.outcome is Outcome.SAME
        return failed, tries

    def save(self) -> None:
        """Write down where it stands; where that cannot be written, an interruption costs the search and no more."""
        if self._state is not None:
            spent = self.account
            state = State(
                start=self._start,
                trials=spent.trials,
                seconds=spent.seconds,
                settled=self._settled,
                running=self._running,
            )
            try:
                write_state(self._state, state)
            except OSError:
                self._state = None

    @property
    def _usual(self) -> tuple[str, TrialFunction]:
        """How a candidate is run first."""
        return ("full", self._trials.full) if self.causes_only else ("quick", self._trials.quick)

    def _ahead(self, chunk: Sequence[Candidate]) -> None:
        """Run the first runs of several candidates at a time."""
        label, function = self._usual
        if len(chunk) > 1:
            self._run([_Run(name=_name(label, each, 0), candidate=each, function=function) for each in chunk])

    def _repeated(self, label: str, candidate: Candidate, function: TrialFunction, *, final: bool = False) -> Outcome:
        seen: list[Trial] = []
        for turn in range(self.repeats):
            run = _Run(name=_name(label, candidate, turn), candidate=candidate, function=function)
            seen += self._run([run], final=final)
            if seen[-1].outcome in (Outcome.SAME, Outcome.INVALID):
                return seen[-1].outcome
            if seen[-1].outcome is Outcome.OTHER:
                self._others.setdefault(seen[-1].finding, candidate)
        outcomes = {trial.outcome for trial in seen}
        order = (Outcome.OTHER, Outcome.UNSETTLED, Outcome.PASSES)
        if outcomes == {Outcome.PASSES} and candidate.values is None:
            self._passed[candidate.key] = candidate
        return next(outcome for outcome in order if outcome in outcomes)

    def _run(self, runs: Sequence[_Run], *, final: bool = False) -> list[Trial]:
        """Make those runs that were not made yet, at a time; what the budget has no room for is unsettled."""
        # (1) what is known, and what is not begun a third time
        fresh = {run.name: run for run in runs if run.name not in self._settled}
        for name in [name for name in fresh if self._running.get(name, 0) >= ATTEMPTS]:
            self._settle(name, UNSETTLED)
            del fresh[name]
        # (2) what the budget allows
        begun: list[_Run] = []
        for run in fresh.values():
            if not self.account.affords(final=final):
                self.ended = True
                break
            self.account.trials += 1
            self._running[run.name] = self._running.get(run.name, 0) + 1
            begun.append(run)
        # (3) written down, then run
        if begun:
            self.save()
            for run, trial in zip(begun, self.account.timed(lambda: _together(begun)), strict=True):
                self._settle(run.name, trial)
        return [self._settled.get(run.name, UNSETTLED) for run in runs]

    def _settle(self, name: str, trial: Trial) -> None:
        self._settled[name] = trial
        self._running.pop(name, None)


def _name(label: str, candidate: Candidate, turn: int) -> str:
    return f"{label}:{candidate.key}:{turn}"


def _together(runs: Sequence[_Run]) -> list[Trial]:
    if len(runs) == 1:
        return [runs[0].function(runs[0].candidate)]
    with ThreadPoolExecutor(len(runs)) as executor:
        return list(executor.map(lambda run: run.function(run.candidate), runs))
