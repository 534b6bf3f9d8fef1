"""Many runs in one file per table: what a pack is made of.

Decides which rows go into a pack and how they lie there, for answers over millions of rows: sorted by operator and
case, in row groups so small that a query about one operator skips most of them (docs/store.md has the measurements). A
run or pack that `sources` does not read whole is left where it is, and told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from opsdebug_ci.store.column import Table
from opsdebug_ci.store.files.contents import ROOT_TABLE, PackHead
from opsdebug_ci.store.files.encoding import encode_table, facts_of, file_of
from opsdebug_ci.store.files.heads import FileFault, head_metadata
from opsdebug_ci.store.files.inventory import Inventory
from opsdebug_ci.store.files.sources import files_by_name, read_source
from opsdebug_ci.store.files.table_file import TableReader
from opsdebug_ci.store.places.backend import StoreFile
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
    """Files for which runs or packs are not in it."""


def pack(inventory: Inventory, selected: Selected) -> Packed:
    """The pack of some runs and packs. Of what is lost to faults none is in it; unless two are left to be packed
    together, nothing is.

    Raises:
        FileNotFoundError: a file is gone: somebody else packed or pruned meanwhile.
    """
    readers = {table.name: TableReader(inventory.root, table) for table in TABLES}
    rows: dict[str, list[pa.Table]] = {}
    sources, taken, faults = set[str](), set[str](), list[FileFault]()
    for name, files in files_by_name(inventory, selected.sources):
        read = read_source(inventory, readers, name, files)
        if isinstance(read, FileFault):
            faults.append(read)
            continue
        sources.add(name)
        for table, found in read.items():
            # NOTE: of a run that several packs hold, the rows are dropped only where another of them is at hand here. A
            # pack elsewhere that has it too may be about to lose it, for the same reason.
            rows.setdefault(table, []).append(_without(table, found, selected.without | taken))
        taken |= set(read[ROOT_TABLE]["id"].to_pylist())
    if len(sources) < min(2, len(selected.sources)):
        return Packed(files=(), sources=frozenset(), runs=frozenset(), faults=tuple(faults))
    tables = {table: pa.concat_tables(parts) for table, parts in rows.items()}
    return _packed(inventory, selected, sources, tables, faults)


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


def _without(table: str, rows: pa.Table, absent: frozenset[str] | set[str]) -> pa.Table:
    identity = "id" if table == ROOT_TABLE else "run_id"
    return rows.filter(~pc.field(identity).isin(sorted(absent))) if absent else rows
