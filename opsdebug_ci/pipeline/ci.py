"""`opsdebug ci`: one stage over the configured operators, gated against the baseline and recorded in the store.

Decides what is the baseline and whether the run may be recorded as one. Pull requests and merge groups never write
the store: their code is not the project's yet, and their document stays with their job.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.github import ci_context
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.machine import Calibration
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Gate
from opsdebug_ci.pipeline.verification import Baseline, Selection, verify
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, read_revision
from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.known import known_failures

RECORDING_EVENTS = ("", "push", "schedule", "workflow_dispatch")
"""Events whose runs may become a baseline; the empty one is a person at a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CiOutcome:
    """What a stage came to."""

    document: RunDocument
    """The run."""

    recorded: str | None
    """Store it was recorded in; None: the event may not write it."""


def run_stage(selection: Selection, configuration: Configuration, world: World) -> CiOutcome:
    """Run one stage: (1) prepare the store, (2) verify against the baseline, (3) probe the machine, (4) record.

    Raises:
        StoreError: the store cannot be written; found out before any case runs.
    """
    ci = ci_context(world.environ, stage=selection.stage, shard=str(selection.shard or ""))
    location = _location(configuration)
    store = open_store(location)
    records = ci.event in RECORDING_EVENTS
    if records:
        store.check_writable()
    revision = read_revision(configuration.root, base=selection.changed)
    baseline = _baseline(configuration, revision, location)
    with workbench(configuration, world) as bench:
        document = verify(selection, bench, configuration, world, baseline=baseline, revision=revision, ci=ci)
        calibrations = _calibrations(bench) if records else ()
    if records:
        store.append(document, calibrations)
    return CiOutcome(document=document, recorded=store.location if records else None)


def _location(configuration: Configuration) -> str:
    directory = configuration.store_directory
    return configuration.store if directory is None else str(directory)


def _baseline(configuration: Configuration, revision: Revision, location: str) -> Baseline:
    """The merge base of a pull request, else the parent of the commit under test; what failed there is known."""
    if configuration.gate is not Gate.NEW:
        return Baseline(gate=configuration.gate)
    line = _line_from(revision)
    known = known_failures(location, line[0], line[1:]) if line else None
    if known is None:
        return Baseline(gate=configuration.gate)
    return Baseline(gate=configuration.gate, known=known.fingerprints, commit=known.commit)


def _line_from(revision: Revision) -> tuple[str, ...]:
    """The baseline commit and its first-parent ancestors, as far as this clone knows them."""
    if not revision.base_commit:
        return revision.ancestors
    if revision.base_commit in revision.ancestors:
        return revision.ancestors[revision.ancestors.index(revision.base_commit) :]
    return (revision.base_commit,)


def _calibrations(bench: Workbench) -> tuple[Calibration, ...]:
    return tuple(bench.pool.calibrate(device) for device in dict.fromkeys(bench.devices))
