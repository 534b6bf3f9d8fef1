"""`opsdebug replay --shrink`: a smaller case of a failure that reproduced, and its bundle.

Decides where an interrupted shrinking is taken up again: beside the configuration, for the same bundle at the same
commit of an unmodified work tree. Anything else might go on from what other code did.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from opsdebug_ci.bundle.durable import make_directory
from opsdebug_ci.bundle.place import OWN_DIRECTORY
from opsdebug_ci.execution.pool import usable_cores
from opsdebug_ci.failures.shrinking import Budget
from opsdebug_ci.model import Judgement
from opsdebug_ci.model.replay import ShrunkReplay
from opsdebug_ci.model.run import Revision
from opsdebug_ci.pipeline.bundles import FailedCase, WrittenBundles, write_bundles
from opsdebug_ci.pipeline.replay_tries import Attempt, unpacked_inputs
from opsdebug_ci.pipeline.shrink import ShrunkFailure, shrink_case
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.report.document import case_document

SECOND_NS = 1_000_000_000

DIGITS = 12
"""Digits of a commit, and of a sha256, in the name of a state."""


def shrunk_replay(
    attempt: Attempt,
    failure: Judgement,
    bench: Workbench,
    configuration: Configuration,
    world: World,
    revision: Revision,
) -> ShrunkReplay:
    """Shrink a failure that a try has shown, and keep the smaller case.

    Raises:
        UsageError: the state of an earlier shrinking is damaged.
    """
    world.progress.tell(f"shrinking {failure.case.name}")
    state = _state(attempt, configuration, revision)
    with tempfile.TemporaryDirectory(prefix="opsdebug-shrink-") as directory:
        scratch = Path(directory)
        (scratch / "values").mkdir()
        shrunk = shrink_case(
            failure,
            bench,
            attempt.description,
            budget=Budget(),
            clock=lambda: world.monotonic_ns() / SECOND_NS,
            directory=scratch / "values",
            inputs=unpacked_inputs(attempt, scratch / "inputs"),
            state=state,
            width=usable_cores(),
        )
        written = _kept(attempt, shrunk, bench, configuration, world, revision)
    if state is not None:
        with contextlib.suppress(OSError):  # one that cannot be removed is gone on from, which costs nothing
            state.unlink(missing_ok=True)
    return _told(shrunk, written)


def _told(shrunk: ShrunkFailure, written: WrittenBundles) -> ShrunkReplay:
    return ShrunkReplay(
        case=case_document(shrunk.judgement.case),
        smaller=shrunk.minimised_from is not None,
        verified=shrunk.verified,
        bundle=written.bundles.get(shrunk.judgement.case.id),
        boundary=shrunk.boundary,
        values=shrunk.values,
        trials=shrunk.trials,
        seconds=shrunk.seconds,
        ended=shrunk.ended,
        others=tuple(other.findings[0].statement for other in shrunk.others if other.findings),
        notes=(*shrunk.notes, *written.notes),
    )


def _kept(
    attempt: Attempt,
    shrunk: ShrunkFailure,
    bench: Workbench,
    configuration: Configuration,
    world: World,
    revision: Revision,
) -> WrittenBundles:
    """The bundle of the smaller case; nothing where nothing is smaller."""
    if shrunk.minimised_from is None:
        return WrittenBundles()
    smallest = FailedCase(
        judgement=shrunk.judgement,
        fingerprint=attempt.manifest.fingerprint,
        inputs=shrunk.inputs,
        rate=shrunk.rate,
        minimised_from=shrunk.minimised_from,
        nearest_passing=shrunk.nearest_passing,
    )
    return write_bundles([smallest], bench, configuration, revision, world)


def _state(attempt: Attempt, configuration: Configuration, revision: Revision) -> Path | None:
    """Where the shrinking is written down; None: nowhere, for it cannot be, or what code it was could not be told."""
    if not revision.commit or revision.dirty:
        return None
    directory = configuration.root / OWN_DIRECTORY
    try:
        make_directory(directory)
        make_directory(directory / "shrinking")
    except OSError:
        return None
    return directory / "shrinking" / f"{attempt.entry.sha256[:DIGITS]}-{revision.commit[:DIGITS]}.json"
