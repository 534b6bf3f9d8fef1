"""Where bundles are found: a file, the directory beside the configuration, the baseline store, fetched artifacts.

Decides which bytes a name stands for. What a bundle says is not looked at here; bytes that do not hash to their name
are told as such and never handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from opsdebug_ci.bundle.entry_name import SUFFIX
from opsdebug_ci.bundle.place import OWN_DIRECTORY, BundlePlace
from opsdebug_ci.errors import BundleError, UsageError
from opsdebug_ci.failures.bundle_reader import Bundle, parse_bundle, read_bundle
from opsdebug_ci.model.bundle import BundleManifest
from opsdebug_ci.pipeline.fetched_bundles import fetched_bundles
from opsdebug_ci.pipeline.records import NO_RECORDS, configured_store, read_records
from opsdebug_ci.plan import Configuration
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.bundles import only_match, stored_bytes
from opsdebug_ci.store.memory.elsewhere import bundles_elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A bundle that is somewhere."""

    sha256: str
    """What it is named by; empty for a file, whose name says nothing."""

    place: str
    """Where, in words."""

    read: Callable[[], Bundle]
    """Reads and checks it. Raises BundleError when it is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A bundle that was found and looked into. Without its storages: many may be at hand at once."""

    found: Found
    """Where it is."""

    sha256: str
    """Of its bytes; empty for a file that was refused."""

    manifest: BundleManifest | None
    """What it says; None: it was refused."""

    refusal: str = ""
    """Why."""

    @property
    def file(self) -> bool:
        """It is a file that was named, not one of a store."""
        return not self.found.sha256


def look_into(found: Found) -> Entry:
    """Read and check a bundle."""
    try:
        bundle = found.read()
    except BundleError as refusal:
        return Entry(found=found, sha256=found.sha256, manifest=None, refusal=refusal.message)
    return Entry(found=found, sha256=bundle.sha256, manifest=bundle.manifest)


def every_bundle(configuration: Configuration, environ: Mapping[str, str] | None = None) -> tuple[Found, ...]:
    """Every bundle of this checkout and of the store, each once, by hash."""
    place, store = BundlePlace.beside(configuration.root), configured_store(configuration, environ)
    found = {sha256: _stored(store, sha256) for sha256 in store.bundles()}
    for sha256 in place.all():
        mine = _local(place, sha256)
        found[sha256] = _either(mine, found[sha256]) if sha256 in found else mine
    return tuple(found[sha256] for sha256 in sorted(found))


def _either(first: Found, second: Found) -> Found:
    """Two copies of one bundle: a damaged one does not hide the other."""

    def read() -> Bundle:
        try:
            return first.read()
        except BundleError:
            return second.read()

    return replace(first, read=read)


def has_places(configuration: Configuration, environ: Mapping[str, str] | None = None) -> bool:
    """Whether there is anything that could hold bundles: a store, or a directory that runs by hand have left."""
    return configured_store(configuration, environ).exists() or (configuration.root / OWN_DIRECTORY).is_dir()


def named_bundles(
    names: Iterable[str], configuration: Configuration, directory: Path, environ: Mapping[str, str] | None = None
) -> tuple[Found, ...]:
    """The bundles that names stand for: a file that exists, else the beginning of a sha256.

    Args:
        names: as typed.
        configuration: says where the store is.
        directory: where relative paths start.
        environ: environment variables, for a store elsewhere.

    Raises:
        UsageError: a name stands for none, or for several.
    """
    return tuple(_named(name, configuration, directory, environ) for name in names)


def _named(name: str, configuration: Configuration, directory: Path, environ: Mapping[str, str] | None) -> Found:
    path = directory / Path(name).expanduser()
    if path.is_file():
        return Found(sha256="", place=name, read=lambda: read_bundle(path))
    if "/" in name or name.endswith(SUFFIX):
        raise UsageError(
            f"`{name}` is no file; wanted a bundle, or the beginning of the sha256 of a stored one",
            next_step="check the path; `opsdebug failures` lists what is stored",
        )
    everything = _with_fetched({found.sha256: found for found in every_bundle(configuration, environ)}, configuration)
    if not any(sha256.startswith(name.lower()) for sha256 in everything):
        _told_elsewhere(name, configuration, environ)
    where = f"`{OWN_DIRECTORY}` and store `{configured_store(configuration, environ).location}`"
    return everything[only_match(everything, name, where)]


def _with_fetched(everything: dict[str, Found], configuration: Configuration) -> dict[str, Found]:
    """And the bundles of CI runs that were fetched, which only a name asks for: a stage replays what is its own."""
    for sha256, place, words in fetched_bundles(configuration.root):
        fetched = _local(place, sha256, words)
        everything[sha256] = _either(everything[sha256], fetched) if sha256 in everything else fetched
    return everything


def _told_elsewhere(name: str, configuration: Configuration, environ: Mapping[str, str] | None) -> None:
    """Nothing, unless the store knows that the bundle is somewhere else.

    Raises:
        BundleError: it does; says where.
    """
    records = read_records(configured_store(configuration, environ), needed=False)
    known = {} if records.root is NO_RECORDS else bundles_elsewhere(records.root, name)
    if len(known) == 1:
        ((sha256, place),) = known.items()
        store = configured_store(configuration, environ)
        raise BundleError(
            f"bundle {sha256[:12]} was too large for store `{store.location}`; it is in {place}",
            next_step="fetch it from there, then `opsdebug replay FILE`",
        )


def _local(place: BundlePlace, sha256: str, words: str = OWN_DIRECTORY) -> Found:
    return Found(sha256=sha256, place=words, read=lambda: parse_bundle(stored_bytes(place, sha256), _shown(sha256)))


def _stored(store: BaselineStore, sha256: str) -> Found:
    return Found(sha256=sha256, place=store.location, read=lambda: parse_bundle(store.bundle(sha256), _shown(sha256)))


def _shown(sha256: str) -> str:
    return f"bundle {sha256[:12]}"
