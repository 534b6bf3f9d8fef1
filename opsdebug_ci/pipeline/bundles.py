"""From judged failures to bundles beside the configuration.

(1) ask the workers for the inputs of every failing case, several at once; (2) hold them against what the case ran on;
(3) write what may be written, in the order given, until the run has its share.

Decides what a bundle holds. Deliberately changes no verdict: where nothing can be written, one note says so.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import opsdebug_ci
from opsdebug_ci.bundle.archive import MIB, MOST_MANIFEST_BYTES, packed
from opsdebug_ci.bundle.manifest import manifest_bytes
from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.bundle.privacy import (
    finding_without_values,
    observation_without_values,
    portable,
    settings_of,
    withheld_table,
)
from opsdebug_ci.errors import BundleError
from opsdebug_ci.execution.pool import usable_cores
from opsdebug_ci.model import FAILING_VERDICTS, Judgement, Observation
from opsdebug_ci.model.bundle import BUNDLE_SCHEMA, BundleManifest, InputTable, Rate, StoredInputs
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.message import KeepInputs, KeptInputs
from opsdebug_ci.model.run import Revision
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration

MOST_INPUT_BYTES = 16 * MIB
"""Larger inputs are left out of their bundle: the case makes them again, and their hashes are kept."""

MOST_RUN_BYTES = 256 * MIB
"""Bundles of one run together; beyond it storages are left out, manifests never."""

PRIVATE = "values are private (`bundle.values = false`): recipe and hashes only"
"""Said in every bundle then."""

MOST_CAUSE_BYTES = 16 * MIB
"""Storages of one cause together: the first bundles hold theirs, what repeats them is made again from its case."""

AT_ONCE = 4
"""Cases whose inputs lie on the disk at once, for each core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCase:
    """A failure to be kept, and what was found out about it besides."""

    judgement: Judgement
    """What happened and what it came to."""

    fingerprint: str
    """Versioned identity of its cause."""

    inputs: StoredInputs | None = None
    """Kept inputs it failed on, which its case does not make; None: the case makes them."""

    rate: Rate | None = None
    """How often it failed on the same bytes."""

    steps: tuple[HealthEvent, ...] = ()
    """Unhealthy steps of one run of it."""

    minimised_from: str | None = None
    """Id of the case it was shrunk from."""

    nearest_passing: Case | None = None
    """Nearest case that passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBundles:
    """What was kept of the failures of a run."""

    bundles: Mapping[str, str] = field(default_factory=dict)
    """Case id -> sha256."""

    notes: tuple[str, ...] = ()
    """What a reader must know, each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inputs:
    """What is known of the inputs of one failure."""

    table: InputTable | None
    """What they are; None: unknown, or not those it failed on."""

    files: tuple[Path, ...] = ()
    """Their storages, each named by its sha256; none where they are left out."""

    note: str | None = None
    """Why something is left out."""


def write_bundles(
    failures: Sequence[FailedCase], bench: Workbench, configuration: Configuration, revision: Revision, world: World
) -> WrittenBundles:
    """Keep every failing case; the others are passed over. Raises nothing because of a failure or a full disk."""
    failing = [failure for failure in failures if failure.judgement.verdict in FAILING_VERDICTS]
    place = BundlePlace.beside(configuration.root)
    written: dict[str, str] = {}
    notes: dict[str, None] = {}
    left = MOST_RUN_BYTES
    of_cause: Counter[str] = Counter()
    try:
        with contextlib.closing(_inputs_of(failing, bench, configuration)) as known:
            for failure, inputs in known:
                share = _within(inputs, left, MOST_CAUSE_BYTES - of_cause[failure.fingerprint])
                manifest = _manifest(failure, share, bench, configuration, revision, world)
                try:
                    data = _packed(manifest, {path.name: path.read_bytes() for path in share.files})
                except BundleError as problem:
                    notes[f"no bundle of {failure.judgement.case.name}: {problem.message}"] = None
                    continue
                written[failure.judgement.case.id] = place.put(data)
                left -= len(data)
                of_cause[failure.fingerprint] += sum(path.stat().st_size for path in share.files)
    except OSError as error:
        some = f"only {len(written):,} of {len(failing):,} bundles were" if written else "bundles were not"
        notes[f"{some} written to {configuration.root}: {error.strerror or error}"] = None
    return WrittenBundles(bundles=written, notes=tuple(notes))


def _within(inputs: _Inputs, left: int, left_of_cause: int) -> _Inputs:
    """`inputs`, without their storages where the bundles of the run, or of the cause, have no room left for them."""
    size = sum(path.stat().st_size for path in inputs.files)
    if size <= min(left, left_of_cause):
        return inputs
    whose, most = ("run", MOST_RUN_BYTES) if size > left else ("cause", MOST_CAUSE_BYTES)
    return replace(inputs, files=(), note=f"the bundles of its {whose} have {most // MIB} MiB already: hashes only")


def _inputs_of(
    failing: Sequence[FailedCase], bench: Workbench, configuration: Configuration
) -> Generator[tuple[FailedCase, _Inputs], None, None]:
    """Every failure with its inputs, in order; so many at once that the disk is not filled with them."""
    most_bytes = MOST_INPUT_BYTES if configuration.bundle_values else 0
    cores = usable_cores()
    for start in range(0, len(failing), AT_ONCE * cores):
        batch = failing[start : start + AT_ONCE * cores]
        with (
            tempfile.TemporaryDirectory(prefix="opsdebug-inputs-") as directory,
            ThreadPoolExecutor(cores) as threads,  # the inner one: its threads end before their directory does
        ):
            ask = partial(_asked, bench=bench, most_bytes=most_bytes, directory=Path(directory))
            yield from zip(batch, threads.map(ask, range(len(batch)), batch), strict=True)


def _asked(number: int, failure: FailedCase, *, bench: Workbench, most_bytes: int, directory: Path) -> _Inputs:
    """The inputs of one failure, as a worker makes them again unless they were kept."""
    if failure.inputs is not None and failure.inputs.directory is not None:
        return _kept(failure.inputs, Path(failure.inputs.directory), most_bytes)
    folder = directory / str(number)
    folder.mkdir()
    case, seen = failure.judgement.case, failure.judgement.observation.inputs_digest
    answer = bench.pool.about(KeepInputs(case=case, directory=str(folder), most_bytes=most_bytes), KeptInputs)
    if isinstance(answer, Observation) or answer.table is None:
        return _Inputs(table=None, note=f"its inputs could not be made again: {answer.reason}")
    if seen is not None and answer.table.digest != seen:
        return _Inputs(table=None, note="its inputs come out differently each time they are made, so none are kept")
    return _Inputs(table=answer.table, files=tuple(folder.iterdir()) if answer.written else (), note=answer.reason)


def _kept(inputs: StoredInputs, directory: Path, most_bytes: int) -> _Inputs:
    """Inputs that no case makes: whole in the bundle, or not at all."""
    if inputs.table.size_bytes > most_bytes:
        return _Inputs(table=None, note="its values are not those of its case, and may not be kept")
    names = dict.fromkeys(entry.sha256 for entry in inputs.table.storages)
    return _Inputs(table=inputs.table, files=tuple(directory / name for name in names))


def _manifest(
    failure: FailedCase,
    inputs: _Inputs,
    bench: Workbench,
    configuration: Configuration,
    revision: Revision,
    world: World,
) -> BundleManifest:
    judgement, table = failure.judgement, inputs.table
    manifest = BundleManifest(
        schema=BUNDLE_SCHEMA,
        tool_version=opsdebug_ci.__version__,
        fingerprint=failure.fingerprint,
        case=judgement.case,
        case_id=judgement.case.id,
        inputs=None,
        stored=(),
        verdict=judgement.verdict,
        findings=judgement.findings,
        observation=replace(judgement.observation, durations=None, processor_ns=None),
        commit=revision.commit,
        dirty=revision.dirty,
        source=_source(judgement.case.operator, bench),
        machine=bench.machine,
        environment=settings_of(world.environ),
        rate=failure.rate,
        steps=failure.steps,
        minimised_from=failure.minimised_from,
        nearest_passing=failure.nearest_passing,
        notes=() if inputs.note is None else (inputs.note,),
    )
    told = manifest if configuration.bundle_values else _without_values(manifest, known=table is not None)
    shown = table if table is None or configuration.bundle_values else withheld_table(table)
    return replace(
        portable(told, configuration.root), case=judgement.case, nearest_passing=failure.nearest_passing, inputs=shown
    )


def _without_values(manifest: BundleManifest, *, known: bool) -> BundleManifest:
    """The same with nothing in it that is worked out from a value; `known`: the inputs are."""
    return replace(
        manifest,
        observation=observation_without_values(manifest.observation),
        findings=tuple(map(finding_without_values, manifest.findings)),
        notes=(*(() if known else manifest.notes), PRIVATE),
    )


def _source(operator: str, bench: Workbench) -> str | None:
    for description in bench.catalogue.operators:
        if description.name == operator and description.source_file is not None:
            return f"{description.source_file}:{description.source_line or 1}"
    return None


def _packed(manifest: BundleManifest, blobs: Mapping[str, bytes]) -> bytes:
    """The bundle with as much as there is room for: without storages, then without clues, then without inputs.

    Raises:
        BundleError: even then it is too large.
    """
    stored = replace(manifest, stored=tuple(sorted(blobs)))
    if len(manifest_bytes(stored)) > MOST_MANIFEST_BYTES:
        bare = replace(manifest.observation, clues=(), properties=())
        note = "its readings and inputs are too long to be kept"
        stored = replace(manifest, observation=bare, inputs=None, steps=(), notes=(*manifest.notes, note))
        return packed(manifest_bytes(stored), {})
    return packed(manifest_bytes(stored), blobs)
