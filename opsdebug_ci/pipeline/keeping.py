"""Where a finished run is kept: in the store, or apart, so that somebody else can send it there.

Decides that no finished run is lost: one that cannot be stored lies beside the configuration until it is sent.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from opsdebug_ci.bundle.place import OWN_DIRECTORY, BundlePlace, make_beside
from opsdebug_ci.errors import BundleError, StoreError, StoreFormatError, UsageError
from opsdebug_ci.github import artifact_of
from opsdebug_ci.model import Calibration, OperatorSource, RunDocument
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, work_tree
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.bundles import stored_bytes
from opsdebug_ci.store.places.backends import open_store

UNSENT = "unsent"
"""Store beside the configuration for runs that could not be stored where they belong."""


def kept_apart(directory: Path, store: BaselineStore, world: World) -> BaselineStore:
    """A store in a directory of its own, for a run that somebody else sends to `store`.

    Raises:
        UsageError: it is a file, or that store, or lies in it.
    """
    path = (world.directory / directory).resolve()
    if path.exists() and not path.is_dir():
        raise UsageError(
            f"`--record {directory}` is a file; wanted a directory, which is made where it is not there",
            next_step="name another one, e.g. `--record .opsdebug/record`",
        )
    home = (world.directory / store.location).resolve()
    if path == home or home in path.parents:
        raise UsageError(
            f"`--record {directory}` is the baseline store, or lies in it; wanted a directory apart",
            next_step="name another directory, or leave `--record` out to record in the store",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    return open_store(path)


def check_target(target: BaselineStore, *, apart: bool) -> None:
    """Find out, before any case runs, whether the run could be recorded.

    Raises:
        StoreError: it could not; says what else can be done.
    """
    try:
        target.check_writable()
    except StoreFormatError:
        raise
    except StoreError as error:
        if apart:
            raise
        raise type(error)(
            error.message, next_step=f"{error.next_step}; or record the run apart, with `--record DIR`"
        ) from error


def keep_run(
    document: RunDocument,
    calibrations: Sequence[Calibration],
    target: BaselineStore,
    configuration: Configuration,
    environ: Mapping[str, str],
) -> None:
    """Store a run with the bundles that its rows name.

    Raises:
        StoreError: it could not be stored; says where it is kept instead, and how it is sent.
    """
    bundles = named_bundles(document, configuration)
    document = portable(document, work_tree(configuration.root) or configuration.root)
    elsewhere = artifact_of(environ)
    try:
        target.append(document, calibrations, bundles=bundles, elsewhere=elsewhere)
    except StoreError as error:
        kept = configuration.root / OWN_DIRECTORY / UNSENT
        make_beside(kept)
        open_store(kept).append(document, calibrations, bundles=bundles)
        raise StoreError(
            f"{error.message}; the run is kept in {kept}",
            next_step=f"{error.next_step}; then `opsdebug baselines push --from {shlex.quote(str(kept))}`",
        ) from error


def portable(document: RunDocument, top: Path) -> RunDocument:
    """The document without paths of this machine: operators are where they are in the repository, or just in a file of
    some name where that lies elsewhere, and of interpreters the name is left. A store is read for years, by others,
    elsewhere.

    Args:
        document: with absolute paths.
        top: of the work tree.
    """
    sources = tuple(_inside(source, top.resolve()) for source in document.sources)
    return replace(document, sources=sources, performance=_without_paths(document.performance))


def _without_paths(performance: PerformanceDocument | None) -> PerformanceDocument | None:
    if performance is None or performance.comparison is None:
        return performance
    arms = tuple(replace(arm, python=Path(arm.python).name) for arm in performance.comparison.arms)
    return replace(performance, comparison=replace(performance.comparison, arms=arms))


def _inside(source: OperatorSource, top: Path) -> OperatorSource:
    path = Path(source.file)
    if not path.is_absolute():
        return source
    inside = path.resolve().is_relative_to(top)
    return replace(source, file=path.resolve().relative_to(top).as_posix() if inside else path.name)


def named_bundles(document: RunDocument, configuration: Configuration) -> list[bytes]:
    """Bundles beside the configuration that the run's rows name. One that was damaged since is left out: the run is
    stored all the same, and whoever asks for the bundle is told that it is not there."""
    place = BundlePlace.beside(configuration.root)
    named = {*(seen.bundle for seen in document.observations), *(group.bundle for group in document.summary.groups)}
    found = []
    for sha256 in sorted(set(place.all()) & named):
        with suppress(BundleError):
            found.append(stored_bytes(place, sha256))
    return found
