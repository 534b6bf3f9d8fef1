"""Every row of a store, decoded and counted, run by run and table by table.

Decides that no row may be missing that a run recorded, nor be there twice, also in packs. One table is read at a time,
a batch of rows at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

import pyarrow as pa
import pyarrow.compute as pc

from opsdebug_ci.store.column import Table
from opsdebug_ci.store.files.dataset import ORDER, TableRows, store_rows
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.inventory import Inventory
from opsdebug_ci.store.files.layout import TablePath
from opsdebug_ci.store.files.soundness import identity_column
from opsdebug_ci.store.files.table_file import OpenedFile
from opsdebug_ci.store.places.backend import Told
from opsdebug_ci.store.tables import runs

DOING = "files of {} read"
"""What is being done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRows:
    """What was read, and what is wrong with it."""

    files: int
    """Files."""

    rows: int
    """Rows of them that count."""

    runs: int
    """Runs."""

    named: Mapping[str, str]
    """sha256 of every bundle that a row says to be in the store -> path of the row's file."""

    faults: tuple[FileFault, ...]
    """What is wrong."""


@final
class _Reading:
    """What was read so far; as `CheckedRows`, and what the runs say of their files."""

    def __init__(self) -> None:
        self.files = self.rows = self.runs = 0
        self.named: dict[str, str] = {}
        self.faults: list[FileFault] = []
        self.recorded: dict[str, dict[str, int]] = {}
        """Table -> run -> rows it recorded."""
        self.recording: set[str] = set()
        """Runs that recorded their files; older ones did not."""

    def result(self) -> CheckedRows:
        """What it came to."""
        return CheckedRows(
            files=self.files, rows=self.rows, runs=self.runs, named=self.named, faults=tuple(self.faults)
        )


def check_rows(inventory: Inventory, told: Told) -> CheckedRows:
    """Read every row of a store.

    Raises:
        StoreError: the directory cannot be read, or does not hold still.
    """
    checked = _Reading()
    for table in ORDER:
        if table.name not in inventory.contents.live and table.name not in checked.recorded:
            continue
        stored = store_rows(inventory.root, frozenset({runs.TABLE.name, table.name}), decode=True, thorough=True)
        by_name = {rows.table.name: rows for rows in stored.tables}
        checked.faults += stored.faults
        counted = _count(by_name[table.name], checked, told)
        if table is runs.TABLE:
            checked.runs = sum(counted.values())
        elif table.of_run:
            wrong = {
                run for run in checked.recording if counted[run] != checked.recorded.get(table.name, {}).get(run, 0)
            }
            checked.faults += _miscounted(table, by_name[runs.TABLE.name], wrong, counted, checked) if wrong else ()
    return checked.result()


def _count(rows: TableRows, checked: _Reading, told: Told) -> Counter[str]:
    """Rows of every run that count; what cannot be read becomes a fault."""
    counted: Counter[str] = Counter()
    files = rows.files or ()
    for number, opened in enumerate(files):
        told(DOING.format(rows.table.name), number, len(files))
        checked.files += 1
        for batch in _batches(rows, opened):
            if isinstance(batch, FileFault):
                checked.faults.append(batch)
                continue
            found = _runs_in(batch, rows.table, opened)
            counted.update(found)
            checked.rows += batch.num_rows if identity_column(rows.table) is None else sum(found.values())
            checked.named.update(dict.fromkeys(_bundles_in(batch), str(opened.file.path)))
            _record(batch, checked)
    told(DOING.format(rows.table.name), len(files), len(files))
    return counted


def _batches(rows: TableRows, opened: OpenedFile) -> Iterator[pa.RecordBatch | FileFault]:
    """Every row of a file, decoded; and what is wrong with it, where it cannot be."""
    try:
        yield from opened.fragment.to_batches(schema=rows.reader.schema)
    except (OSError, pa.ArrowException) as error:
        yield FileFault(path=str(opened.file.path), found=f"cannot be read: {error}")


def _runs_in(batch: pa.RecordBatch, table: Table, opened: OpenedFile) -> Mapping[str, int]:
    """Rows of each run that count."""
    identity = identity_column(table)
    if identity is None:
        return {}
    told = pc.value_counts(batch[identity]).to_pylist()
    return {row["values"]: row["counts"] for row in told if row["values"] not in opened.file.without}


def _bundles_in(batch: pa.RecordBatch) -> set[str]:
    """sha256 of the bundles that rows of table `failures` say to be in the store."""
    if "bundle_elsewhere" not in batch.schema.names:
        return set()
    here = pc.and_(pc.is_valid(batch["bundle"]), pc.is_null(batch["bundle_elsewhere"]))
    return {str(sha256) for sha256 in batch.filter(here)["bundle"].to_pylist()}


def _record(batch: pa.RecordBatch, checked: _Reading) -> None:
    """Keep what rows of table `runs` say of their other files."""
    if "files" not in batch.schema.names:
        return
    for row in batch.select(["id", "files"]).to_pylist():
        if row["files"] is not None:
            checked.recording.add(row["id"])
            for facts in row["files"]:
                checked.recorded.setdefault(facts["table"], {})[row["id"]] = facts["rows"] or 0


def _miscounted(
    table: Table, root: TableRows, wrong: set[str], counted: Counter[str], checked: _Reading
) -> Iterator[FileFault]:
    """Runs of which more or fewer rows are there than they recorded, if they are there still and no damaged file of
    theirs explains it."""
    damaged = {fault.path for fault in checked.faults}
    for opened in root.files or ():
        path = TablePath(table=table.name, day=opened.file.path.day, name=opened.file.path.name)
        if str(path) in damaged:
            continue
        there = opened.fragment.to_table(root.reader.schema, columns=["id"])["id"].to_pylist()
        for run in sorted(wrong.intersection(there) - opened.file.without):
            recorded = checked.recorded.get(table.name, {}).get(run, 0)
            yield FileFault(
                path=str(path), found=f"holds {counted[run]:,} rows of run `{run}`; it recorded {recorded:,}"
            )
