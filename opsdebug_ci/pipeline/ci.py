"""`opsdebug ci`: one stage over the configured operators, gated against the baseline and recorded in the store.

Decides to record the run only where the event may make a baseline: pull requests, merge groups and pushes of other
branches never write the store. Their code is not the project's yet; their document stays with their job.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.github import Event, ci_context, read_event
from opsdebug_ci.model import KnownFailures
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.machine import Calibration
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Gate, Stage
from opsdebug_ci.pipeline.attempt import Attempt, open_attempt
from opsdebug_ci.pipeline.baseline import distrust, recorded_failures
from opsdebug_ci.pipeline.budget import Budget
from opsdebug_ci.pipeline.performance import ask_speed, with_performance
from opsdebug_ci.pipeline.record import Start, start
from opsdebug_ci.pipeline.replay_stage import Memory, check_selection, replay_all
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.speed_question import SpeedQuestion, budget_for, is_asked
from opsdebug_ci.pipeline.verification import Baseline, verify
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, read_revision
from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.bundles import stored_bytes
from opsdebug_ci.store.history import accepted_fingerprints, first_seen


@dataclass(frozen=True, slots=True, kw_only=True)
class CiOutcome:
    """What a stage came to."""

    document: RunDocument
    """The run."""

    recorded: str | None
    """Store it was recorded in; None: the event may not write it."""

    notes: tuple[str, ...] = ()
    """What a reader of the log should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """A stage that is about to run."""

    selection: Selection
    """What it looks at."""

    configuration: Configuration
    """How."""

    world: World
    """Effects."""

    budget: Budget
    """For all of it."""

    began: Start
    """When."""

    location: str
    """The store."""

    event: Event
    """What triggered it."""

    revision: Revision
    """The code under test."""

    believed: bool
    """What the store holds counts."""

    @property
    def replaying(self) -> bool:
        """It runs stored bundles."""
        return self.selection.stage is Stage.REPLAY


def run_stage(selection: Selection, configuration: Configuration, world: World) -> CiOutcome:
    """Run one stage: (1) prepare the store, (2) verify against the baseline, or replay what is stored, (3) probe the
    machine, (4) ask about speed, (5) record: bundles first, then the rows that name them, (6) forget the journal of a
    run that is whole.

    Raises:
        UsageError: the stage does not know what is asked of it.
        StoreError: the store cannot be written; found out before any case runs.
    """
    store, doubt, stage = _prepared(selection, configuration, world)
    with (
        workbench(configuration, world) as bench,
        open_attempt(selection, bench, configuration, world, revision=stage.revision, budget=stage.budget) as attempt,
    ):
        document = _judged(stage, bench, attempt)
        asked, recording = is_asked(selection, configuration), stage.event.recording
        calibrations = _calibrations(bench) if asked or recording else ()
        if asked:
            bench.pool.close()  # nothing of ours runs beside what is timed
            document = _with_speed(document, stage, bench, attempt, calibrations)
        if recording:
            _keep_bundles(document, configuration, store)
            store.append(document, calibrations)
        told = attempt.settle()
    return CiOutcome(
        document=document,
        recorded=store.location if recording else None,
        notes=(*(() if doubt is None else (doubt,)), *told),
    )


def _prepared(
    selection: Selection, configuration: Configuration, world: World
) -> tuple[BaselineStore, str | None, _Stage]:
    """The store, why it is not believed, and the stage."""
    budget = Budget.begin(str(selection.stage), selection.budget_s, world.monotonic_ns)
    replaying = selection.stage is Stage.REPLAY
    if replaying:
        check_selection(selection)
    location = _location(configuration)
    store = open_store(location)
    event = read_event(world.environ)
    if event.recording:
        store.check_writable()
    believed = store.exists() and (replaying or configuration.gate is Gate.NEW)
    base = event.base_commit or selection.changed or ""
    doubt = distrust(configuration, base) if believed and not event.recording else None
    stage = _Stage(
        selection=selection,
        configuration=configuration,
        world=world,
        budget=budget,
        began=start(world),
        location=location,
        event=event,
        revision=read_revision(configuration.root, base=selection.changed),
        believed=believed and doubt is None,
    )
    return store, doubt, stage


def _judged(stage: _Stage, bench: Workbench, attempt: Attempt) -> RunDocument:
    selection, configuration, world, revision = stage.selection, stage.configuration, stage.world, stage.revision
    ci = ci_context(world.environ, stage=selection.stage, shard=str(selection.shard or ""))
    if stage.replaying:
        memory = _memory(stage.location, world) if stage.believed else Memory()
        return replay_all(selection, bench, configuration, world, memory=memory, revision=revision, ci=ci)
    known = recorded_failures(stage.location, revision) if stage.believed else KnownFailures()
    baseline = Baseline(gate=configuration.gate, known=known)
    return verify(selection, bench, configuration, world, baseline=baseline, revision=revision, ci=ci, attempt=attempt)


def _with_speed(
    document: RunDocument, stage: _Stage, bench: Workbench, attempt: Attempt, calibrations: tuple[Calibration, ...]
) -> RunDocument:
    question = SpeedQuestion(
        selection=stage.selection,
        configuration=stage.configuration,
        world=stage.world,
        event=stage.event,
        bench=bench,
        began=stage.began,
        location=stage.location,
        revision=stage.revision,
        calibrations=calibrations,
        budget=budget_for(stage.selection, stage.configuration, stage.budget),
        journal=attempt.journal,
    )
    return with_performance(document, ask_speed(question), question)


def _memory(location: str, world: World) -> Memory:
    """What the store says of failures: when they were first seen, and which are accepted."""
    return Memory(accepted=accepted_fingerprints(location, world.now()), first_seen=first_seen(location))


def _keep_bundles(document: RunDocument, configuration: Configuration, store: BaselineStore) -> None:
    """Bring the bundles that the run's rows name into the store."""
    place = BundlePlace.beside(configuration.root)
    named = {*(seen.bundle for seen in document.observations), *(group.bundle for group in document.summary.groups)}
    for sha256 in sorted((set(place.all()) & named) - set(store.bundles())):
        store.put_bundle(stored_bytes(place, sha256))


def _location(configuration: Configuration) -> str:
    directory = configuration.store_directory
    return configuration.store if directory is None else str(directory)


def _calibrations(bench: Workbench) -> tuple[Calibration, ...]:
    return tuple(bench.pool.calibrate(device) for device in dict.fromkeys(bench.devices))
