"""`opsdebug baselines compact`, `prune`, `push`, `pull`: the store looked after.

Decides who may do it and what it is asked to do. What is packed, what may go, and what goes over is the store's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.errors import StoreError, UsageError
from opsdebug_ci.model.baselines import StoredRunRow
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.pipeline.writing import check_may_write
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.files.inventory import take_inventory
from opsdebug_ci.store.files.layout import read_bundle_path
from opsdebug_ci.store.places.backend import Mirror, Told, untold
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.places.mirroring import COPYING
from opsdebug_ci.store.upkeep.compaction import Compaction, CompactionRules, compact
from opsdebug_ci.store.upkeep.overview import stored_runs
from opsdebug_ci.store.upkeep.pruning import Pruning, prune
from opsdebug_ci.store.upkeep.retention import Limits, Retention, retention
from opsdebug_ci.store.upkeep.transfer import Transfer, transfer

NAME_BYTES = 4
"""Random bytes in the names of packs: they follow the day, and two compactions of one day must not meet in a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """A store on this machine."""

    mirror: Mirror
    """Where it is, and what must be known of it."""

    runs: int
    """Runs it holds."""

    fetched: int
    """Files that were copied for it just now."""


def compact_store(store: BaselineStore, rules: CompactionRules, world: World, told: Told = untold) -> Compaction:
    """Few files instead of many.

    Raises:
        UsageError: this job may not write baselines.
        StoreError: the store cannot be read or written.
    """
    check_may_write("baselines compact", world.environ)
    return compact(
        store.backend, today=world.now().date(), entropy=world.entropy(NAME_BYTES).hex(), rules=rules, told=told
    )


def what_may_go(store: BaselineStore, limits: Limits, world: World, told: Told = untold) -> Retention:
    """What pruning would remove.

    Raises:
        UsageError: there is no limit.
        StoreError: the store cannot be read.
    """
    if not limits.any:
        raise UsageError(
            "`baselines prune` has no limit; wanted what may stay",
            next_step="write e.g. --older-than 400d, --keep-runs 2000 or --max-size 1GiB",
        )
    mirror = store.mirror(told)
    bundles = [entry for entry in store.backend.entries() if read_bundle_path(entry.path) is not None]
    away = [entry.path for entry in bundles if entry.size_bytes is None]
    # NOTE: bundles on a branch are fetched for their sizes only where these matter.
    fetched = store.backend.read_all(away) if away and limits.most_bytes is not None else ()
    known = {path: len(data) for path, data in fetched}
    sizes = {Path(one.path).stem: one.size_bytes or known.get(one.path, 0) for one in bundles}
    return retention(mirror.root, limits, world.now(), sizes)


def runs_of(store: BaselineStore, run_ids: Sequence[str]) -> Mapping[str, StoredRunRow]:
    """What is to be said of these runs, by id. Raises StoreError when the store cannot be read."""
    mirror = store.mirror()
    wanted = frozenset(run_ids)
    found = stored_runs(mirror.root, take_inventory(mirror.root).contents).rows if wanted else ()
    return {run.id: run for run in found if run.id in wanted}


def prune_store(store: BaselineStore, going: Retention, world: World, told: Told = untold) -> Pruning:
    """Remove what may go.

    Raises:
        UsageError: this job may not write baselines.
        StoreError: the store cannot be read or written, or somebody else compacts or prunes it meanwhile.
    """
    check_may_write("baselines prune", world.environ)
    try:
        return prune(store.backend, going, today=world.now().date(), entropy=world.entropy(NAME_BYTES).hex(), told=told)
    except FileNotFoundError as error:
        raise StoreError(
            f"`{error.filename}` of store `{store.location}` went while it was read; wanted a store that nobody else "
            "compacts or prunes",
            next_step="prune again: what went until then is gone, everything else is as it was",
        ) from error


def push_runs(sources: Sequence[Path], store: BaselineStore, world: World, told: Told = untold) -> list[Transfer]:
    """Bring the runs of stores in directories into `store`, one directory after the other.

    Raises:
        UsageError: this job may not write baselines, or a source is the store itself.
        StoreError: a source is no store, or the store cannot be written.
    """
    check_may_write("baselines push", world.environ)
    opened = [open_store(source, root=world.directory, environ=world.environ) for source in sources]
    for source in opened:
        if not source.exists():
            raise UsageError(
                f"`--from {source.location}` holds no store; wanted a directory that `opsdebug ci --record DIR` wrote",
                next_step="opsdebug ci --stage full --record DIR, then opsdebug baselines push --from DIR",
            )
    for source in opened:
        if Path(source.location).resolve() == Path(store.location).resolve():
            raise UsageError(
                f"`--from {source.location}` is the store itself; wanted another directory",
                next_step="name the directory that runs were kept in, or set `store` to where they should go",
            )
    try:
        return [transfer(source, store, told) for source in opened]
    except FileNotFoundError as error:
        raise StoreError(
            f"`{error.filename}` went while it was read; wanted a store that nobody compacts or prunes",
            next_step="push again: what was sent by then is there",
        ) from error


def pull_store(store: BaselineStore, told: Told = untold) -> Pulled:
    """The store on this machine, as it is now; without a network, as it was last time.

    Raises:
        StoreError: there is no store, or neither it nor a copy can be read.
    """
    fetched = 0

    def heard(doing: str, done: int, of: int) -> None:
        nonlocal fetched
        fetched = done if doing == COPYING else fetched
        told(doing, done, of)

    mirror = store.mirror(heard)
    return Pulled(mirror=mirror, runs=len(take_inventory(mirror.root).contents.run_ids), fetched=fetched)
