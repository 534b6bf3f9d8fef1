"""A bundle read by one who does not trust whoever made it.

Decides in which order it is looked at, cheapest bound first, so that the worst it can do is to be refused: (1) the
file's size and form, (2) the manifest's text, (3) its types, (4) what it says, (5) its storages against it. Nothing in
it is ever run: the operator is the one of the checkout.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from opsdebug_ci.bundle.archive import NEXT_STEP, Archive, read_archive, unpacked
from opsdebug_ci.bundle.durable import write_whole
from opsdebug_ci.errors import BundleError
from opsdebug_ci.failures.bundle_check import problem_of
from opsdebug_ci.failures.strict_json import read_strictly
from opsdebug_ci.model.bundle import BUNDLE_SCHEMA, BundleManifest, StoredInputs

UPDATE = "update opsdebug-ci; a newer version wrote it"
"""What to do about a schema of the future."""

_DECODER = msgspec.json.Decoder(BundleManifest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A bundle that was checked."""

    sha256: str
    """Of the file: its name."""

    manifest: BundleManifest
    """What it says."""

    archive: Archive
    """The file's contents."""

    @property
    def complete(self) -> bool:
        """It holds every storage of its inputs, so that nothing need be made again."""
        inputs = self.manifest.inputs
        return inputs is not None and {entry.sha256 for entry in inputs.storages} <= set(self.manifest.stored)


def read_bundle(path: Path) -> Bundle:
    """The checked bundle in a file.

    Raises:
        BundleError: it is refused; the message says why.
    """
    return _checked(read_archive(path), str(path))


def parse_bundle(data: bytes, where: str) -> Bundle:
    """The same from bytes; `where` names them in messages.

    Raises:
        BundleError: it is refused; the message says why.
    """
    return _checked(unpacked(data, where), where)


def unpack(bundle: Bundle, directory: Path) -> StoredInputs:
    """Write the storages of a bundle to an existing directory, for a worker to load.

    A bundle that does not hold all of them is replayed from its case: the worker makes them, and they must come out
    as the table says.

    Raises:
        BundleError: nothing is known of its inputs.
    """
    table = bundle.manifest.inputs
    if table is None:
        raise BundleError(
            f"bundle {bundle.sha256[:12]} tells nothing of its inputs; wanted a table of them",
            next_step="its notes say why; run its case by name instead",
        )
    if not bundle.complete:
        return StoredInputs(table=table, directory=None)
    for sha256, blob in bundle.archive.blobs.items():
        write_whole(directory / sha256, blob)
    return StoredInputs(table=table, directory=str(directory))


def _checked(archive: Archive, where: str) -> Bundle:
    try:
        raw = read_strictly(archive.manifest)
    except BundleError as problem:
        raise BundleError(f"{where}: manifest: {problem.message}", next_step=NEXT_STEP) from None
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if schema != BUNDLE_SCHEMA:
        newer = isinstance(schema, str) and schema.startswith(BUNDLE_SCHEMA.split("/")[0])
        raise BundleError(
            f"{where}: manifest: `schema` is {str(schema)[:40]!r}; wanted {BUNDLE_SCHEMA!r}",
            next_step=UPDATE if newer else NEXT_STEP,
        )
    try:
        manifest = _DECODER.decode(archive.manifest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BundleError(f"{where}: manifest: {str(error)[:200]}", next_step=NEXT_STEP) from None
    found = problem_of(manifest, raw, archive.blobs)
    if found is not None:
        raise BundleError(f"{where}: manifest: {found}", next_step=NEXT_STEP)
    return Bundle(sha256=archive.sha256, manifest=manifest, archive=archive)
