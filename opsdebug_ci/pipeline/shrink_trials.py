"""Candidates of a shrinking through the workers: run, judged, compared with the failure, within the time that is left.

Decides what "the same failure" is, and what a candidate may cost. Two comparisons, both by `same_cause`:

    quick   of what one run shows by itself: verdict, kind of failure, output or argument it shows at, side of a
            storage, exception or signal with its frames, edge of the bad region. No cause is looked for, so a small
            case takes milliseconds. It can slip between defects that look alike, such as two wrong constants.
    full    of the named cause as well, up to seconds. Asked of the smallest case at the end, and of every candidate
            once the end turned out to have slipped.

Dtypes are compared as if they were one, since a change of dtype is among what is tried.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import final

from opsdebug_ci.bundle.durable import write_whole
from opsdebug_ci.failures import identity, same_cause
from opsdebug_ci.failures.flakiness import tries_to_see
from opsdebug_ci.failures.shrinking import Candidate, Outcome, Trial, Values
from opsdebug_ci.failures.shrinking.budget import Clock
from opsdebug_ci.judge import judge
from opsdebug_ci.model import FAILING_VERDICTS, Case, Judgement, Observation, OperatorDescription, Status, Verdict
from opsdebug_ci.model.bundle import InputTable, InputValue, StoredInputs, ValueKind
from opsdebug_ci.model.message import ExplainCases, KeepInputs, KeptInputs, RunCase
from opsdebug_ci.pipeline.workbench import Workbench

HANG_S = 5.0
"""Seconds after which a candidate of a hang counts as hanging: with the whole limit for each, few could be run."""

SPARE_S = 5.0
"""Seconds a candidate may take beyond several times those of the failure; more says nothing about it."""

SLOWER = 4
"""So many times those of the failure."""

CAUSES_S = 30.0
"""Seconds a candidate may take in which causes are looked for, beyond those."""

SECOND_NS = 1_000_000_000

LEAST_S = 0.05
"""Seconds below which nothing is begun any more: a worker that is stopped has to be started again."""

MOST_KEPT = 1 << 22
"""Bytes of inputs whose values are reduced: a hundred candidates of them are written and hashed."""

MOST_REPEATS = 100
"""Launches of one candidate at most, where the failure was found among many launches."""


@final
class CandidateRunner:
    """Runs candidates of one failure.

    Args:
        failure: what is shrunk.
        bench: workers that know its operator.
        description: the operator.
        clock: seconds, never going back.
        seconds: after which nothing is begun.
        scratch: an existing directory for values that are tried.
    """

    def __init__(
        self,
        failure: Judgement,
        bench: Workbench,
        description: OperatorDescription,
        *,
        clock: Clock,
        seconds: float,
        scratch: Path,
    ) -> None:
        self._failure = failure
        self._plain = _without_causes(failure, description, properties=False)
        self._unexplained = _without_causes(failure, description, properties=True)
        self._pool = bench.pool
        self._description = description
        self._clock = clock
        self._deadline = clock() + seconds
        self._scratch = scratch
        self._hangs = failure.observation.status is Status.TIMED_OUT
        self._repeats = launches_of(failure.observation)
        durations = failure.observation.durations
        self._usual_s = SPARE_S + (0 if durations is None else SLOWER * durations.total_ns / SECOND_NS)
        self.judged: dict[str, Judgement] = {}
        """Failing candidates by their key, with causes where they were looked for."""

    def quick(self, candidate: Candidate) -> Trial:
        """Whether it fails alike, as far as one run shows."""
        return self._trial(candidate, self._plain, explaining=False)

    def full(self, candidate: Candidate) -> Trial:
        """Whether it fails for the same cause."""
        return self._trial(candidate, self._unexplained, explaining=True)

    def keep(self, case: Case) -> Values | None:
        """The inputs of a case; None: they cannot be kept, or there is no time."""
        limit_s = self._deadline - self._clock()
        if limit_s < LEAST_S:
            return None
        request = KeepInputs(case=case, directory=str(self._scratch), most_bytes=MOST_KEPT)
        kept = self._pool.about(request, KeptInputs, limit_s)
        if not isinstance(kept, KeptInputs) or kept.table is None or not kept.written:
            return None
        return loaded(StoredInputs(table=kept.table, directory=str(self._scratch)))

    def stored(self, values: Values, directory: Path | None = None) -> StoredInputs:
        """Values where a worker finds them."""
        place = self._scratch if directory is None else directory
        for sha256, blob in values.blobs.items():
            if not (place / sha256).exists():
                write_whole(place / sha256, blob)
        return StoredInputs(table=values.table, directory=str(place))

    def explained(self, judgement: Judgement, inputs: StoredInputs | None) -> Judgement:
        """A smaller failure in the words of the one it was shrunk from, with its own numbers where it has some."""
        told = self._failure.observation.clues
        key = str(told[0].evidence.get("hypothesis", "")) if told else ""
        if not told or not key:
            return judgement
        request = ExplainCases(case=judgement.case, failing=(judgement.case,), passing=(), only=key, inputs=inputs)
        own = [found.clues for answer in self._pool.explain([request]) for found in answer if found.clues]
        observation = replace(judgement.observation, clues=own[0] if own else told)
        return judge(judgement.case, observation, self._description.contract)

    def _trial(self, candidate: Candidate, like: Judgement, *, explaining: bool) -> Trial:
        left_s = self._deadline - self._clock()
        limit_s = HANG_S if self._hangs else min(left_s, self._usual_s + (CAUSES_S if explaining else 0))
        if left_s < max(LEAST_S, HANG_S if self._hangs else 0):
            return Trial(outcome=Outcome.UNSETTLED)
        inputs = None if candidate.values is None else self.stored(candidate.values)
        request = RunCase(
            case=candidate.case,
            inputs=inputs,
            repeats=self._repeats,
            hunt_s=limit_s / 2,
            explaining=explaining,
            causes=False,
        )
        observation = self._pool.about(request, Observation, limit_s)
        if observation.status is Status.TIMED_OUT and not self._hangs:
            return Trial(outcome=Outcome.UNSETTLED)
        return self._compared(candidate, judge(candidate.case, observation, self._description.contract), like)

    def _compared(self, candidate: Candidate, judgement: Judgement, like: Judgement) -> Trial:
        if judgement.verdict not in FAILING_VERDICTS:
            return Trial(outcome=_OUTCOMES.get(_refined(judgement), Outcome.UNSETTLED))
        if like is self._unexplained or candidate.key not in self.judged:
            self.judged[candidate.key] = judgement
        # NOTE: the failure's dtype, since the dtype is among what is varied and part of some identities.
        alike = replace(judgement, case=replace(judgement.case, dtype=like.case.dtype))
        if same_cause(like, alike):
            return Trial(outcome=Outcome.SAME)
        return Trial(outcome=Outcome.OTHER, finding=_name(judgement))


_OUTCOMES = {
    Verdict.PASS: Outcome.PASSES,
    Verdict.SKIPPED: Outcome.INVALID,
    Verdict.ERROR: Outcome.INVALID,
}
"""What verdicts that do not fail mean here; nothing else settles anything."""


def _refined(judgement: Judgement) -> Verdict:
    """The verdict; a worker of ours that broke says nothing about the candidate."""
    broke = judgement.observation.status in (Status.WORKER_BROKEN, Status.OUT_OF_MEMORY)
    return Verdict.INCONCLUSIVE if broke else judgement.verdict


def _without_causes(failure: Judgement, description: OperatorDescription, *, properties: bool) -> Judgement:
    """The failure as a run tells it in which no cause is looked for."""
    kept = failure.observation.properties if properties else ()
    plain = replace(failure.observation, clues=(), properties=kept, origin=None, pages=())
    return judge(failure.case, plain, description.contract)


def _name(judgement: Judgement) -> str:
    found = identity(judgement)
    return "" if found is None else " ".join(part for part in (found.kind, found.target, found.pattern) if part)


def launches_of(observation: Observation) -> int:
    """Launches of one candidate: 1, or as many as show a failure that was found among many launches."""
    hunt = observation.hunt
    if hunt is None or not hunt.odd:
        return 1
    return min(MOST_REPEATS, max(2, tries_to_see(min(1.0, hunt.odd / hunt.launches))))


def loaded(stored: StoredInputs) -> Values | None:
    """Kept inputs in memory; None: they are not kept whole, so they have to be made from the case."""
    table = stored.table
    if stored.directory is None or not _told_whole(table):
        return None
    directory = Path(stored.directory)
    return Values(table=table, blobs={each.sha256: (directory / each.sha256).read_bytes() for each in table.storages})


def _told_whole(table: InputTable) -> bool:
    """Every value is spelled in the table."""
    return all(map(_spelled, table.values))


def _spelled(value: InputValue) -> bool:
    hidden = value.kind in (ValueKind.OPAQUE, ValueKind.WITHHELD)
    return not hidden and all(map(_spelled, (*value.items, *value.keys)))
