"""`opsdebug baselines ls` and `show`: what a store holds."""

from __future__ import annotations

from opsdebug_ci.errors import StoreError, UsageError
from opsdebug_ci.model.baselines import BASELINES_SCHEMA, BaselinesDocument
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.files.inventory import Inventory, entries_below, take_inventory
from opsdebug_ci.store.files.layout import read_bundle_path
from opsdebug_ci.store.places.backend import Told, untold
from opsdebug_ci.store.places.marker import read_format_version
from opsdebug_ci.store.upkeep.overview import StoredRuns, stored_runs, table_sizes

SHOWN = 5
"""Runs that an ambiguous prefix lists."""


def list_runs(store: BaselineStore, *, limit: int, told: Told = untold) -> BaselinesDocument:
    """The newest runs, and the store in numbers.

    Raises:
        StoreError: there is no store, or it cannot be read.
    """
    mirror = store.mirror(told)
    inventory = take_inventory(mirror.root)
    runs = stored_runs(mirror.root, inventory.contents, limit=limit)
    next_ = f"opsdebug baselines show {runs.rows[0].id}" if runs.rows else "opsdebug ci --stage smoke"
    return _document(store, inventory, runs, mirror.note, next_)


def show_store(store: BaselineStore, told: Told = untold) -> BaselinesDocument:
    """The store in numbers, without runs. Raises StoreError as above."""
    mirror = store.mirror(told)
    inventory = take_inventory(mirror.root)
    none = stored_runs(mirror.root, inventory.contents, limit=0)
    return _document(store, inventory, none, mirror.note, "opsdebug baselines ls")


def show_run(store: BaselineStore, prefix: str, told: Told = untold) -> BaselinesDocument:
    """One run.

    Raises:
        UsageError: no stored run has an id that begins with `prefix`, or several have.
        StoreError: as above, or files are damaged that may hold it.
    """
    mirror = store.mirror(told)
    inventory = take_inventory(mirror.root)
    runs = stored_runs(mirror.root, inventory.contents, prefix=prefix)
    if not runs.rows and runs.faults:
        raise StoreError(
            f"no stored run with an id that begins with `{prefix}`, but cannot read `{runs.faults[0].path}`, which "
            f"{runs.faults[0].found}; wanted one run",
            next_step="`opsdebug baselines verify` says what is damaged, and what to do about it",
        )
    if len(runs.rows) != 1:
        some = ", ".join(run.id for run in runs.rows[:SHOWN])
        many = "s" if len(runs.rows) > 1 else ""
        raise UsageError(
            f"{len(runs.rows) or 'no'} stored run{many} with an id that begins with `{prefix}`"
            f"{f': {some}' if some else ''}; wanted one",
            next_step="opsdebug baselines ls",
        )
    return _document(store, inventory, runs, mirror.note, f"opsdebug report text --run {runs.rows[0].id}")


def _document(store: BaselineStore, inventory: Inventory, runs: StoredRuns, note: str, next_: str) -> BaselinesDocument:
    contents = inventory.contents
    # NOTE: where the store is out of reach, its copy answers, which has no bundles.
    bundles = [] if note else [e.size_bytes for e in store.backend.entries() if read_bundle_path(e.path) is not None]
    faults = dict.fromkeys(f"`{one.path}` {one.found}; it is left out" for one in (*inventory.faults, *runs.faults))
    return BaselinesDocument(
        schema=BASELINES_SCHEMA,
        location=store.location,
        format_version=read_format_version(inventory.root) or 0,
        run_count=len(contents.run_ids),
        runs=runs.rows,
        tables=table_sizes(contents, entries_below(inventory.root)),
        packs=len(contents.heads),
        bundles=len(bundles),
        bundle_bytes=None if None in bundles else sum(size for size in bundles if size is not None),
        leftover_files=len(contents.superseded) + len(contents.unfinished),
        notes=(*([f"{note}, which has no bundles"] if note else []), *faults),
        complete=not (note or runs.faults),
        next=("opsdebug baselines verify" if faults else next_,),
    )
