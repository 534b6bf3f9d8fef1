"""Looking at the arms of a comparison once: which operators each has, how many calls make a sample, the same inputs.

Decides which series can be timed. A series is timed on the same inputs in all arms: where an arm would make others from
the same seed, it gets those of the head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution import WorkerPool
from opsdebug_ci.model import Case, Catalogue, OperatorDescription
from opsdebug_ci.model.bundle import StoredInputs
from opsdebug_ci.model.message import KeepInputs, KeptInputs, TimeCase
from opsdebug_ci.model.shared_probe import SHARED_PROBE
from opsdebug_ci.model.timing import CaseTimed, Visit
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.pipeline.experiment import STARTING_S, VISITS, Series
from opsdebug_ci.plan import Axes, mismatch
from opsdebug_ci.plan.timing_cases import timing_cases
from opsdebug_ci.regress.advice import INTERPRETED

SLOWEST_GROWN_NS = 5e7
"""A call of grown sizes that lasts longer is not timed: 50 ms, so that a visit stays below half a second."""

LEAST_LIMIT_S = 5.0
"""Seconds that any visit may take before its operator is held to hang: inputs are made and code is compiled in it."""

LIMIT_SAMPLES = 100
"""Samples of the slowest arm that a visit may last besides; it takes 24 at most, and warms up."""

LONG_VISIT_CALLS = 5
"""Calls of a visit where one takes long: warming up ends after two once a second is over, and three samples follow."""

LOOK_S = 0.02
"""Seconds of samples while sizing."""

MOST_KEPT_BYTES = 2**30
"""Inputs handed from the head to other arms, per series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmLook:
    """All arms, alive at once."""

    pools: Mapping[str, WorkerPool]
    """One worker each."""

    found: Mapping[str, Catalogue]
    """What each has."""

    head: str
    """Name of the head."""

    devices: tuple[str, ...]
    """Where operators run."""

    scratch: Path
    """Where inputs go."""

    def operators(self, arm: str) -> tuple[OperatorDescription, ...]:
        """What an arm has, without what all share."""
        return tuple(o for o in self.found[arm].operators if o.name != SHARED_PROBE)

    def has(self, arm: str, operator: str) -> bool:
        """Whether an arm has an operator."""
        return any(one.name == operator for one in self.found[arm].operators)

    def series(self, operator: OperatorDescription, axes: Axes, notes: list[str]) -> Iterator[Series]:
        """Series of an operator, sized on all arms that have it; the slowest says how many calls make a sample.

        A case that the head cannot run is a series all the same: it then fails there, which is told.
        """
        if mismatch(operator, axes) is not None:
            notes.append(f"{operator.name} is not timed: {mismatch(operator, axes)}")
            return
        cases = timing_cases(operator, axes, self.devices)
        if not cases:
            notes.append(f"{operator.name} is not timed: it runs on none of {', '.join(self.devices)}")
        for case in cases:
            answers = self._visits(case)
            timed = [answer.visit for answer in answers.values() if answer.visit is not None]
            if any(answer.interpreted for answer in answers.values()):
                notes.append(f"{operator.name}: {INTERPRETED}")
            if all(answer.unsupported for answer in answers.values()):
                notes.append(f"{case.name} is not timed: {answers[self.head].reason}")
            elif case.dims != cases[0].dims and all(min(visit.samples_ns) > SLOWEST_GROWN_NS for visit in timed):
                notes.append(f"{case.name} is not timed: one call takes more than {SLOWEST_GROWN_NS / 1e6:.0f} ms")
            else:
                yield self._sized(case, cases[0], timed, notes)

    def _visits(self, case: Case) -> dict[str, CaseTimed]:
        """A short visit of every arm that has the operator."""
        answers: dict[str, CaseTimed] = {}
        for name, pool in self.pools.items():
            if self.has(name, case.operator):
                answer = pool.about(TimeCase(case=case, samples=3, visit_s=LOOK_S), CaseTimed)
                lost = CaseTimed(case_id=case.id, visit=None, reason=answer.reason or "it did not live to be timed")
                answers[name] = answer if isinstance(answer, CaseTimed) else lost
        return answers

    def _sized(self, case: Case, own: Case, timed: list[Visit], notes: list[str]) -> Series:
        slowest_ns = max((min(visit.samples_ns) for visit in timed), default=0.0)
        calls = min((visit.calls for visit in timed), default=1)
        sample_s = calls * slowest_ns / 1e9
        turn_s = LONG_VISIT_CALLS * sum(min(visit.samples_ns) for visit in timed) / 1e9
        return Series(
            case=case,
            calls=calls,
            first=case.dims == own.dims,
            inputs=self._inputs(case, notes),
            limit_s=LEAST_LIMIT_S + LIMIT_SAMPLES * sample_s,
            visits=visits_of(turn_s),
        )

    def probe(self) -> Series:
        """What all arms share."""
        case = next(
            Case(operator=o.name, dims=o.dims, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0)
            for o in self.found[self.head].operators
            if o.name == SHARED_PROBE
        )
        answer = self.pools[self.head].about(TimeCase(case=case), CaseTimed)
        if not isinstance(answer, CaseTimed) or answer.visit is None:
            raise EnvironmentLimitError(
                f"softmax of {dict(case.dims)} could not be timed here: {answer.reason}", next_step="opsdebug doctor"
            )
        return Series(case=case, calls=answer.visit.calls)

    def _inputs(self, case: Case, notes: list[str]) -> StoredInputs | None:
        """The head's inputs, where some arm makes others."""
        tables = {
            kept.table.digest
            for name, pool in self.pools.items()
            if self.has(name, case.operator)
            for kept in [pool.about(KeepInputs(case=case, directory=str(self.scratch), most_bytes=0), KeptInputs)]
            if isinstance(kept, KeptInputs) and kept.table is not None
        }
        if len(tables) <= 1:
            return None
        request = KeepInputs(case=case, directory=str(self.scratch), most_bytes=MOST_KEPT_BYTES)
        kept = self.pools[self.head].about(request, KeptInputs)
        if not isinstance(kept, KeptInputs) or kept.table is None or not kept.written:
            notes.append(f"{case.name}: the arms make different inputs, and those of the head could not be handed on")
            return None
        return StoredInputs(table=kept.table, directory=str(self.scratch))


def visits_of(turn_s: float) -> int:
    """Visits of each arm in a launch.

    A second one only makes the minimum of the same process better, while launches are what a verdict counts: it is
    left out where it would cost as much as starting another launch does.

    Args:
        turn_s: seconds that one visit of every arm takes at least.
    """
    return 1 if turn_s > STARTING_S else VISITS
