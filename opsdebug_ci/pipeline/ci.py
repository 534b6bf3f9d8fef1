"""`opsdebug ci`: one stage over the configured operators, gated against the baseline and recorded in the store.

Decides to record the run only where the event may make a baseline: pull requests, merge groups and pushes of other
branches never write the store. Their code is not the project's yet; their document stays with their job, and so does
their run, where a directory is named for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from opsdebug_ci.github import Event, ci_context, read_event
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.machine import Calibration
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Gate, Stage
from opsdebug_ci.pipeline.attempt import Attempt, open_attempt
from opsdebug_ci.pipeline.baseline import distrust, recorded_baseline
from opsdebug_ci.pipeline.budget import Budget
from opsdebug_ci.pipeline.keeping import check_target, keep_run, kept_apart
from opsdebug_ci.pipeline.performance import ask_speed, with_performance
from opsdebug_ci.pipeline.record import Start, start
from opsdebug_ci.pipeline.records import NO_RECORDS, configured_store, read_records
from opsdebug_ci.pipeline.replay_stage import Memory, check_selection, replay_all
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.speed_question import SpeedQuestion, budget_for, is_asked
from opsdebug_ci.pipeline.trigger import trigger_of
from opsdebug_ci.pipeline.verification import Baseline, verify
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, read_revision
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.memory.history import accepted_fingerprints, first_seen


@dataclass(frozen=True, slots=True, kw_only=True)
class CiOutcome:
    """What a stage came to."""

    document: RunDocument
    """The run."""

    recorded: str | None
    """Store it was recorded in; None: the event may not write it."""

    unrecorded: str = ""
    """Why it was not recorded, in a sentence; empty: it was."""

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

    location: Path
    """Directory of the store's rows; where nothing is stored, nothing is there."""

    event: Event
    """What triggered it."""

    revision: Revision
    """The code under test."""

    target: BaselineStore
    """Where the run is recorded."""

    recording: bool
    """It is."""

    believed: bool
    """What the store holds counts."""

    doubt: str | None = None
    """Why it does not, where that is not for want of a store."""

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
    doubts, stage = _prepared(selection, configuration, world)
    with (
        workbench(configuration, world) as bench,
        open_attempt(selection, bench, configuration, world, revision=stage.revision, budget=stage.budget) as attempt,
    ):
        document = _judged(stage, bench, attempt)
        asked, recording = is_asked(selection, configuration), stage.recording
        calibrations = _calibrations(bench) if asked or recording else ()
        if asked:
            bench.pool.close()  # nothing of ours runs beside what is timed
            document = _with_speed(document, stage, bench, attempt, calibrations)
        if recording:
            keep_run(document, calibrations, stage.target, configuration, world.environ)
        told = attempt.settle()
    return CiOutcome(
        document=document,
        recorded=stage.target.location if recording else None,
        unrecorded="" if recording else _unrecorded(stage.event),
        notes=(*doubts, *told),
    )


def _unrecorded(event: Event) -> str:
    return (
        f"not recorded: this job is of event `{event.name}`, and only pushes, schedules and dispatches of the default "
        "branch write the store; `--record DIR` keeps a run apart"
    )


def _prepared(selection: Selection, configuration: Configuration, world: World) -> tuple[tuple[str, ...], _Stage]:
    """What is to be known of the store and why it is not believed, and the stage."""
    budget = Budget.begin(str(selection.stage), selection.budget_s, world.monotonic_ns)
    replaying = selection.stage is Stage.REPLAY
    if replaying:
        check_selection(selection)
    store = configured_store(configuration, world.environ)
    event = read_event(world.environ)
    target = store if selection.record_in is None else kept_apart(selection.record_in, store, world)
    recording = event.recording or target is not store
    if recording:
        check_target(target, apart=target is not store)
    records = read_records(store, needed=recording and target is store)
    believed = records.root is not NO_RECORDS and (replaying or configuration.gate is Gate.NEW)
    base = event.base_commit or selection.changed or ""
    unread = records.notes[0] if records.root is NO_RECORDS and records.notes else None
    doubt = distrust(configuration, base) if believed and not event.recording else None
    stage = _Stage(
        selection=selection,
        configuration=configuration,
        world=world,
        budget=budget,
        began=start(world),
        location=records.root,
        event=event,
        revision=read_revision(configuration.root, base=selection.changed),
        target=target,
        recording=recording,
        believed=believed and doubt is None,
        doubt=doubt or unread,
    )
    return (*records.notes, *(() if doubt is None else (doubt,))), stage


def _judged(stage: _Stage, bench: Workbench, attempt: Attempt) -> RunDocument:
    selection, configuration, world, revision = stage.selection, stage.configuration, stage.world, stage.revision
    ci = ci_context(
        world.environ, stage=selection.stage, shard=str(selection.shard or ""), operators=selection.patterns
    )
    if stage.replaying:
        memory = _memory(stage.location, world) if stage.believed else Memory()
        return replay_all(selection, bench, configuration, world, memory=memory, revision=revision, ci=ci)
    baseline = _baseline(stage)
    document = verify(
        selection, bench, configuration, world, baseline=baseline, revision=revision, ci=ci, attempt=attempt
    )
    return replace(document, baseline_how=baseline.how, baseline_doubt=baseline.doubt, recorded=baseline.failures)


def _baseline(stage: _Stage) -> Baseline:
    gate, root = stage.configuration.gate, stage.configuration.root
    if stage.doubt is not None or gate is not Gate.NEW:
        doubt = stage.doubt or ""
        return Baseline(gate=gate, how=doubt, doubt=doubt if gate is Gate.NEW else "")
    trigger = trigger_of(stage.event, stage.selection.changed)
    return recorded_baseline(stage.location, root, trigger, stage.revision, recording=stage.event.recording)


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


def _memory(location: Path, world: World) -> Memory:
    """What the store says of failures: when they were first seen, and which are accepted."""
    return Memory(accepted=accepted_fingerprints(location, world.now()), first_seen=first_seen(location))


def _calibrations(bench: Workbench) -> tuple[Calibration, ...]:
    return tuple(bench.pool.calibrate(device) for device in dict.fromkeys(bench.devices))
