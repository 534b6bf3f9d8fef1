"""Runs brought from one store into another.

Decides what goes over: runs that are not there yet, read back into values and written anew, so that nothing arrives
that this program would not have written itself; their bundles with them. Runs of changes that are still to be merged
stay where they are, and so do acceptances: whoever may run code in a pull request could have written either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from opsdebug_ci.errors import BundleError, DamagedFileError, StoreError
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.files.contents import ROOT_TABLE
from opsdebug_ci.store.files.encoding import READ_BACK, decode_run, rows_of
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.inventory import Inventory, take_inventory
from opsdebug_ci.store.files.layout import bundle_path
from opsdebug_ci.store.files.sources import TableRows, files_by_name, read_source
from opsdebug_ci.store.files.table_file import TableReader
from opsdebug_ci.store.memory.recording import MERGED
from opsdebug_ci.store.places.backend import StoreFile, Told, untold
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.sql.query import query

BATCH = 50
"""Runs added at once at most: on a branch each addition is a commit and a push."""

BATCH_BYTES = 64 * 1024 * 1024
"""Bytes after which no further run joins a batch, which is held in memory with its bundles."""

TOO_LARGE = "it was too large for this store when the run was sent here from another one"
"""Where a bundle is that only the store it came from holds."""

DAMAGED = "it was damaged in the store that the run was sent here from"
"""Where a bundle is that does not hash to its name."""

ABSENT = "it was not in the store that the run was sent here from"
"""Where a bundle is that rows name and nothing there held."""

# The condition is ours.
_MERGED = f"select id from runs_files where {MERGED} order by started_at, id"  # noqa: S608 - a condition of our own


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What was brought over."""

    runs: int
    """Runs added."""

    known: int
    """Runs that were there already."""

    unmerged: int
    """Runs of changes that are still to be merged, or of events that make no baselines, left out."""

    bundles: int
    """Bundles handed over with them; those there already count."""

    absent: int = 0
    """Bundles that their rows name, and the store they come from does not hold."""

    faults: tuple[FileFault, ...] = ()
    """What could not be read, and is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Carried:
    """A run that can be added to the target, or not."""

    files: Sequence[StoreFile] = ()
    """Its files in the order they must appear; none: it is left out."""

    bundles: int = 0
    """How many of them are bundles."""

    absent: int = 0
    """Bundles its rows name that are nowhere."""

    faults: Sequence[FileFault] = ()
    """What could not be read."""


def transfer(source: BaselineStore, target: BaselineStore, told: Told = untold) -> Transfer:
    """Bring every run of `source` that is part of the project's history into `target`.

    Raises:
        StoreError: one of them cannot be reached, or `target` cannot be written.
        FileNotFoundError: somebody compacts or prunes `source` meanwhile; what was added by then is whole.
    """
    inventory = take_inventory(source.mirror(told).root)
    there = take_inventory(target.mirror(told).root).contents.run_ids if target.exists() else frozenset[str]()
    merged = [str(run_id) for (run_id,) in query(inventory.root, _MERGED).rows]
    missing = [run_id for run_id in merged if run_id not in there]
    faults = list(inventory.faults)
    added = bundles = absent = done = 0
    batch: list[StoreFile] = []
    for done, carried in enumerate(_carried(source, target, inventory, missing), 1):
        told("runs sent", done, len(missing))
        batch += carried.files
        bundles += carried.bundles
        absent += carried.absent
        faults += carried.faults
        added += bool(carried.files)
        if done % BATCH == 0 or sum(len(file.data) for file in batch) > BATCH_BYTES:
            target.backend.add(batch)
            batch = []
    if batch:
        target.backend.add(batch)
    return Transfer(
        runs=added,
        known=len(merged) - len(missing),
        unmerged=len(inventory.contents.run_ids) - len(merged),
        bundles=bundles,
        absent=absent,
        faults=tuple(faults),
    )


def _carried(
    source: BaselineStore, target: BaselineStore, inventory: Inventory, run_ids: Sequence[str]
) -> Iterator[_Carried]:
    """What becomes of runs, those of one pack after the other."""
    readers = {table.name: TableReader(inventory.root, table) for table in TABLES}
    held = frozenset(source.bundles()) if run_ids else frozenset[str]()
    by_name: dict[str, list[str]] = {}
    for run_id in run_ids:
        holder = inventory.contents.holder(run_id)
        by_name.setdefault(run_id if holder is None else holder.name, []).append(run_id)
    for name, files in files_by_name(inventory, frozenset(by_name)):
        read = read_source(inventory, readers, name, files)
        for number, run_id in enumerate(by_name[name]):
            if isinstance(read, FileFault):
                yield _Carried(faults=() if number else [read])
            else:
                yield _carried_run(source, target, read, run_id, held)


def _carried_run(
    source: BaselineStore, target: BaselineStore, rows: TableRows, run_id: str, held: frozenset[str]
) -> _Carried:
    own = {
        table.name: rows_of(table, found)
        for table in READ_BACK
        if table.name in rows and (found := rows[table.name].filter(pc.field(_identity(table.name)) == run_id)).num_rows
    }
    try:
        stored = decode_run(own)
    except DamagedFileError as error:
        return _Carried(faults=[FileFault(path=f"run {run_id}", found=f"is left out: {error.message}")])
    bundles, faults, absent = _bundles(source, stored, held)
    lost = {**dict.fromkeys(absent, ABSENT), **stored.bundles_elsewhere, **dict.fromkeys(faults, DAMAGED)}
    files = target.files(replace(stored, bundles_elsewhere=lost), bundles, TOO_LARGE)
    absent -= stored.bundles_elsewhere.keys()
    return _Carried(files=files, bundles=len(bundles), absent=len(absent), faults=tuple(faults.values()))


def _identity(table: str) -> str:
    return "id" if table == ROOT_TABLE else "run_id"


def _bundles(
    source: BaselineStore, stored: StoredRun, held: frozenset[str]
) -> tuple[list[bytes], dict[str, FileFault], set[str]]:
    """The bundles that a run names and the store it comes from has; sha256 -> what is wrong with others; sha256 of
    those that are not there."""
    document = stored.document
    named = {*(seen.bundle for seen in document.observations), *(group.bundle for group in document.summary.groups)}
    there = held.intersection(name for name in named if name is not None)
    found, faults = [], {}
    for sha256 in sorted(there):
        try:
            found.append(source.bundle(sha256))
        except (BundleError, StoreError) as error:  # noqa: PERF203 - one damaged bundle is not all of them
            faults[sha256] = FileFault(path=bundle_path(sha256), found=f"is left out: {error.message}")
    return found, faults, {name for name in named if name is not None} - there
