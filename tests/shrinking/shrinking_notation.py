"""A small notation for shrinkings: `shrink(fails_when(lambda d: d["n"] > 128), n=5000, m=4097)`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from opsdebug_ci.failures.shrinking import Budget, Candidate, Outcome, Shrunk, Space, Trial, Trials, minimise
from opsdebug_ci.model import Case, Family, Layout

Dims = Mapping[str, int]


ANYTHING = Space()


def case(layout="contiguous", inputs="normal", dtype="float32", seed=0, **dims: int) -> Case:
    return Case(operator="op", dims=dims, dtype=dtype, layout=Layout(layout), inputs=Family(inputs), seed=seed)


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Runner:
    """Runs candidates by a predicate over cases, and counts."""

    judge: Callable[[Case], Trial]
    """What a case comes to, were its failure not flaky."""

    rate: float = 1.0
    """How often a failing case fails."""

    cause: Callable[[Case], bool] = lambda _: True
    """Whether the cause of a case that looks the same is the same."""

    seconds: float = 0.0
    """Time of a run."""

    stops_at: int | None = None
    """The run in which our own process dies."""

    clock: Clock = field(default_factory=Clock)
    seen: list[Case] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def quick(self, candidate: Candidate) -> Trial:
        self.seen.append(candidate.case)
        self.clock.now += self.seconds
        if len(self.seen) == self.stops_at:
            raise KeyboardInterrupt
        trial = self.judge(candidate.case)
        passes = trial.outcome is Outcome.SAME and self.chance.random() >= self.rate
        return Trial(outcome=Outcome.PASSES) if passes else trial

    def full(self, candidate: Candidate) -> Trial:
        trial = self.quick(candidate)
        slipped = trial.outcome is Outcome.SAME and not self.cause(candidate.case)
        return Trial(outcome=Outcome.OTHER, finding="another cause") if slipped else trial

    def shrink(self, start: Case, space: Space = ANYTHING, state: Path | None = None, width=1, **limits) -> Shrunk:
        return minimise(
            Candidate(case=start),
            Trials(quick=self.quick, full=self.full),
            space,
            clock=self.clock,
            state=state,
            width=width,
            budget=Budget(**limits),
        )


def outcome(same: bool) -> Trial:
    return Trial(outcome=Outcome.SAME if same else Outcome.PASSES)


def fails_when(predicate: Callable[[Dims], bool], *, least: int = 1, **facts) -> Runner:
    """Fails where the predicate says so; dims below `least` lie outside the domain."""

    def judge(tried: Case) -> Trial:
        if min(tried.dims.values(), default=least) < least:
            return Trial(outcome=Outcome.INVALID)
        return outcome(predicate(tried.dims))

    return Runner(judge=judge, **facts)
