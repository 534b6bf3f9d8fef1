"""Runs and bundles removed from a store for good.

Decides the order: what is left of earlier compactions first, so that nothing of it comes back when the pack that stands
for it goes; packs without those runs before the packs they stand for; bundles last, so that no row names what is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from opsdebug_ci.store.backend import Backend, StoreFile, Told, untold
from opsdebug_ci.store.compaction import abandoned, files_of_sources
from opsdebug_ci.store.heads import FileFault
from opsdebug_ci.store.inventory import take_inventory
from opsdebug_ci.store.layout import PACK_PREFIX, bundle_path
from opsdebug_ci.store.packing import Selected, pack
from opsdebug_ci.store.retention import Retention


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
    """Damaged files: the packs they belong to stay as they are, with what was to go."""


def prune(backend: Backend, going: Retention, *, today: date, entropy: str, told: Told = untold) -> Pruning:
    """Remove runs and bundles.

    Args:
        backend: the place of the store.
        going: what is removed.
        today: the day, in UTC.
        entropy: text that no other pruning or compaction has; part of the names of packs that are written anew.
        told: who hears how far it is.

    Raises:
        StoreError: a file cannot be read, or the place cannot be written.
        FileNotFoundError: another compaction or pruning ran meanwhile.
    """
    inventory = take_inventory(backend.mirror().root)
    contents, runs = inventory.contents, frozenset(going.runs)
    added: list[StoreFile] = []
    faults: list[FileFault] = []
    sources = runs & set(contents.singles)
    done = set(sources)
    touched = [head for head in contents.heads.values() if head.runs & runs]
    for number, head in enumerate(touched):
        told("packs written anew", number, len(touched))
        path = next(file.path for file in contents.live["runs"] if file.path.name == head.name)
        name = f"{PACK_PREFIX}{today:%Y%m%d}-{entropy}-{number:04d}"
        made = pack(inventory, Selected(name=name, day=path.day, sources=frozenset([head.name]), without=runs))
        faults += made.faults
        if not made.faults:
            added += made.files
            sources |= made.sources
            done |= head.runs & runs
    bundles = [bundle_path(sha256) for sha256 in going.bundles] if done == runs else []
    leftover = (*contents.superseded, *abandoned(contents, today))
    removed = (*leftover, *files_of_sources(contents, frozenset(sources)), *bundles)
    if added or removed:
        backend.exchange(added, removed)
    return Pruning(runs=len(done), bundles=len(bundles), files=len(removed), faults=tuple(faults))
