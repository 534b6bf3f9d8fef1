"""Tries of recorded failures: prepared, run, counted.

Decides which bundles can be tried here, and what a try came to: the recorded failure, another one, a pass, or nothing.
Deliberately not what that means; `replay` and `replay_stage` do.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from opsdebug_ci.execution import Series
from opsdebug_ci.failures.bundle_reader import unpack
from opsdebug_ci.failures.fingerprint import fingerprint, same_cause
from opsdebug_ci.judge import judge
from opsdebug_ci.model import FAILING_VERDICTS, Cause, Judgement, Observation, OperatorDescription, Status, Verdict
from opsdebug_ci.model.bundle import CAPTURED_NOTE, BundleManifest, StoredInputs
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.model.replay import ReplayOutcome, TryCounts
from opsdebug_ci.pipeline.replay_places import Entry
from opsdebug_ci.pipeline.shrink_trials import launches_of
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World

MOST_TIMEOUTS = 3
"""Tries of one bundle that may time out: each costs the whole time limit, and a fourth would tell nothing new."""

MOST_UNJUDGED = 3
"""Tries of one bundle that may come to nothing: what breaks a reference or a worker three times does not go away."""

UNPACKED = 16
"""Bundles whose inputs lie on the disk at once: at most 1 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why a bundle is not tried."""

    outcome: ReplayOutcome
    """`gone` or `impossible`."""

    reason: str
    """In one sentence."""


@final
class Attempt:
    """The tries of one bundle; its series may be told of them from any thread.

    Args:
        entry: the bundle, which was not refused.
        description: its operator, in this checkout.
        tries: how many there are to be.
        until_reproduced: one that shows the recorded failure is the last.
        in_time: whether there is time for another try.
    """

    def __init__(
        self,
        entry: Entry,
        description: OperatorDescription,
        *,
        tries: int,
        until_reproduced: bool = False,
        in_time: Callable[[], bool] = lambda: True,
    ) -> None:
        assert entry.manifest is not None  # noqa: S101 - the caller's promise
        self.entry = entry
        self.manifest = entry.manifest
        self.description = description
        self.tries = tries
        self.refusal: str | None = None
        """Why the inputs are not those of the bundle; None: they are."""
        self.judgements: list[Judgement] = []
        """What the tries came to, in order of completion; refused ones aside."""
        self.counts = TryCounts()
        """How many of each."""
        self._known: set[int] = set()
        self._timeouts = 0
        self._lock = threading.Lock()
        self._until_reproduced = until_reproduced
        self._in_time = in_time
        self._recorded = self._bare(self.manifest.observation)

    def series(self, inputs: StoredInputs | None, hunt_s: float) -> Series:
        """The tries, as a pool makes them. Causes are looked for in the first one alone."""
        case, repeats = self.manifest.case, launches_of(self.manifest.observation)
        first = RunCase(case=case, inputs=inputs, repeats=repeats, hunt_s=hunt_s)
        others = (replace(first, explaining=False),) * (self.tries - 1)
        return Series(key=self.entry.sha256, requests=(first, *others), more=self.more, seen=self.seen)

    def more(self) -> bool:
        """Whether another try is wanted."""
        counts = self.counts
        return (
            self.refusal is None
            and self._in_time()
            and self._timeouts < MOST_TIMEOUTS
            and counts.unjudged < MOST_UNJUDGED
            and not (self._until_reproduced and counts.reproduced)
        )

    def seen(self, observation: Observation) -> None:
        """One more try ended."""
        refusal = self._refused(observation)
        if refusal is not None:
            self.refusal = refusal
            return
        judgement = judge(self.manifest.case, observation, self.description.contract)
        known = judgement.verdict in FAILING_VERDICTS and self._shows_it(judgement)
        with self._lock:
            self.judgements.append(judgement)
            if known:
                self._known.add(id(judgement))
            self._timeouts += observation.status is Status.TIMED_OUT
            self.counts = _counted(self.counts, judgement.verdict, known=known)

    def reproduces(self, judgement: Judgement) -> bool:
        """Whether one of the tries shows the recorded failure."""
        return id(judgement) in self._known

    def _shows_it(self, judgement: Judgement) -> bool:
        """Whether a failing try shows the recorded failure.

        Compared without what is only there where causes were looked for, so that tries with and without are alike. In
        which launch a race shows is chance, and so is what it is seen by.
        """
        if fingerprint(judgement) == self.manifest.fingerprint:
            return True
        bare = self._bare(judgement.observation)
        return same_cause(self._recorded, bare) or (_races(self._recorded) and _races(bare))

    @property
    def telling(self) -> Judgement | None:
        """The try that stands for all: one that reproduced it, else failed otherwise, else passed; best explained."""
        return max(self.judgements, key=self._weight, default=None)

    def _bare(self, observation: Observation) -> Judgement:
        """What `observation` comes to without what is found only where causes are looked for."""
        plain = replace(observation, clues=(), origin=None, pages=())
        return judge(self.manifest.case, plain, self.description.contract)

    def _weight(self, judgement: Judgement) -> tuple[bool, bool, bool, int]:
        failing = judgement.verdict in FAILING_VERDICTS
        return self.reproduces(judgement), failing, judgement.verdict is Verdict.PASS, len(judgement.observation.clues)

    def _refused(self, observation: Observation) -> str | None:
        """Why a try did not run on the inputs of the bundle; None: it did, or the bundle has none."""
        table, got = self.manifest.inputs, observation.inputs_digest
        if table is None:
            return None
        # NOTE: where values are withheld, the table's own digest is not that of the inputs.
        wanted = self.manifest.observation.inputs_digest or table.digest
        if got is not None and got != wanted:
            return f"a try ran on inputs with digest {got}; wanted {wanted}, as the bundle says"
        return observation.reason if observation.status is Status.INPUTS_BROKEN else None


def _counted(counts: TryCounts, verdict: Verdict, *, known: bool) -> TryCounts:
    """With one more try."""
    if verdict in FAILING_VERDICTS:
        more = {"reproduced": counts.reproduced + 1} if known else {"otherwise": counts.otherwise + 1}
    else:
        more = {"passed": counts.passed + 1} if verdict is Verdict.PASS else {"unjudged": counts.unjudged + 1}
    return replace(counts, **more)


def _races(judgement: Judgement) -> bool:
    return judgement.verdict in FAILING_VERDICTS and judgement.findings[0].cause is Cause.NONDETERMINISM_RACE


def obstacle(manifest: BundleManifest, bench: Workbench) -> Obstacle | None:
    """Why the failure cannot be tried in this checkout on this machine; None: it can."""
    case = manifest.case
    lacking = next((item for item in bench.catalogue.unavailable if item.operator == case.operator), None)
    if lacking is not None:
        return Obstacle(outcome=ReplayOutcome.IMPOSSIBLE, reason=lacking.reason)
    description = described(manifest, bench)
    if description is None:
        return Obstacle(outcome=ReplayOutcome.GONE, reason=_absent(manifest))
    changed = _changed(manifest, description)
    if changed is not None:
        return Obstacle(outcome=ReplayOutcome.GONE, reason=changed)
    present = {device.partition(":")[0] for device in bench.devices}
    if case.device.partition(":")[0] not in present:
        return Obstacle(
            outcome=ReplayOutcome.IMPOSSIBLE,
            reason=f"it failed on device `{case.device}`; here are {', '.join(bench.devices)}",
        )
    return None


def _absent(manifest: BundleManifest) -> str:
    """Why there is no operator; a service captures functions that nobody has declared yet."""
    name = manifest.case.operator
    if CAPTURED_NOTE in manifest.notes:
        return f"no operator `{name}` is declared here: declare the captured function under its name"
    return f"operator `{name}` does not exist any more"


def described(manifest: BundleManifest, bench: Workbench) -> OperatorDescription | None:
    """The bundle's operator in this checkout: found by its name, never by anything else the bundle says."""
    return next((found for found in bench.catalogue.operators if found.name == manifest.case.operator), None)


def _changed(manifest: BundleManifest, description: OperatorDescription) -> str | None:
    """Why the case does not suit the operator of that name any more."""
    then, now = sorted(manifest.case.dims), sorted(description.dims)
    if then != now:
        return f"operator `{description.name}` had dims {_listed(then)}; now it has {_listed(now)}"
    if manifest.inputs is None or description.own_inputs:
        return None
    missing = sorted({tensor.name for tensor in description.tensors} - set(manifest.inputs.names))
    if not missing:
        return None
    return f"operator `{description.name}` takes {_listed(missing)} now, which the bundle does not have"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def make_attempts(attempts: Sequence[Attempt], bench: Workbench, world: World, hunt_s: float) -> None:
    """Make the tries of every attempt, the first ones first, in parallel."""
    world.progress.start(sum(attempt.tries for attempt in attempts))
    try:
        for start in range(0, len(attempts), UNPACKED):
            for attempt, already in _progressing(attempts[start : start + UNPACKED], bench, hunt_s):
                for judgement in attempt.judgements[already:]:
                    world.progress.step(judgement)
            for attempt in attempts[start : start + UNPACKED]:
                world.progress.drop(attempt.tries - len(attempt.judgements))
    finally:
        world.progress.stop()


def _progressing(attempts: Sequence[Attempt], bench: Workbench, hunt_s: float) -> Iterator[tuple[Attempt, int]]:
    """Each attempt as tries of it end, with how many were told before."""
    with tempfile.TemporaryDirectory(prefix="opsdebug-replay-") as directory:
        by_key = {str(position): attempt for position, attempt in enumerate(attempts)}
        series = [
            replace(attempt.series(unpacked_inputs(attempt, Path(directory) / key), hunt_s), key=key)
            for key, attempt in by_key.items()
        ]
        told = dict.fromkeys(by_key, 0)
        for key in bench.pool.series(series):
            attempt, already = by_key[key], told[key]
            told[key] = len(attempt.judgements)
            yield attempt, already


def unpacked_inputs(attempt: Attempt, directory: Path) -> StoredInputs | None:
    """The inputs where a worker finds them; None: the bundle has none, so they are made from the case."""
    if attempt.manifest.inputs is None:
        return None
    directory.mkdir()
    return unpack(attempt.entry.found.read(), directory)
