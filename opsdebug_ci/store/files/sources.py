"""A run or a pack read whole, so that its rows can lie elsewhere.

Decides what may be moved: rows of files that are all there, all sound, and of which this program knows every part. What
a newer program of the same format version wrote beside it would be lost with the files, so its runs stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from opsdebug_ci.store.column import Table
from opsdebug_ci.store.files.contents import OWN_TABLES, ROOT_TABLE, FileFacts, LiveFile
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.inventory import Inventory
from opsdebug_ci.store.files.table_file import Expected, TableReader
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.tables import runs

TableRows = Mapping[str, pa.Table]
"""Table -> rows, in today's columns."""

_KNOWN = {table.name: table for table in TABLES}


def files_by_name(inventory: Inventory, names: frozenset[str]) -> Iterator[tuple[str, list[LiveFile]]]:
    """Files of some runs and packs, by name."""
    found: dict[str, list[LiveFile]] = {name: [] for name in sorted(names)}
    for table, files in inventory.contents.live.items():
        for file in files if table not in OWN_TABLES else ():
            if file.path.name in found:
                found[file.path.name].append(file)
    yield from found.items()


def read_source(
    inventory: Inventory, readers: Mapping[str, TableReader], source: str, files: Sequence[LiveFile]
) -> TableRows | FileFault:
    """All rows of a run or pack by table, or why it must stay as it is.

    Args:
        inventory: the store.
        readers: of every table.
        source: name of the run or pack.
        files: its files.

    Raises:
        FileNotFoundError: one of them is gone.
    """
    roots = [file for file in files if file.path.table == ROOT_TABLE]
    strange = next((file for file in files if file.path.table not in _KNOWN), None)
    if strange is not None:
        return FileFault(path=str(strange.path), found="is of a table that this program does not know")
    if len(roots) != 1:
        return FileFault(path=str(roots[-1].path), found="is there on another day too")
    head = inventory.contents.heads.get(source)
    ids = frozenset({source}) if head is None else head.runs
    root = _rows(readers[ROOT_TABLE], runs.TABLE, roots[0], Expected(runs=ids, every_run=True, decode=True))
    if isinstance(root, FileFault):
        return root
    facts = recorded_files(root) if head is None else head.files
    recorded = None if facts is None else {told.table: told for told in facts}
    lacking = set(recorded or ()) - {file.path.table for file in files}
    if lacking:
        return FileFault(path=str(roots[0].path), found=f"records a file of table `{min(lacking)}` that is not there")
    tables: dict[str, pa.Table] = {ROOT_TABLE: root}
    for file in (file for file in files if file is not roots[0]):
        name = file.path.table
        expected = Expected(facts=(recorded or {}).get(name), runs=ids, decode=True)
        fault = _misplaced(file, roots[0], expected, known=recorded is not None)
        read = fault or _rows(readers[name], _KNOWN[name], file, expected)
        if isinstance(read, FileFault):
            return read
        tables[name] = read
    return tables


def recorded_files(rows: pa.Table) -> tuple[FileFacts, ...] | None:
    """What the only row of a run's file of table `runs` records of its other files; None: an older program wrote it."""
    (recorded,) = rows["files"].to_pylist()
    return None if recorded is None else tuple(FileFacts(**facts) for facts in recorded)


def unknown_part(table: Table, schema: pa.Schema) -> str | None:
    """The first column, or member of one, that this program does not know; None: it knows them all."""
    found = (_unknown(field.name, field.type, _type_of(table, field.name)) for field in schema)
    return next((name for name in found if name is not None), None)


def _rows(reader: TableReader, table: Table, file: LiveFile, expected: Expected) -> pa.Table | FileFault:
    opened = reader.open(file, expected)
    if isinstance(opened, FileFault):
        return opened
    strange = unknown_part(table, opened.fragment.physical_schema)
    if strange is not None:
        return FileFault(path=str(file.path), found=f"has `{strange}`, which this program does not know")
    try:
        return reader.dataset([opened]).to_table(columns=table.schema.names).cast(table.schema)
    except (OSError, pa.ArrowException) as error:
        return FileFault(path=str(file.path), found=f"cannot be read: {error}")


def _misplaced(file: LiveFile, root: LiveFile, expected: Expected, *, known: bool) -> FileFault | None:
    """What is wrong with where a file lies, or that it lies there."""
    if file.path.day != root.path.day:
        return FileFault(
            path=str(file.path), found=f"lies in the directory of another day than its run, {root.path.day}"
        )
    if known and expected.facts is None:
        return FileFault(path=str(file.path), found="is not among the files that its run recorded")
    return None


def _type_of(table: Table, column: str) -> pa.DataType | None:
    return table.schema.field(column).type if column in table.schema.names else None


def _unknown(name: str, found: pa.DataType, wanted: pa.DataType | None) -> str | None:
    """Name of what `wanted` lacks; types that differ otherwise were told apart before."""
    if wanted is None:
        return name
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        members = {wanted.field(number).name: wanted.field(number).type for number in range(wanted.num_fields)}
        there = [found.field(number) for number in range(found.num_fields)]
        parts = (_unknown(f"{name}.{field.name}", field.type, members.get(field.name)) for field in there)
        return next((part for part in parts if part is not None), None)
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        return _unknown(name, found.item_type, wanted.item_type)
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return _unknown(name, found.value_type, wanted.value_type)
    return None
