"""Runs and bundles removed from a store for good.

Decides the order: what is left of earlier compactions first, so that nothing of it comes back when the pack that stands
for it goes; packs without those runs before the packs they stand for; bundles last, and only those that no run names by
then, so that no row names what is gone. One pack after the other, so that no more than one is held in memory.

A compaction at the same time may bring a run back, which is then pruned the next time; its bundles stay until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from opsdebug_ci.store.files.contents import ROOT_TABLE
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.inventory import take_inventory
from opsdebug_ci.store.files.layout import PACK_PREFIX, bundle_path
from opsdebug_ci.store.files.packing import Selected, pack
from opsdebug_ci.store.places.backend import Backend, StoreFile, Told, untold
from opsdebug_ci.store.upkeep.compaction import current, files_of_sources, leftover
from opsdebug_ci.store.upkeep.retention import Retention, named_bundles

BATCH = 64
"""Bundles removed at once: they are held in memory until it is seen that nobody names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """What a pruning did."""

    runs: int
    """Runs removed."""

    bundles: int
    """Bundles removed."""

    files: int
    """Files removed, bundles included."""

    faults: tuple[FileFault, ...]
    """Files that are damaged, or that only a newer program knows: the packs they belong to stay as they are, with what
    was to go. While it cannot be told which bundles they name, none goes."""


def prune(backend: Backend, going: Retention, *, today: date, entropy: str, told: Told = untold) -> Pruning:
    """Remove runs and bundles.

    Args:
        backend: the place of the store.
        going: what is removed.
        today: the day, in UTC.
        entropy: text that no other pruning or compaction has; part of the names of packs that are written anew.
        told: who hears how far it is.

    Raises:
        StoreError: the place cannot be read or written.
        FileNotFoundError: another compaction or pruning ran meanwhile; what was not removed by then is still there.
    """
    inventory = take_inventory(current(backend))
    contents, runs = inventory.contents, frozenset(going.runs)
    singles = runs & set(contents.singles)
    left, unsound = leftover(inventory, backend.entries(), today)
    removed = [*left, *files_of_sources(contents, singles)]
    if removed:
        backend.exchange((), removed)
    done, faults = set(singles), [*going.faults, *unsound]
    touched = [head for head in contents.heads.values() if head.runs & runs]
    for number, head in enumerate(touched):
        told("packs written anew", number, len(touched))
        path = next(file.path for file in contents.live[ROOT_TABLE] if file.path.name == head.name)
        name = f"{PACK_PREFIX}{today:%Y%m%d}-{entropy}-{number:04d}"
        made = pack(inventory, Selected(name=name, day=path.day, sources=frozenset([head.name]), without=runs))
        faults += made.faults
        if made.sources:
            gone = files_of_sources(contents, made.sources)
            backend.exchange(made.files, gone)
            removed += gone
            done |= head.runs & runs
    bundles = _without_bundles(backend, going.bundles, told)
    return Pruning(runs=len(done), bundles=bundles, files=len(removed) + bundles, faults=tuple(faults))


def _without_bundles(backend: Backend, going: Sequence[str], told: Told) -> int:
    """Remove bundles that no run names, and count them. A run that is stored at this moment finds a bundle that is
    there already, and does not write it; so what is named after the removing is put back."""
    removed = 0
    for begin in range(0, len(going), BATCH):
        told("bundles removed", begin, len(going))
        paths = [bundle_path(sha256) for sha256 in going[begin : begin + BATCH]]
        unnamed = _unnamed(backend, paths)
        held = [StoreFile(path=path, data=data) for path, data in backend.read_all(unnamed)] if unnamed else []
        if held:
            backend.exchange((), [file.path for file in held])
            still = set(_unnamed(backend, unnamed))
            back = [file for file in held if file.path not in still]
            if back:
                backend.add(back)
            removed += len(held) - len(back)
    return removed


def _unnamed(backend: Backend, paths: Sequence[str]) -> list[str]:
    """Those of some bundles that no run names now; none, where a run cannot be read."""
    named = named_bundles(current(backend))
    staying = {bundle_path(sha256) for sha256 in frozenset[str]().union(*named.by_run.values())}
    return [] if named.faults else [path for path in paths if path not in staying]
