"""What a job of a stage leaves for the one that tells the pull request: one file, in a directory to upload.

Decides what goes into it: the whole run, or why there is none. Everything it says of the job comes from the runner; the
job that reads it asks GitHub instead of believing it. What is this machine's alone is left out (`portable_run`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from opsdebug_ci.bundle.durable import write_whole
from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.github.artifacts.naming import artifact_name
from opsdebug_ci.github.event import Event, read_event
from opsdebug_ci.github.inputs import Part, read_part
from opsdebug_ci.github.own_run import own_run
from opsdebug_ci.github.plain_text import one_line
from opsdebug_ci.github.runner import Runner
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.shard import SHARD_FILE, SHARD_SCHEMA, ShardDocument
from opsdebug_ci.pipeline.portable_run import Portability
from opsdebug_ci.report import encode

ERROR_LIMIT = 2_000
"""Characters of why there is no run: six lines of a log, most of them whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the stage of a job ended."""

    exit_code: int
    """Its exit code."""

    document: RunDocument | None
    """The run; None: there is none."""

    error: str = ""
    """Why there is none; untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReport:
    """What a job leaves."""

    name: str
    """Of the artifact."""

    data: bytes
    """Its only file."""


def shard_report(
    ending: Ending,
    *,
    part: Part,
    event: Event,
    environ: Mapping[str, str],
    workspace: PurePath,
    others: Sequence[PurePath] = (),
) -> ShardReport:
    """What a job leaves, whether its stage has a run or not.

    Args:
        ending: how the stage ended.
        part: which part of which whole the job runs.
        event: what triggered the job.
        environ: the environment of the job.
        workspace: root of the repository on this machine.
        others: other names of that directory.
    """
    own = own_run(environ)
    run = ending.document
    elsewhere = Portability(workspace, *others)
    shard = ShardDocument(
        schema=SHARD_SCHEMA,
        suite=part.suite,
        stage=part.stage,
        shard=part.shard,
        shards=part.shards,
        attempt=own.attempt,
        repository=event.repository,
        ci_run=own.id,
        head_commit=event.head_commit,
        exit_code=ending.exit_code,
        run=None if run is None else elsewhere.run(run),
        error=""
        if run is not None
        else one_line(elsewhere.text(ending.error), ERROR_LIMIT) or "the stage ended without a word",
    )
    return ShardReport(name=artifact_name(part.suite, own.attempt, part.shard, part.shards), data=encode(shard))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftShard:
    """Where it is."""

    name: str
    """Name of the artifact."""

    directory: Path
    """What is to be uploaded under it."""


def leave_shard(ending: Ending, environ: Mapping[str, str], runner: Runner) -> LeftShard | None:
    """Write what the job leaves; None: it runs no stage.

    Raises:
        EnvironmentLimitError: it cannot be written.
    """
    part = read_part(environ)
    if part is None:
        return None
    report = shard_report(
        ending,
        part=part,
        event=_event(environ),
        environ=environ,
        workspace=runner.workspace,
        others=(runner.workspace.resolve(),),
    )
    return LeftShard(name=report.name, directory=write_shard(report, runner.temporary))


def _event(environ: Mapping[str, str]) -> Event:
    """The event; an empty one where it cannot be read, which is why there is no run then."""
    try:
        return read_event(environ)
    except EnvironmentLimitError:
        return Event()


def write_shard(report: ShardReport, temporary: Path) -> Path:
    """Put it, whole or not at all, into a directory of its own below `temporary`, which is returned.

    Raises:
        EnvironmentLimitError: it cannot be written there.
    """
    try:
        directory = Path(tempfile.mkdtemp(prefix="opsdebug-shard-", dir=temporary))
        write_whole(directory / SHARD_FILE, report.data)
    except OSError as error:
        raise EnvironmentLimitError(
            f"`RUNNER_TEMP` is {str(temporary)!r}: got {error.strerror}; wanted room for {len(report.data):,} bytes",
            next_step="free space on the runner, or make the directory writable",
        ) from error
    return directory


def bundle_directory(working_directory: Path) -> Path | None:
    """Where the failure bundles of runs in `working_directory` are; None: there is none."""
    place = BundlePlace.beside(working_directory)
    names = place.all()
    return place.path(names[0]).parents[1] if names else None
