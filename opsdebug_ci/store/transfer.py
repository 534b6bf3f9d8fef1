"""Runs brought from one store into another.

Decides what goes over: runs that are not there yet, read back into values and written anew, so that nothing arrives
that this program would not have written itself; their bundles with them. Runs of changes that are still to be merged
stay where they are, and so do acceptances: whoever may run code in a pull request could have written either.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.errors import BundleError, StoreError
from opsdebug_ci.store.backend import StoreFile, Told, untold
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.heads import FileFault
from opsdebug_ci.store.inventory import Inventory, take_inventory
from opsdebug_ci.store.layout import bundle_path
from opsdebug_ci.store.query import query
from opsdebug_ci.store.recall import recall

BATCH = 50
"""Runs added at once: on a branch each addition is a commit and a push, and a batch is held in memory."""

_MERGED = """
    select id from runs_files where pull_request is null and event not like 'pull_request%' and event <> 'merge_group'
    order by started_at, id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What was brought over."""

    runs: int
    """Runs added."""

    known: int
    """Runs that were there already."""

    unmerged: int
    """Runs of pull requests and merge groups, left out."""

    bundles: int
    """Bundles handed over with them; those there already count."""

    faults: tuple[FileFault, ...]
    """What could not be read, and is left out."""


def transfer(source: BaselineStore, target: BaselineStore, told: Told = untold) -> Transfer:
    """Bring every run of `source` that is part of the project's history into `target`.

    Raises:
        StoreError: one of them cannot be reached, or `target` cannot be written.
    """
    inventory = take_inventory(source.mirror(told).root)
    there = take_inventory(target.mirror(told).root).contents.run_ids if target.exists() else frozenset[str]()
    merged = [str(run_id) for (run_id,) in query(inventory.root, _MERGED).rows]
    missing = [run_id for run_id in merged if run_id not in there]
    faults = list(inventory.faults)
    added = bundles = 0
    for begin in range(0, len(missing), BATCH):
        told("runs sent", begin, len(missing))
        batch: list[StoreFile] = []
        for run_id in missing[begin : begin + BATCH]:
            files, carried, found = _files(source, target, inventory, run_id)
            batch += files
            bundles += carried
            faults += found
            added += bool(files)
        if batch:
            target.backend.add(batch)
    told("runs sent", len(missing), len(missing))
    return Transfer(
        runs=added,
        known=len(merged) - len(missing),
        unmerged=len(inventory.contents.run_ids) - len(merged),
        bundles=bundles,
        faults=tuple(faults),
    )


def _files(
    source: BaselineStore, target: BaselineStore, inventory: Inventory, run_id: str
) -> tuple[list[StoreFile], int, list[FileFault]]:
    """Files of one run in the order they must appear, how many bundles are among them, and what could not be read."""
    try:
        stored = recall(inventory, run_id)
    except StoreError as error:
        return [], 0, [FileFault(path=f"run {run_id}", found=f"is left out: {error.message}")]
    if stored is None:
        return [], 0, [FileFault(path=f"run {run_id}", found="went while it was read")]
    bundles, faults = _bundles(source, stored)
    return target.files(stored, bundles), len(bundles), faults


def _bundles(source: BaselineStore, stored: StoredRun) -> tuple[list[bytes], list[FileFault]]:
    """The bundles that a run names, as far as the store it comes from has them."""
    document = stored.document
    named = {*(seen.bundle for seen in document.observations), *(group.bundle for group in document.summary.groups)}
    found, faults = [], []
    for sha256 in sorted(name for name in named if name is not None and source.has_bundle(name)):
        try:
            found.append(source.bundle(sha256))
        except (BundleError, StoreError) as error:
            faults.append(FileFault(path=bundle_path(sha256), found=f"is left out: {error.message}"))
    return found, faults
