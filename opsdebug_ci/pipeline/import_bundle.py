"""`opsdebug failures import`: bundles from elsewhere, checked and laid beside the configuration.

Decides that what a service captured, which knew nothing of causes, gets the fingerprint of its failure here, and with
it other bytes and another name. Every other bundle stays as it is. Nothing of it is run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from opsdebug_ci.bundle.archive import packed
from opsdebug_ci.bundle.manifest import manifest_bytes
from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.errors import BundleError, EnvironmentLimitError
from opsdebug_ci.failures import fingerprint
from opsdebug_ci.failures.bundle_reader import Bundle, read_bundle
from opsdebug_ci.model import Judgement
from opsdebug_ci.model.bundle import CAPTURED, BundleManifest
from opsdebug_ci.model.judgement import ReferenceUse
from opsdebug_ci.model.vocabulary import Confidence
from opsdebug_ci.plan import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of one file."""

    path: Path
    """The file."""

    sha256: str
    """What the bundle is named by here; empty when it was refused."""

    manifest: BundleManifest | None
    """What it says; None when it was refused."""

    new: bool = False
    """It was not here before."""

    refusal: BundleError | None = None
    """Why it was refused; None: it was not."""


def import_bundles(paths: Iterable[Path], configuration: Configuration) -> list[Imported]:
    """Check every file and keep those that are bundles; a refused one does not keep the others out.

    Raises:
        EnvironmentLimitError: nothing can be written beside the configuration.
    """
    place = BundlePlace.beside(configuration.root)
    return [_imported(path, place) for path in paths]


def _imported(path: Path, place: BundlePlace) -> Imported:
    try:
        bundle = read_bundle(path)
    except BundleError as refusal:
        return Imported(path=path, sha256="", manifest=None, refusal=refusal)
    manifest = _recognised(bundle)
    data = packed(manifest_bytes(manifest) if manifest != bundle.manifest else bundle.archive.manifest, _blobs(bundle))
    known = set(place.all())
    try:
        sha256 = place.put(data)
    except OSError as error:
        raise EnvironmentLimitError(
            f"the bundle in {path} cannot be kept beside the configuration: {error.strerror}; wanted a directory that "
            "can be written",
            next_step="make the directory of the configuration writable, or copy the project",
        ) from error
    return Imported(path=path, sha256=sha256, manifest=manifest, new=sha256 not in known)


def _blobs(bundle: Bundle) -> dict[str, memoryview]:
    return dict(bundle.archive.blobs)


def _recognised(bundle: Bundle) -> BundleManifest:
    """What a service captured, under the fingerprint that the same failure has here."""
    manifest = bundle.manifest
    if not manifest.fingerprint.startswith(CAPTURED):
        return manifest
    judgement = Judgement(
        case=manifest.case,
        observation=manifest.observation,
        verdict=manifest.verdict,
        reference=ReferenceUse(used=None, confidence=Confidence.LOW, dissent=None),
        findings=manifest.findings,
    )
    found = fingerprint(judgement) if manifest.findings else None
    return manifest if found is None else replace(manifest, fingerprint=found)
