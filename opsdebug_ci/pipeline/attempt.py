"""`Attempt`: one of possibly several invocations that together complete a stage.

Decides which earlier attempts may be continued: those of the same command on the same code, machine and tool. Code is
the commit, what the work tree holds beyond it, and the files that operators import. So a changed tree is continued only
while it stays as it is; outside git, where nothing vouches for the code, nothing is. Decides, too, which observations
are kept, and how correctness divides its share of the budget. Deliberately keeps no verdicts: they are judged anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

import opsdebug_ci
from opsdebug_ci.bundle.place import OWN_DIRECTORY
from opsdebug_ci.model import Case, Observation, Status
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Gate, Stage
from opsdebug_ci.pipeline.budget import Budget
from opsdebug_ci.pipeline.journal import Journal, open_journal
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, Performance, content_digest, difference_digest
from opsdebug_ci.plan.configuration import DEFAULT_STORE
from opsdebug_ci.plan.setting import Scoped

OBSERVATIONS = "observation"
"""Section of the journal: `Observation` by case id."""

KEY_DIGITS = 32
"""Hex digits of a key: 128 bits, so no two commands ever share one."""

PERFORMANCE_SHARE = 0.4
"""Share of the budget that stage full keeps for speed where speed is asked about: cases are judged over several
attempts, while a comparison must be made in one."""

DIAGNOSIS_SHARE = 0.25
"""Largest share of correctness' time that is kept for failures. Their bundles are written in any case, and a smaller
case can be asked for later; a case that was not judged is news withheld."""

LEAST_DIAGNOSIS_S = 0.001
"""Seconds for failures where nothing is left: enough for nothing but saying so."""

FROM_OUTSIDE = ("SIGTERM", "SIGKILL", "SIGINT", "SIGHUP", "SIGPWR")
"""Signals by which a machine that stops, or runs out of memory, ends a worker. No operator is to blame for that on the
strength of an attempt that was itself interrupted, so such a case is run again."""

NO_COMMIT = "if this run is interrupted, it starts anew: there is no git commit that says which code it was"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What correctness has to go by."""

    budget: Budget
    """Time for cases and diagnosis, under the name of both."""

    journal: Journal | None = None
    """What earlier attempts have come to; None: this stage is not continued."""

    notes: tuple[str, ...] = ()
    """Why there is no journal, where one was asked for."""

    def parted(self, cases: Sequence[Case]) -> tuple[list[tuple[Case, Observation]], list[Case]]:
        """Cases with what an earlier attempt observed, in the order they ended, and those that are still to be run."""
        by_id = {case.id: case for case in cases}
        known = self._known()
        earlier = [(by_id[key], observation) for key, observation in known.items() if key in by_id]
        return earlier, [case for case in cases if case.id not in known]

    def keep(self, observation: Observation) -> None:
        """Keep it for the next attempt, unless its worker may have been ended by what interrupts this one."""
        if self.journal is not None and is_lasting(observation):
            self.journal.add(OBSERVATIONS, observation.case_id, observation)

    def budget_for_cases(self, diagnosis_s: float | None) -> Budget:
        """What is left of the time for failures, which get at most `diagnosis_s`; it begins now."""
        left_s = self.budget.remaining_s()
        kept = 0.0 if not diagnosis_s or not left_s else min(DIAGNOSIS_SHARE, diagnosis_s / left_s)
        return self.budget.share("correctness", 1.0 - kept)

    def seconds_for_diagnosis(self, diagnosis_s: float) -> float:
        """What is left of the time, at most `diagnosis_s`."""
        return min(diagnosis_s, max(self.budget.remaining_s(), LEAST_DIAGNOSIS_S))

    def told(self, judged: int, planned: int) -> tuple[str, ...]:
        """What a reader must know of this attempt, which has judged so many of the planned cases."""
        resumed = len(self._known())
        short = None if self.budget.seconds is None else self.budget.told(judged, planned, "cases judged")
        again = "" if self.journal is None else "; the same command goes on from there"
        if self.journal is not None:
            self.journal.lacks(OBSERVATIONS, planned - judged)
        return (
            *([f"resumed: {resumed:,} of {planned:,} cases from an earlier attempt"] if resumed else []),
            *([] if short is None else [short + again]),
        )

    def settle(self) -> tuple[str, ...]:
        """The run is recorded: forget the journal of one that is whole; what a reader of the log must know."""
        return self.notes if self.journal is None else (*self.journal.notes, *self.journal.settle())

    def _known(self) -> dict[str, Observation]:
        return {} if self.journal is None else self.journal.taken(OBSERVATIONS, Observation)


@contextmanager
def open_attempt(
    selection: Selection,
    bench: Workbench,
    configuration: Configuration,
    world: World,
    *,
    revision: Revision,
    budget: Budget,
) -> Iterator[Attempt]:
    """An attempt at `selection` within its share of the stage's budget."""
    mine = budget.share("correctness", 1.0 - share_for_performance(selection, configuration))
    if not selection.resumable:
        yield Attempt(budget=mine)
        return
    key = attempt_key(selection, bench, configuration, revision)
    if key is None:
        yield Attempt(budget=mine, notes=(NO_COMMIT,))
        return
    with open_journal(configuration.root, key, world, fresh=selection.fresh) as journal:
        yield Attempt(budget=mine, journal=journal)


def share_for_performance(selection: Selection, configuration: Configuration) -> float:
    """Share of the budget that correctness leaves alone. In stage smoke speed has a budget of its own."""
    asked = selection.stage is Stage.FULL and configuration.performance is not Performance.OFF
    return PERFORMANCE_SHARE if asked else 0.0


def attempt_key(selection: Selection, bench: Workbench, configuration: Configuration, revision: Revision) -> str | None:
    """What attempts must have in common; None: which code this is cannot be told.

    Budget, gate, store and where the run is recorded are left out: they change nothing in what is observed, and
    somebody who has run out of time may allow more.
    """
    store = configuration.store_directory
    written = (store, selection.record_in and selection.record_in.absolute())
    outputs = (configuration.root / OWN_DIRECTORY, *(path for path in written if path is not None))
    difference = difference_digest(configuration.root, outputs=outputs) if revision.commit else None
    if difference is None:
        return None
    settings = replace(configuration, budget_s=Scoped(default=None), gate=Gate.NEW, store=DEFAULT_STORE)
    wanted = replace(selection, budget_s=None, diagnosis_s=None, record_in=None, resumable=False, fresh=False)
    facts = {
        "tool": opsdebug_ci.__version__,
        "commit": revision.commit,
        "base": revision.base_commit,
        "difference": difference,
        "sources": _sources(bench, configuration.root),
        "configuration": settings.config_hash,
        "interpreter": configuration.interpreter,
        "selection": wanted,
        "machine": bench.machine.key,
        "devices": bench.devices,
    }
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted")).hexdigest()[:KEY_DIGITS]


def is_lasting(observation: Observation) -> bool:
    """Whether it would be the same in another attempt: not when something beside the case has ended the worker.

    A case that was skipped is asked again: that costs next to nothing, and where its operator was given up the reason
    follows from the cases that are kept.
    """
    if observation.status in (Status.WORKER_BROKEN, Status.SKIPPED):
        return False
    ours = observation.status in (Status.TIMED_OUT, Status.OUT_OF_MEMORY)  # we end such workers ourselves
    return ours or observation.process is None or observation.process.signal not in FROM_OUTSIDE


def _sources(bench: Workbench, root: Path) -> dict[str, str]:
    """Digest of every file that operators import, those included that git ignores."""
    files = {file for operator in bench.catalogue.operators for file in operator.source_files}
    return {file: content_digest(root / file) for file in sorted(files)}
