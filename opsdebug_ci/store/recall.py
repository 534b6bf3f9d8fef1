"""One stored run, read back from the files that hold its rows.

Decides where the rows of a run are: in files of its own, or in those of the pack that holds it.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from opsdebug_ci.errors import StoreError
from opsdebug_ci.store.column import Row, StoredRun, Table
from opsdebug_ci.store.contents import ROOT_TABLE
from opsdebug_ci.store.encoding import READ_BACK, decode_run, rows_of
from opsdebug_ci.store.inventory import Inventory


def recall(inventory: Inventory, run_id: str) -> StoredRun | None:
    """A stored run, whole; None when it is not there.

    Raises:
        StoreError: a file of it cannot be read.
    """
    contents = inventory.contents
    head = contents.holder(run_id)
    if head is None and run_id not in contents.singles:
        return None
    name = run_id if head is None else head.name
    rows: dict[str, list[Row]] = {}
    for table in READ_BACK:
        for file in contents.live.get(table.name, ()):
            if file.path.name == name:
                rows[table.name] = list(_rows(inventory, str(file.path), table, run_id))
    return decode_run({table: found for table, found in rows.items() if found})


def newest(inventory: Inventory) -> str | None:
    """Id of the run of the last day that sorts last on it, as ids do in the order of time. None: there is no run."""
    contents = inventory.contents
    days = [(path.day, run_id) for run_id, path in contents.singles.items()]
    for file in contents.live.get(ROOT_TABLE, ()):
        if file.path.packed:
            starts = pq.read_table(inventory.root / str(file.path), partitioning=None, columns=["id", "started_at"])
            days += [(row["started_at"].date().isoformat(), row["id"]) for row in starts.to_pylist()]
    return max(days, default=(None, None))[1]


def _rows(inventory: Inventory, path: str, table: Table, run_id: str) -> list[Row]:
    identity = "id" if table.name == ROOT_TABLE else "run_id"
    try:
        stored = pq.read_table(
            inventory.root / path,
            partitioning=None,
            filters=pc.field(identity) == run_id,
            page_checksum_verification=True,
        )
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"cannot read `{path}` of store `{inventory.root}`: {error}; wanted Parquet that this user can read",
            next_step="`opsdebug baselines verify` says what else is missing or damaged",
        ) from error
    return rows_of(table, stored)
