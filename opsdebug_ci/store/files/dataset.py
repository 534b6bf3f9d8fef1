"""The rows of a store as Arrow datasets: of every file that counts, and is sound.

Decides which files a query reads, and that a file which is not what it should be is named and left out while the rest
answers. How files of several versions become one table: the schema of this program rules, a column that an older file
lacks is null. Of a table that the query does not touch no file is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads

from opsdebug_ci.errors import DamagedFileError, StoreError
from opsdebug_ci.store.column import Row, Table
from opsdebug_ci.store.files.contents import FileFacts, LiveFile
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.inventory import TRIES, Inventory, take_inventory
from opsdebug_ci.store.files.kept_files import KEPT_FILES
from opsdebug_ci.store.files.layout import TablePath, read_table_path
from opsdebug_ci.store.files.table_file import Expected, OpenedFile, TableReader
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.tables import runs

UNOPENED = pa.py_buffer(b"not opened")
"""Stands for the files of a table that the query does not touch. It is no Parquet, so whoever asks for its rows after
all gets an error, not an empty table."""


ORDER = (runs.TABLE, *(table for table in TABLES if table is not runs.TABLE))
"""Tables as they are read: `runs` says what the files of the others must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """The rows of one table."""

    table: Table
    """Which."""

    reader: TableReader
    """Who opened its files."""

    files: tuple[OpenedFile, ...] | None
    """Files whose rows count, by path; None: they were not opened."""

    @property
    def whole(self) -> pads.Dataset:
        """Rows of the files of which every row counts."""
        if self.files is None:
            unopened = [self.reader.format.make_fragment(UNOPENED)]
            return pads.FileSystemDataset(unopened, self.reader.schema, self.reader.format)
        return self.reader.dataset([one for one in self.files if not one.file.without])

    @property
    def partial(self) -> Mapping[frozenset[str], pads.Dataset]:
        """Runs whose rows do not count -> rows of the files that hold them, and others."""
        found: dict[frozenset[str], list[OpenedFile]] = {}
        for one in self.files or ():
            if one.file.without:
                found.setdefault(one.file.without, []).append(one)
        return {without: self.reader.dataset(files) for without, files in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRows:
    """What a query may read."""

    tables: tuple[TableRows, ...]
    """Every table, `runs` first."""

    faults: tuple[FileFault, ...]
    """Files that are left out, of the tables that were opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    """What the runs and packs of a store say of their files."""

    facts: Mapping[tuple[str, str], FileFacts]
    """Name and table -> what was recorded."""

    names: frozenset[str]
    """Runs and packs that recorded their files; older runs did not."""

    days: Mapping[str, str]
    """Runs and packs whose file of table `runs` may be read -> day of its directory."""

    def misplaced(self, file: LiveFile) -> str | None:
        """Why a file lies in the wrong directory; None: it does not."""
        wanted = self.days[file.path.name]
        return None if file.path.day == wanted else f"lies in the directory of another day than its run, {wanted}"


def store_rows(root: Path, touched: frozenset[str], *, decode: bool = False, thorough: bool = False) -> StoreRows:
    """Every row that counts in the store at `root` now.

    Args:
        root: the store.
        touched: names of the tables whose rows are wanted.
        decode: files of which no hash is recorded are decoded before their rows are handed out.
        thorough: also of a pack whose hash is as recorded it is asked whether it holds rows of other runs.

    Raises:
        DamagedFileError: a file must be decoded to see that it is damaged, and was not.
        StoreError: the directory cannot be read, or does not hold still.
    """
    for _ in range(TRIES):
        with suppress(FileNotFoundError):  # somebody compacted or pruned between the listing and the opening
            return rows_in(take_inventory(root), touched, decode=decode, thorough=thorough)
    raise StoreError(
        f"files of store `{root}` were removed during each of {TRIES} readings; wanted one moment without compaction",
        next_step="try again when no `opsdebug baselines compact` runs in a loop",
    )


def rows_in(
    inventory: Inventory,
    touched: frozenset[str],
    *,
    decode: bool = False,
    thorough: bool = False,
    names: frozenset[str] | None = None,
) -> StoreRows:
    """Every row that counts in a store whose names were listed.

    Args:
        inventory: what was found.
        touched: as of `store_rows`.
        decode, thorough: as of `store_rows`.
        names: only files of these runs and packs; None: of all.

    Raises:
        FileNotFoundError: a file went since.
        DamagedFileError: as of `store_rows`.
    """
    faults = [fault for fault in inventory.faults if _concerns(fault, touched, names)]
    readers = {table.name: TableReader(inventory.root, table) for table in TABLES}
    opened: dict[str, tuple[OpenedFile, ...]] = {}
    recorded = _Recorded(facts={}, names=frozenset(), days={})
    for table in ORDER:
        if table.name not in touched:
            continue
        live = [one for one in inventory.contents.live.get(table.name, ()) if names is None or one.path.name in names]
        expected = _expectations(inventory, table, live, recorded, decode=decode, thorough=thorough)
        found = [*expected.faults, *_opened(inventory.root, readers[table.name], expected.files)]
        opened[table.name] = tuple(one for one in found if isinstance(one, OpenedFile))
        faults += [one for one in found if isinstance(one, FileFault)]
        if table is runs.TABLE and touched != {runs.TABLE.name}:
            recorded = _recorded(inventory, readers[table.name], opened[table.name])
    return StoreRows(
        tables=tuple(
            TableRows(table=table, reader=readers[table.name], files=opened.get(table.name)) for table in ORDER
        ),
        faults=tuple(sorted(faults, key=lambda fault: fault.path)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expectations:
    """What the files of a table must be."""

    files: list[tuple[LiveFile, Expected]] = field(default_factory=list)
    """Files that may be opened."""

    faults: list[FileFault] = field(default_factory=list)
    """Files that need not be opened to see that they are wrong."""


def _concerns(fault: FileFault, touched: frozenset[str], names: frozenset[str] | None) -> bool:
    """Whether what is wrong may be missed in what is read."""
    path = read_table_path(fault.path)
    named = names is None or (path is not None and path.name in names)
    return named and fault.path.split("/")[0] in touched


def _expectations(
    inventory: Inventory, table: Table, live: Sequence[LiveFile], recorded: _Recorded, *, decode: bool, thorough: bool
) -> _Expectations:
    if table is runs.TABLE:
        return _expected_runs(inventory, live, decode=decode)
    found = _Expectations()
    for file in live:
        name = file.path.name
        if not table.of_run:
            found.files.append((file, Expected(decode=decode)))
        elif name in recorded.days:
            facts = recorded.facts.get((name, table.name))
            fault = recorded.misplaced(file)
            if fault is None and facts is None and name in recorded.names:
                fault = "is not among the files that its run recorded"
            if fault is not None:
                found.faults.append(FileFault(path=str(file.path), found=fault))
            else:
                # NOTE: whoever recorded the hash of a pack wrote its rows; to look at them all takes long.
                asked = thorough or facts is None or not file.path.packed
                whose = _runs_of(inventory, name) if asked else None
                found.files.append((file, Expected(facts=facts, runs=whose, decode=decode)))
    there = {file.path.name for file in live}
    for name, of in sorted(recorded.facts):
        if of == table.name and name not in there:
            path = TablePath(table=table.name, day=recorded.days[name], name=name)
            found.faults.append(FileFault(path=str(path), found="is recorded, and is not there"))
    return found


def _expected_runs(inventory: Inventory, live: Sequence[LiveFile], *, decode: bool) -> _Expectations:
    found = _Expectations()
    for file in live:
        expected = Expected(runs=_runs_of(inventory, file.path.name), every_run=True, decode=decode)
        found.files.append((file, expected))
    return found


def _runs_of(inventory: Inventory, name: str) -> frozenset[str]:
    """Runs whose rows the files of a name may hold."""
    head = inventory.contents.heads.get(name)
    return frozenset({name}) if head is None else head.runs


def _opened(
    root: Path, reader: TableReader, files: Sequence[tuple[LiveFile, Expected]]
) -> Iterable[OpenedFile | FileFault]:
    """Files of a table in order; large ones are hashed side by side."""
    if not any(file.path.packed for file, _ in files):
        return [KEPT_FILES.open(reader, root, file, expected) for file, expected in files]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda one: KEPT_FILES.open(reader, root, *one), files))


def _recorded(inventory: Inventory, reader: TableReader, opened: Sequence[OpenedFile]) -> _Recorded:
    """What the runs and packs in these files say of their other files."""
    singles = [one for one in opened if not one.file.path.packed]
    heads = [inventory.contents.heads[one.file.path.name] for one in opened if one.file.path.packed]
    facts = {(head.name, told.table): told for head in heads for told in head.files}
    names = {head.name for head in heads}
    try:
        rows = reader.dataset(singles).to_table(columns=["id", "files"]).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise DamagedFileError(f"a file of table `{runs.TABLE.name}` cannot be read: {error}") from error
    for row in rows:
        if row["files"] is not None:
            names.add(row["id"])
            facts.update({(row["id"], str(told["table"])): _facts(told) for told in row["files"]})
    return _Recorded(
        facts=facts,
        names=frozenset(names),
        days={one.file.path.name: one.file.path.day for one in opened},
    )


def _facts(told: Row) -> FileFacts:
    """What is recorded of a file; what is null is nothing that a file can have."""
    return FileFacts(
        table=str(told["table"]),
        sha256=told["sha256"] or "nothing",
        size_bytes=-1 if told["size_bytes"] is None else told["size_bytes"],
        rows=-1 if told["rows"] is None else told["rows"],
    )
