"""Many runs in one file per table: what a pack is made of.

Decides which rows go into a pack and how they lie there, for answers over millions of rows: sorted by operator and case,
in row groups so small that a query about one operator skips most of them (docs/store.md has the measurements). A run of
which any file is damaged is left where it is, and told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from opsdebug_ci.errors import StoreError
from opsdebug_ci.store.backend import StoreFile
from opsdebug_ci.store.column import Table
from opsdebug_ci.store.contents import ROOT_TABLE, FileFacts, LiveFile, PackHead
from opsdebug_ci.store.encoding import encode_table, facts_of, file_of
from opsdebug_ci.store.heads import FileFault, head_metadata
from opsdebug_ci.store.inventory import Inventory
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.tables import runs

ROW_GROUP = 65_536
"""Rows of a row group: with 16,384 scans are a fifth slower, with 524,288 a month is one group, and nothing is skipped
of it."""

BROAD = ("operator", "case_id", "run_id")
"""Columns by which rows of a pack are sorted, where a table can put them in order again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What is to become one pack."""

    name: str
    """Name of the pack."""

    day: str
    """First day of its month."""

    sources: frozenset[str]
    """Runs with files of their own, and packs, by name."""

    without: frozenset[str] = frozenset()
    """Runs of those packs that are left out for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A pack, and what it stands for."""

    files: tuple[StoreFile, ...]
    """Its files in the order they must appear; empty: nothing was left to pack."""

    sources: frozenset[str]
    """Runs and packs whose files it stands for."""

    runs: frozenset[str]
    """Runs it holds."""

    faults: tuple[FileFault, ...]
    """Damaged files, whose runs or packs are not in it."""


def pack(inventory: Inventory, selected: Selected) -> Packed:
    """The pack of some runs and packs.

    Raises:
        StoreError: a file cannot be read.
        FileNotFoundError: a file is gone: somebody else packed or pruned meanwhile.
    """
    sources, faults = set(selected.sources), list[FileFault]()
    while sources:
        tables, fault = _tables(inventory, sources, selected.without)
        if fault is None:
            return _packed(inventory, selected, sources, tables, faults)
        name, found = fault
        sources.discard(name)
        faults.append(found)
    return Packed(files=(), sources=frozenset(), runs=frozenset(), faults=tuple(faults))


def _packed(
    inventory: Inventory,
    selected: Selected,
    sources: set[str],
    tables: Mapping[str, pa.Table],
    faults: Sequence[FileFault],
) -> Packed:
    root = tables[ROOT_TABLE]
    ids = frozenset(root["id"].to_pylist())
    if not ids:
        return Packed(files=(), sources=frozenset(sources), runs=ids, faults=tuple(faults))
    files, facts = [], []
    for table in TABLES:
        if table.name != ROOT_TABLE and table.name in tables and tables[table.name].num_rows:
            data = encode_table(table, in_order(table, tables[table.name]), row_group=ROW_GROUP)
            files.append(file_of(table, selected.day, selected.name, data))
            facts.append(facts_of(table, data, tables[table.name].num_rows))
    stood_for = {name: inventory.contents.heads[name] for name in sources if name in inventory.contents.heads}
    head = PackHead(
        name=selected.name,
        runs=ids,
        replaces=frozenset(stood_for).union(*(pack.replaces for pack in stood_for.values())),
        files=tuple(facts),
    )
    data = encode_table(runs.TABLE, root.sort_by("id"), head_metadata(head))
    files.append(file_of(runs.TABLE, selected.day, selected.name, data))
    return Packed(files=tuple(files), sources=frozenset(sources), runs=ids, faults=tuple(faults))


def in_order(table: Table, rows: pa.Table) -> pa.Table:
    """Rows as they lie in a pack; those of a run keep their order among themselves."""
    names = [column.name for column in table.columns]
    keys = [name for name in BROAD if name in names] if table.order else ["run_id"]
    return rows.take(pc.sort_indices(rows, sort_keys=[(key, "ascending") for key in (*keys, *table.order)]))


def _tables(
    inventory: Inventory, sources: set[str], without: frozenset[str]
) -> tuple[dict[str, pa.Table], tuple[str, FileFault] | None]:
    """Rows by table; or the first source with a damaged file, and what is wrong with it."""
    files = [
        (table, file)
        for table in (runs.TABLE, *(table for table in TABLES if table is not runs.TABLE))
        for file in inventory.contents.live.get(table.name, ())
        if file.path.name in sources
    ]
    recorded: dict[tuple[str, str], FileFacts] = {
        (head.name, facts.table): facts for head in inventory.contents.heads.values() for facts in head.files
    }
    found: dict[str, list[pa.Table]] = {}
    for table, file in files:
        rows = _rows(inventory, table, file, recorded.get((file.path.name, table.name)))
        if isinstance(rows, FileFault):
            return {}, (file.path.name, rows)
        if table is runs.TABLE and not file.path.packed:
            recorded.update({(file.path.name, facts.table): facts for facts in files_of(rows)})
        found.setdefault(table.name, []).append(_left(table, rows, file.without | without))
    lacking = _lacking(recorded, files, sources)
    return {name: pa.concat_tables(parts) for name, parts in found.items()}, lacking


def files_of(rows: pa.Table) -> tuple[FileFacts, ...]:
    """What the only row of a run's file of table `runs` records of its other files; none in older ones."""
    (recorded,) = rows["files"].to_pylist()
    return tuple(FileFacts(**facts) for facts in recorded or ())


def _lacking(
    recorded: Mapping[tuple[str, str], FileFacts], files: Iterable[tuple[Table, LiveFile]], sources: set[str]
) -> tuple[str, FileFault] | None:
    """A source of which a file is not there, of a table this program knows."""
    there = {(file.path.name, table.name) for table, file in files}
    known = {table.name for table in TABLES}
    for name, table in recorded:
        if name in sources and table in known and (name, table) not in there:
            return name, FileFault(path=f"{table} of {name}", found="is recorded and not there")
    return None


def _rows(inventory: Inventory, table: Table, file: LiveFile, facts: FileFacts | None) -> pa.Table | FileFault:
    """Rows of a file in today's columns, or what is wrong with it."""
    path = str(file.path)
    try:
        data = (inventory.root / path).read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"cannot read `{path}` of store `{inventory.root}`: got `{error.strerror}`; wanted a file one can read",
            next_step="`opsdebug baselines verify` says what else is missing or damaged",
        ) from error
    if facts is not None and hashlib.sha256(data).hexdigest() != facts.sha256:
        return FileFault(path=path, found="does not hash to what its run recorded")
    try:
        stored = pq.read_table(pa.BufferReader(data), partitioning=None, page_checksum_verification=True)
        return as_today(table, stored)
    except pa.ArrowException as error:
        return FileFault(path=path, found=f"is no file of table `{table.name}` that can be read: {error}")


def as_today(table: Table, stored: pa.Table) -> pa.Table:
    """Rows of a file of any accepted version in today's columns; what an older one lacks is null.

    Raises:
        ArrowException: a column has another type.
    """
    columns = [
        stored[field.name].cast(field.type) if field.name in stored.column_names else pa.nulls(len(stored), field.type)
        for field in table.schema
    ]
    return pa.table(columns, schema=table.schema)


def _left(table: Table, rows: pa.Table, without: frozenset[str]) -> pa.Table:
    identity = "id" if table.name == ROOT_TABLE else "run_id"
    return rows.filter(~pc.field(identity).isin(list(without))) if without else rows
