"""One stored run, read back from the files that hold its rows.

Decides where the rows of a run are, in files of its own or in those of the pack that holds it, and that a run comes
back whole or not at all: each of these files is held against what the run recorded of it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads

from opsdebug_ci.errors import StoreError
from opsdebug_ci.store.column import Row, StoredRun
from opsdebug_ci.store.files.dataset import TableRows, rows_in
from opsdebug_ci.store.files.encoding import READ_BACK, decode_run, rows_of
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.inventory import TRIES, Inventory, take_inventory
from opsdebug_ci.store.files.layout import read_table_path
from opsdebug_ci.store.files.soundness import identity_column

_TABLES = frozenset(table.name for table in READ_BACK)

_VERIFY = "`opsdebug baselines verify` says what else is missing or damaged"


def recall(root: Path, run_id: str) -> StoredRun | None:
    """A run of the store in directory `root`, whole; None when it is not there.

    Raises:
        StoreError: a file of it is missing or damaged, or one is damaged that may hold it.
    """
    for _ in range(TRIES):
        with suppress(FileNotFoundError):  # somebody compacted or pruned between the listing and the reading
            return _recall(take_inventory(root), run_id)
    raise StoreError(
        f"files of run `{run_id}` in store `{root}` were removed during each of {TRIES} readings; wanted one moment "
        "without compaction",
        next_step="try again when no `opsdebug baselines compact` runs in a loop",
    )


def _recall(inventory: Inventory, run_id: str) -> StoredRun | None:
    contents = inventory.contents
    head = contents.holder(run_id)
    if head is None and run_id not in contents.singles:
        for fault in inventory.faults:
            path = read_table_path(fault.path)
            if path is not None and (path.packed or path.name == run_id):
                raise damaged(inventory.root, fault, f", which may hold run `{run_id}`")
        return None
    name = run_id if head is None else head.name
    stored = rows_in(inventory, _TABLES, decode=True, names=frozenset({name}))
    for fault in stored.faults:
        raise damaged(inventory.root, fault, f", which holds run `{run_id}`")
    rows = {one.table.name: _rows(inventory.root, one, run_id) for one in stored.tables if one.files}
    return decode_run(rows)


def _rows(root: Path, stored: TableRows, run_id: str) -> list[Row]:
    """Rows of the run in one table, which may be none in a pack's."""
    chosen = pads.field(str(identity_column(stored.table))) == run_id
    try:
        return rows_of(stored.table, stored.reader.dataset(stored.files or ()).to_table(filter=chosen))
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"cannot read run `{run_id}` in table `{stored.table.name}` of store `{root}`: {error}; wanted rows as "
            "they were written",
            next_step=_VERIFY,
        ) from error


def damaged(root: Path, fault: FileFault, holding: str = "") -> StoreError:
    """The error of a file that had to be read and cannot be."""
    return StoreError(
        f"cannot read `{fault.path}` of store `{root}`{holding}: it {fault.found}; wanted the file as it was written",
        next_step=_VERIFY,
    )
