"""Looking for cliffs of one operator: which cases are timed, and that a finding must show twice.

Decides the order (what costs least and tells most first) and when time is up. `regress` decides what a cliff is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

from opsdebug_ci.execution import WorkerPool
from opsdebug_ci.judge.command import rerun
from opsdebug_ci.model import Case
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.message import ProfileCase
from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.model.profile_document import Sweep
from opsdebug_ci.plan.profile_cases import ProfileCases, SizeCases
from opsdebug_ci.regress.call_cliffs import fixed_cost, host_reads, slower_every_call
from opsdebug_ci.regress.cliffs import layout_cliff, size_cliff, value_cliff
from opsdebug_ci.regress.growth import superlinear, sweep_of
from opsdebug_ci.regress.profiled import Profiled

POINT_S = 0.12
"""Seconds for one case of a search, operator and reference together."""

AGAIN_S = 0.6
"""Seconds in which an entry that shows something is timed again: as long as it was before, or calls that slow down have
no time to."""

LONGEST_NS = 100_000_000.0
"""A sweep goes no further once a call takes so long: the next size may take four times as long; ns."""

Judge = Callable[[Sequence[Profiled]], "Finding | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search came to."""

    sweeps: tuple[Sweep, ...] = ()
    """How time grows with single dims."""

    findings: tuple[Finding, ...] = ()
    """Cliffs that showed twice, the surest first."""

    complete: bool = True
    """Everything planned was looked at before time was up."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CliffSearch:
    """The search of one operator on one device."""

    pool: WorkerPool
    """Where cases are timed."""

    cases: ProfileCases
    """What to time."""

    timed: tuple[Profiled, ...]
    """The entries that could be timed; the others differ from the last of them."""

    bandwidth_bytes_per_s: float | None
    """Of memory."""

    expired: Callable[[], bool]
    """Time is up."""

    @property
    def base(self) -> Profiled:
        """What the others differ from."""
        return self.timed[-1]

    def run(self) -> Found:
        """Look everywhere, as long as there is time."""
        findings: list[Finding] = []
        sweeps: list[Sweep] = []
        for step in self._steps(sweeps):
            findings += step
            if self.expired():
                return self._found(sweeps, findings, complete=False)
        return self._found(sweeps, findings, complete=True)

    def _found(self, sweeps: Sequence[Sweep], findings: Sequence[Finding], *, complete: bool) -> Found:
        ranked = sorted(findings, key=lambda finding: -finding.confidence)
        return Found(sweeps=tuple(sweeps), findings=tuple(ranked), complete=complete)

    def _steps(self, sweeps: list[Sweep]) -> Iterator[list[Finding]]:
        """One list of findings per thing that is looked at."""
        again = rerun(self.base.case, command="profile")
        for entry in self.timed:
            yield self._about_the_call(entry)
        for case in self.cases.layouts:
            yield self._twice([case], _layout(rerun(case, command="profile")), copied=True)
        yield self._values(again)
        for neighbours in self.cases.neighbours:
            yield self._twice(neighbours.cases, _size(neighbours.dim, self._wider()))
        for sweep in self.cases.sweeps:
            yield self._sweep(sweep, sweeps)

    def _about_the_call(self, entry: Profiled) -> list[Finding]:
        """What an entry shows by itself; timed once more where it shows something."""
        again = rerun(entry.case, command="profile")
        rules: tuple[Judge, ...] = (
            _layout(again),
            lambda points: host_reads(points[0], again) if points else None,
            lambda points: slower_every_call(points[0], again) if points else None,
        )
        return [
            finding
            for rule in rules
            for finding in self._again(rule, [entry], lambda: self._timed([entry.case], copied=True, budget_s=AGAIN_S))
        ]

    def _values(self, again: str) -> list[Finding]:
        """The entry's values against tame ones, or other values against everyday ones."""
        base = self.cases.around
        found = self._tamed(again) if self.cases.own_values else []
        everyday = self._timed([base]) if self.cases.families else []
        for case in self.cases.families:
            judge = _value(f"{case.inputs} values", rerun(case, command="profile"))
            found += self._again(judge, [*self._timed([case]), *everyday], partial(self._timed, [case, base]))
        return found

    def _tamed(self, again: str) -> list[Finding]:
        case = self.base.case

        def pair() -> list[Profiled]:
            return [*self._timed([case]), *self._timed([case], tame=True)]

        return self._again(_value("its values", again), pair(), pair)

    def _sweep(self, sweep: SizeCases, sweeps: list[Sweep]) -> list[Finding]:
        points = self._timed(sweep.cases, rising=True)
        if len(points) < 2:
            return []
        sweeps.append(sweep_of(points))
        again, bandwidth = self._wider(), self.bandwidth_bytes_per_s
        rules: tuple[Judge, ...] = (
            lambda points: superlinear(points, sweep.dim, bandwidth, again),
            lambda points: fixed_cost(points, again),
        )
        return [
            finding
            for rule in rules
            if rule(points) is not None
            for finding in _judged(rule, self._timed(sweep.cases, rising=True))
        ]

    def _twice(self, cases: Sequence[Case], judge: Judge, *, copied: bool = False) -> list[Finding]:
        points = self._timed(cases, copied=copied)
        return self._again(judge, points, lambda: self._timed(cases, copied=copied))

    def _again(
        self, judge: Judge, points: Sequence[Profiled], measure: Callable[[], Sequence[Profiled]]
    ) -> list[Finding]:
        """What `judge` says of a second measurement, where it says something of the first."""
        return [] if judge(points) is None else _judged(judge, measure())

    def _timed(
        self,
        cases: Sequence[Case],
        *,
        copied: bool = False,
        tame: bool = False,
        rising: bool = False,
        budget_s: float = POINT_S,
    ) -> list[Profiled]:
        """Those of `cases` that can be timed; sizes may be beyond what the operator supports.

        Rising ones end with the first that takes long.
        """
        points: list[Profiled] = []
        for case in cases:
            request = ProfileCase(case=case, budget_s=budget_s, reference=True, copied=copied, count=True, tame=tame)
            answer = self.pool.about(request, CaseProfile)
            if isinstance(answer, CaseProfile) and answer.operator is not None:
                points.append(Profiled(case=case, profile=answer))
            if rising and points and points[-1].operator_ns > LONGEST_NS:
                break
        return points

    def _wider(self) -> str:
        """The command that looks at other sizes again."""
        base = self.base.case
        return rerun(base if self.cases.downward else replace(base, dims={}), command="profile")


def _judged(judge: Judge, points: Sequence[Profiled]) -> list[Finding]:
    finding = judge(points)
    return [] if finding is None else [finding]


def _layout(again: str) -> Judge:
    return lambda points: layout_cliff(points[0], again) if points else None


def _size(dim: str, again: str) -> Judge:
    return lambda points: size_cliff(points, dim, again)


def _value(what: str, again: str) -> Judge:
    """Of two cases: the values in question first, everyday ones second."""
    return lambda points: value_cliff(points[0], points[1], what, again) if len(points) == 2 else None
